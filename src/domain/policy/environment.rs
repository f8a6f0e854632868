//! Which environment variables a child process may inherit.
//!
//! Owns the judgement by name. Never reads the environment: the edge that starts the process asks for each name.

/// Parts of a name that say what it holds. Compared without regard to case.
const TELLING_PARTS: [&str; 10] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "CREDENTIAL",
];

/// Ends of a name that say the same; as parts they would catch `PWD`, `KEYMAP` or `SSH_AUTH_SOCK`.
const TELLING_ENDS: [&str; 5] = ["_KEY", "_PASS", "_PWD", "_AUTH", "_PAT"];

/// Whether a child process may see this variable: not ours, and not one whose name looks like that of a secret.
pub(crate) fn may_inherit(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    !(name.starts_with("BREADBOARD_")
        || TELLING_PARTS.iter().any(|part| name.contains(part))
        || TELLING_ENDS.iter().any(|end| name.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use super::may_inherit;

    #[test]
    fn secrets_and_our_own_settings_stay_with_us() {
        for name in [
            "BREADBOARD_API_TOKEN",
            "BREADBOARD_API_URL",
            "breadboard_api_url",
            "GITHUB_TOKEN",
            "NPM_CONFIG__AUTH",
            "OPENAI_API_KEY",
            "MyServiceApiKey",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "PGPASSWORD",
            "MYSQL_PWD",
            "SIGNING_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ] {
            assert!(!may_inherit(name), "{name}");
        }
    }

    #[test]
    fn what_a_build_needs_is_inherited() {
        for name in
            ["PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "LANG", "KEYMAP", "CARGO_HOME", "XAUTHORITY"]
        {
            assert!(may_inherit(name), "{name}");
        }
    }
}
