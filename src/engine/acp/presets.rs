//! Agents that are known by name, so that a user who installed one needs no command line.
//!
//! Owns the list. Never starts anything.

use std::path::Path;

/// One known agent.
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
}

const fn preset(
    name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    asking_mode: Option<&'static str>,
) -> Preset {
    Preset { name, program, args, asking_mode }
}

/// The agents that are known, by their own documentation.
pub(crate) const PRESETS: [Preset; 8] = [
    preset("opencode", "opencode", &["acp"], None),
    preset("claude-agent-acp", "claude-agent-acp", &[], Some("default")),
    preset("codex-acp", "codex-acp", &[], Some("read-only")),
    preset("gemini-cli", "gemini", &["--acp"], Some("default")),
    preset("qwen-code", "qwen", &["--acp"], Some("default")),
    preset("goose", "goose", &["acp"], Some("approve")),
    preset("elizacp", "elizacp", &["acp"], None),
    preset("symposium-acp-agent", "symposium-acp-agent", &["run"], None),
];

/// Variables of the environment with keys of the known agents. Whoever starts an agent by hand has set them for it.
const KEYS: [(&str, &[&str]); 6] = [
    (
        "opencode",
        &[
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
            "OPENAI_API_KEY",
            "OPENCODE_API_KEY",
            "OPENROUTER_API_KEY",
        ],
    ),
    ("claude-agent-acp", &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"]),
    ("codex-acp", &["CODEX_API_KEY", "OPENAI_API_KEY"]),
    ("gemini", &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"]),
    ("qwen", &["DASHSCOPE_API_KEY", "OPENAI_API_KEY"]),
    ("goose", &["ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"]),
];

/// The variables with keys that are meant for this program; none for one that is not known.
pub(crate) fn keys_of(program: &str) -> &'static [&'static str] {
    let known = KEYS.iter().find(|(known, _)| Some(*known) == stem(program));
    known.map(|(_, keys)| *keys).unwrap_or_default()
}

/// Those of all known agents; some stand there twice.
pub(crate) fn keys_of_all() -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|(_, keys)| keys.iter().copied())
}

/// The asking mode of the known agent that this program is, whatever directory it lies in.
pub(crate) fn asking_mode_of(program: &str) -> Option<&'static str> {
    PRESETS.iter().find(|preset| Some(preset.program) == stem(program))?.asking_mode
}

/// The name of a program, whatever directory it lies in.
pub(super) fn stem(program: &str) -> Option<&str> {
    Path::new(program).file_stem()?.to_str()
}
