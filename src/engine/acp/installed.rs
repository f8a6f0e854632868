//! What a person types in a shell before an agent works: how a known one is installed and logged in to, and where one lies.
//!
//! Owns the words for it and the search on `PATH`; the agents themselves are in `presets`. Never starts anything.

use std::path::{Path, PathBuf};

use crate::domain::remedy::{Login, LoginMethod};

/// How a known agent is installed and logged in to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FirstUse {
    /// The command that installs it.
    pub install: &'static str,
    /// What logs in; `None` where the agent has no login of its own.
    pub login: Option<ShellLogin>,
    /// The variable with a key that makes a login needless.
    pub key: Option<&'static str>,
}

/// What a person types to log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShellLogin {
    /// In a shell.
    pub command: &'static str,
    /// Then, in the program that this starts.
    pub inside: Option<&'static str>,
}

impl ShellLogin {
    fn words(self) -> String {
        let Self { command, inside } = self;
        match inside {
            None => format!("with `{command}` in a shell"),
            Some(inside) => format!("with `{command}` in a shell and `{inside}` in it"),
        }
    }
}

impl FirstUse {
    /// The same as data, beside the ways that the agent itself offers.
    pub(crate) fn login(&self, methods: Vec<LoginMethod>) -> Login {
        Login {
            methods,
            command: self.login.map(|login| login.command.to_owned()),
            inside: self.login.and_then(|login| login.inside).map(str::to_owned),
            variable: self.key.map(str::to_owned),
        }
    }

    /// How one logs in, as the rest of a sentence that begins with "log in".
    pub(crate) fn how_to_log_in(&self) -> Option<String> {
        let login = self.login.map(ShellLogin::words);
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
    use super::super::presets::{PRESETS, preset_of};
    use super::*;

    #[test]
    fn each_preset_says_how_it_is_installed() {
        for preset in PRESETS {
            assert!(!preset.first_use.install.is_empty(), "{}", preset.name);
            // A key that is told to be set reaches the agent.
            assert!(preset.first_use.key.is_none_or(|key| preset.keys.contains(&key)), "{}", preset.name);
        }
        assert_eq!(preset_of("/opt/codex-acp"), preset_of("codex-acp"));
        assert_eq!(preset_of("codex-acp").map(|preset| preset.name), Some("codex-acp"));
        assert_eq!(preset_of("nobody"), None);
    }

    #[test]
    fn a_login_is_told_as_what_to_type() {
        let said = |program: &str| preset_of(program).and_then(|preset| preset.first_use.how_to_log_in());
        assert_eq!(said("opencode").as_deref(), Some("with `opencode auth login` in a shell"));
        assert_eq!(
            said("codex-acp").as_deref(),
            Some("with `codex login` in a shell, or set OPENAI_API_KEY in the environment")
        );
        assert_eq!(
            said("gemini").as_deref(),
            Some("with `gemini` in a shell and `/auth` in it, or set GEMINI_API_KEY in the environment")
        );
        assert_eq!(said("elizacp"), None);
        let gemini = preset_of("gemini").map(|preset| preset.first_use.login(Vec::new()));
        let text = |text: &str| Some(text.to_owned());
        let told = Login {
            methods: Vec::new(),
            command: text("gemini"),
            inside: text("/auth"),
            variable: text("GEMINI_API_KEY"),
        };
        assert_eq!(gemini, Some(told));
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
