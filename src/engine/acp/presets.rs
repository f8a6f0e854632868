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

/// The known agents whose program lies in one of the directories of this `PATH`.
pub(crate) fn found_on(path: &str) -> Vec<&'static str> {
    let there = |preset: &&Preset| {
        std::env::split_paths(path)
            .any(|directory| directory.is_absolute() && runs(&directory.join(preset.program)))
    };
    PRESETS.iter().filter(there).map(|preset| preset.name).collect()
}

#[cfg(unix)]
fn runs(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn runs(file: &Path) -> bool {
    ["exe", "cmd", "bat"].iter().any(|end| file.with_extension(end).is_file())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn agents_are_found_where_their_program_can_be_run() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let put = |file: std::path::PathBuf, mode| {
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        put(one.path().join("qwen"), 0o755);
        put(two.path().join("opencode"), 0o755);
        put(two.path().join("goose"), 0o644);
        std::fs::create_dir(two.path().join("codex-acp")).unwrap();
        let path = format!("{}:{}", one.path().display(), two.path().display());
        assert_eq!(found_on(&path), ["opencode", "qwen-code"]);
        assert_eq!(found_on(""), Vec::<&str>::new());
    }
}
