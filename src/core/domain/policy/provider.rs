//! Which provider a model belongs to when the setting does not say.
//!
//! Owns the rule and its four words. Never contacts anyone.

/// The provider of a model setting that names none: `openai` where a URL is given, else by the name.
pub fn provider_of(name: &str, has_url: bool) -> &'static str {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if has_url {
        "openai"
    } else if starts(&["claude"]) {
        "anthropic"
    } else if starts(&["gemini"]) {
        "gemini"
    } else if starts(&["o1", "o3", "o4", "chatgpt", "codex", "gpt-"]) && !starts(&["gpt-oss"]) {
        "openai"
    } else {
        "ollama"
    }
}

#[cfg(test)]
mod tests {
    use super::provider_of;

    #[test]
    fn a_url_means_openai_and_a_name_its_maker() {
        assert_eq!(provider_of("claude-x", true), "openai");
        for (name, provider) in [
            ("claude-x", "anthropic"),
            ("gemini-x", "gemini"),
            ("gpt-x", "openai"),
            ("o3", "openai"),
            ("gpt-oss:20b", "ollama"),
            ("qwen3", "ollama"),
        ] {
            assert_eq!(provider_of(name, false), provider, "{name}");
        }
    }
}
