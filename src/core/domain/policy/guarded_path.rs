//! Names of files that nothing touches without a person: secrets, keys, and what a version control system keeps.
//!
//! Owns the judgement by name, in any case and as each system may read it. Never looks at a disk: a path must come without links.

use super::path_names::folded_by_macos;

/// Folders that hold nothing else.
const FOLDERS: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".gcloud",
];
/// Whole names.
const NAMES: &[&str] = &[
    ".git-credentials",
    ".gitconfig",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    "htpasswd",
    "shadow",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
    "secrets.toml",
    ".terraformrc",
    ".envrc",
    ".dockercfg",
    "master.key",
];
/// Beginnings of names.
const BEGINNINGS: &[&str] =
    &[".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "service-account", "service_account"];
/// Ends of names.
const ENDS: &[&str] = &[
    ".env",
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".gpg",
    ".ppk",
    ".tfstate",
    ".tfvars",
    ".ovpn",
];

/// The part of a path that makes it one which is only touched on a person's word.
pub fn guarded_part(path: &str) -> Option<&str> {
    path.split(['/', '\\']).find(|part| is_guarded(part))
}

fn is_guarded(part: &str) -> bool {
    // Windows drops dots and blanks at an end, and reads what follows a colon as a stream of the file.
    // macOS takes more letters for the same than ASCII has.
    let name = folded_by_macos(part.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']));
    // Short names: `GIT~1` is `.git`.
    let short = name.split_once('~').is_some_and(|(stem, rest)| {
        !stem.is_empty()
            && rest.starts_with(|c: char| c.is_ascii_digit())
            && ("git".starts_with(stem) || "env".starts_with(stem))
    });
    short
        || FOLDERS.contains(&name.as_str())
        || NAMES.contains(&name.as_str())
        || BEGINNINGS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
}

/// The part of a path that begins with a dot: settings of tools, which say what is run. Never written without a person.
pub(crate) fn hidden_part(path: &str) -> Option<&str> {
    path.split(['/', '\\']).find(|part| {
        let name = folded_by_macos(part);
        name.starts_with('.') && !name.chars().all(|c| c == '.')
    })
}

#[cfg(test)]
mod tests {
    use super::{guarded_part, hidden_part};

    #[test]
    fn secrets_keys_and_git_are_known_in_any_case_and_depth() {
        for path in [
            ".env",
            "a/.env",
            ".ENV.local",
            ".env.",
            "prod.env",
            ".git/config",
            "sub/.GIT/hooks/pre-commit",
            "GIT~1/config",
            "keys/server.pem",
            "id_rsa",
            "id_ed25519.pub",
            ".ssh/config",
            "x/credentials.json",
            ".git::$DATA",
            ".npmrc",
            "a\\.git\\config",
            ".\u{17f}sh/config",
            ".\u{212a}ube/config",
            "x/.g\u{200c}it/config",
            "\u{feff}.env",
        ] {
            assert!(guarded_part(path).is_some(), "{path}");
        }
        for path in [
            "src/env.rs",
            "environment.md",
            "git/a.rs",
            ".gitignore",
            "keys.rs",
            "a.envoy",
            "monkey",
            "HEAD~1",
            ".",
        ] {
            assert_eq!(guarded_part(path), None, "{path}");
        }
    }

    #[test]
    fn what_begins_with_a_dot_is_hidden() {
        assert_eq!(hidden_part("a/.vscode/tasks.json"), Some(".vscode"));
        for path in ["a/b", ".", "../a", "./a", "a.b/c"] {
            assert_eq!(hidden_part(path), None, "{path}");
        }
    }
}
