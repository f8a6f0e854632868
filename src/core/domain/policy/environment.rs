//! Which environment variables a child process may inherit.
//!
//! Owns the judgement by name. Never reads the environment: the edge that starts the process asks for each name.

/// Names that stay with us: ours, and those that say that they hold a secret. `*` at an end stands for whatever is there;
/// the last ones are ends only, since as a part `_AUTH` would catch `SSH_AUTH_SOCK`. The list is a file, because VS Code
/// starts the commands of its terminal by itself and reads the same one.
const WITHHELD: &[&str] = &include!("withheld_environment.json");

/// Stands in the environment of every agent that we start, and of all that it starts: whoever finds it and is to be an agent
/// itself would only ask itself.
pub const AGENT_MARK: &str = "BREADBOARD_INSIDE_AGENT";

/// Whether a child process may see this variable: not ours, and not one whose name looks like that of a secret.
pub fn may_inherit(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    !WITHHELD.iter().any(|pattern| fits(&name, pattern))
}

fn fits(name: &str, pattern: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
        (Some(_), Some(_)) => name.contains(pattern.trim_matches('*')),
    }
}

#[cfg(test)]
mod tests {
    use super::{WITHHELD, may_inherit};

    #[test]
    fn secrets_and_our_own_settings_stay_with_us() {
        for name in [
            "BREADBOARD_API_TOKEN",
            "BREADBOARD_API_URL",
            "breadboard_api_url",
            "GITHUB_TOKEN",
            "GITHUB_PAT",
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

    #[test]
    fn the_list_is_json_and_each_pattern_has_its_stars_at_the_ends_only() {
        let read: Vec<String> = serde_json::from_str(include_str!("withheld_environment.json")).unwrap();
        assert_eq!(read, WITHHELD);
        for pattern in WITHHELD {
            let name = pattern.trim_matches('*');
            assert!(
                !name.is_empty() && !name.contains('*') && name == name.to_ascii_uppercase(),
                "{pattern}"
            );
            assert!(!may_inherit(name), "{pattern}");
        }
    }
}
