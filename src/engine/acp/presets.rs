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

/// The asking mode of the known agent that this program is, whatever directory it lies in.
pub(crate) fn asking_mode_of(program: &str) -> Option<&'static str> {
    let file = Path::new(program).file_stem()?.to_str()?;
    PRESETS.iter().find(|preset| preset.program == file)?.asking_mode
}
