//! Agents that are known by name, so that a user who installed one needs no command line.
//!
//! Owns the list. Never starts anything.

/// One known agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preset {
    /// Its name here.
    pub name: &'static str,
    /// Program, looked for on `PATH`.
    pub program: &'static str,
    /// Arguments that make it speak the protocol.
    pub args: &'static [&'static str],
}

const fn preset(name: &'static str, program: &'static str, args: &'static [&'static str]) -> Preset {
    Preset { name, program, args }
}

/// The agents that are known, by their own documentation.
pub(crate) const PRESETS: [Preset; 8] = [
    preset("opencode", "opencode", &["acp"]),
    preset("claude-agent-acp", "claude-agent-acp", &[]),
    preset("codex-acp", "codex-acp", &[]),
    preset("gemini-cli", "gemini", &["--acp"]),
    preset("qwen-code", "qwen", &["--acp"]),
    preset("goose", "goose", &["acp"]),
    preset("elizacp", "elizacp", &["acp"]),
    preset("symposium-acp-agent", "symposium-acp-agent", &["run"]),
];
