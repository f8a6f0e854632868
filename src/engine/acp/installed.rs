//! What a person types in a shell before an agent works: how a known one is installed and logged in to, and where one lies.
//!
//! Owns the words for it and the search on `PATH`. Never starts anything.

use std::path::{Path, PathBuf};

use super::presets::stem;

/// How a known agent is installed and logged in to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FirstUse {
    /// Its program.
    program: &'static str,
    /// The command that installs it.
    pub install: &'static str,
    /// What logs in; `None` where the agent has no login of its own.
    pub login: Option<&'static str>,
    /// The variable with a key that makes a login needless.
    pub key: Option<&'static str>,
}

const fn first_use(
    program: &'static str,
    install: &'static str,
    login: Option<&'static str>,
    key: Option<&'static str>,
) -> FirstUse {
    FirstUse { program, install, login, key }
}

const KNOWN: [FirstUse; 8] = [
    first_use("opencode", "npm install -g opencode-ai", Some("`opencode auth login`"), None),
    first_use(
        "claude-agent-acp",
        "npm install -g @agentclientprotocol/claude-agent-acp",
        Some("`claude /login`"),
        Some("ANTHROPIC_API_KEY"),
    ),
    first_use(
        "codex-acp",
        "npm install -g @agentclientprotocol/codex-acp",
        Some("`codex login`"),
        Some("OPENAI_API_KEY"),
    ),
    first_use(
        "gemini",
        "npm install -g @google/gemini-cli",
        Some("`gemini` and `/auth` in it"),
        Some("GEMINI_API_KEY"),
    ),
    first_use(
        "qwen",
        "npm install -g @qwen-code/qwen-code",
        Some("`qwen` and `/auth` in it"),
        Some("OPENAI_API_KEY"),
    ),
    first_use("goose", "brew install block-goose-cli", Some("`goose configure`"), None),
    first_use("elizacp", "cargo install elizacp", None, None),
    first_use("symposium-acp-agent", "cargo install symposium-acp-agent", None, None),
];

/// What is known of the agent that this program is, whatever its path.
pub(crate) fn first_use_of(program: &str) -> Option<&'static FirstUse> {
    let name = stem(program)?;
    KNOWN.iter().find(|known| known.program == name)
}

impl FirstUse {
    /// How one logs in, as the rest of a sentence that begins with "log in".
    pub(crate) fn how_to_log_in(&self) -> Option<String> {
        let login = self.login.map(|login| format!("with {login} in a shell"));
        let key = self.key.map(|key| format!("set {key} in the environment"));
        match (login, key) {
            (Some(login), Some(key)) => Some(format!("{login}, or {key}")),
            (Some(login), None) => Some(login),
            (None, _) => None,
        }
    }
}

/// Where this program lies: a path is looked at from `folder`, a name is looked for on `PATH`.
pub(crate) fn program_on(program: &str, path: &str, folder: &Path) -> Option<PathBuf> {
    if program.contains(std::path::is_separator) {
        return executable(&folder.join(program));
    }
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .find_map(|directory| executable(&directory.join(program)))
}

#[cfg(unix)]
fn executable(file: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs =
        std::fs::metadata(file).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    runs.then(|| file.to_owned())
}

#[cfg(not(unix))]
fn executable(file: &Path) -> Option<PathBuf> {
    let ends = ["exe", "cmd", "bat"].map(|end| file.with_extension(end));
    std::iter::once(file.to_owned()).chain(ends).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::super::presets::{PRESETS, keys_of};
    use super::*;

    #[test]
    fn each_preset_says_how_it_is_installed() {
        for preset in PRESETS {
            let first_use = first_use_of(preset.program).expect(preset.name);
            assert!(!first_use.install.is_empty(), "{}", preset.name);
            // A key that is told to be set reaches the agent.
            assert!(
                first_use.key.is_none_or(|key| keys_of(preset.program).contains(&key)),
                "{}",
                preset.name
            );
        }
        assert_eq!(
            first_use_of("/opt/codex-acp").map(|one| one.install),
            first_use_of("codex-acp").map(|one| one.install)
        );
        assert_eq!(first_use_of("nobody"), None);
    }

    #[test]
    fn a_login_is_told_as_what_to_type() {
        let said = |program: &str| first_use_of(program).and_then(FirstUse::how_to_log_in);
        assert_eq!(said("opencode").as_deref(), Some("with `opencode auth login` in a shell"));
        assert_eq!(
            said("codex-acp").as_deref(),
            Some("with `codex login` in a shell, or set OPENAI_API_KEY in the environment")
        );
        assert_eq!(said("elizacp"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_is_found_where_it_can_be_run() {
        use std::os::unix::fs::PermissionsExt;
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let put = |file: PathBuf, mode| {
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            file
        };
        put(one.path().join("goose"), 0o644);
        std::fs::create_dir(one.path().join("qwen")).unwrap();
        let goose = put(two.path().join("goose"), 0o755);
        let path = format!("relative:{}:{}", one.path().display(), two.path().display());
        let on = |program: &str| program_on(program, &path, two.path());
        assert_eq!(on("goose"), Some(goose.clone()));
        assert_eq!(on("qwen"), None);
        assert_eq!(on("./goose"), Some(two.path().join("./goose")));
        assert_eq!(on(goose.to_str().unwrap()), Some(goose.clone()));
        assert_eq!(on("/nowhere/goose"), None);
    }
}
