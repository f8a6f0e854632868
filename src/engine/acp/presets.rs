//! Agents that are known by name, so that a user who installed one needs no command line.
//!
//! Owns the table: how each is started, asked into its asking mode, given its keys, installed and logged in to. Never starts
//! anything.

use std::path::Path;

use super::installed::{FirstUse, ShellLogin};

/// One known agent, by its own documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preset {
    /// Its name here.
    pub name: &'static str,
    /// Program, looked for on `PATH`.
    pub program: &'static str,
    /// Arguments that make it speak the protocol.
    pub args: &'static [&'static str],
    /// Its mode in which it asks before each edit and each command; `None` where it has none, and its own settings say what
    /// it asks.
    pub asking_mode: Option<&'static str>,
    /// Variables of the environment with keys that are meant for it. Whoever starts it by hand has set them for it.
    pub keys: &'static [&'static str],
    /// What a person types in a shell before it works.
    pub first_use: FirstUse,
}

/// The agents that are known.
pub(crate) const PRESETS: [Preset; 8] = [
    Preset {
        name: "opencode",
        program: "opencode",
        args: &["acp"],
        asking_mode: None,
        keys: &[
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
            "OPENAI_API_KEY",
            "OPENCODE_API_KEY",
            "OPENROUTER_API_KEY",
        ],
        first_use: FirstUse {
            install: "npm install -g opencode-ai",
            login: Some(ShellLogin { command: "opencode auth login", inside: None }),
            key: None,
        },
    },
    Preset {
        name: "claude-agent-acp",
        program: "claude-agent-acp",
        args: &[],
        asking_mode: Some("default"),
        keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        first_use: FirstUse {
            install: "npm install -g @agentclientprotocol/claude-agent-acp",
            login: Some(ShellLogin { command: "claude /login", inside: None }),
            key: Some("ANTHROPIC_API_KEY"),
        },
    },
    Preset {
        name: "codex-acp",
        program: "codex-acp",
        args: &[],
        asking_mode: Some("read-only"),
        keys: &["CODEX_API_KEY", "OPENAI_API_KEY"],
        first_use: FirstUse {
            install: "npm install -g @agentclientprotocol/codex-acp",
            login: Some(ShellLogin { command: "codex login", inside: None }),
            key: Some("OPENAI_API_KEY"),
        },
    },
    Preset {
        name: "gemini-cli",
        program: "gemini",
        args: &["--acp"],
        asking_mode: Some("default"),
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"],
        first_use: FirstUse {
            install: "npm install -g @google/gemini-cli",
            login: Some(ShellLogin { command: "gemini", inside: Some("/auth") }),
            key: Some("GEMINI_API_KEY"),
        },
    },
    Preset {
        name: "qwen-code",
        program: "qwen",
        args: &["--acp"],
        asking_mode: Some("default"),
        keys: &["DASHSCOPE_API_KEY", "OPENAI_API_KEY"],
        first_use: FirstUse {
            install: "npm install -g @qwen-code/qwen-code",
            login: Some(ShellLogin { command: "qwen", inside: Some("/auth") }),
            key: Some("OPENAI_API_KEY"),
        },
    },
    Preset {
        name: "goose",
        program: "goose",
        args: &["acp"],
        asking_mode: Some("approve"),
        keys: &["ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"],
        first_use: FirstUse {
            install: "brew install block-goose-cli",
            login: Some(ShellLogin { command: "goose configure", inside: None }),
            key: None,
        },
    },
    Preset {
        name: "elizacp",
        program: "elizacp",
        args: &["acp"],
        asking_mode: None,
        keys: &[],
        first_use: FirstUse { install: "cargo install elizacp", login: None, key: None },
    },
    Preset {
        name: "symposium-acp-agent",
        program: "symposium-acp-agent",
        args: &["run"],
        asking_mode: None,
        keys: &[],
        first_use: FirstUse { install: "cargo install symposium-acp-agent", login: None, key: None },
    },
];

/// The known agent that this program is, whatever directory it lies in.
pub(crate) fn preset_of(program: &str) -> Option<&'static Preset> {
    let stem = Path::new(program).file_stem()?.to_str()?;
    PRESETS.iter().find(|preset| preset.program == stem)
}

/// The variables with keys of all known agents; some stand there twice.
pub(crate) fn keys_of_all() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().flat_map(|preset| preset.keys.iter().copied())
}
