//! What is known of models by their names: how much they read at once, and whether they see.
//!
//! Owns two short tables, from the providers' public lists. They hold families, not models, so that a new one of a family is known
//! too; what a user states counts for more. Prices are not here: they change, and a wrong one is worse than none (decision 0036).

use super::target::Provider;

/// Tokens that a model reads of which nothing is known: what most of them read today. One that reads less says that a question is too
/// long, and then a summary is made too.
pub(crate) const WINDOW: u64 = 128_000;

/// What Ollama is asked for where nothing is stated: its own default would cut the rules off.
const OLLAMA_WINDOW: u64 = 16_384;

/// Tokens by a part of the name; the first that fits counts.
const WINDOWS: [(&str, u64); 18] = [
    ("claude", 200_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("gpt-oss", 131_072),
    ("gpt-5", 272_000),
    ("codex", 200_000),
    ("gemini", 1_000_000),
    ("deepseek", 64_000),
    ("devstral", 128_000),
    ("mistral", 128_000),
    ("qwen3", 128_000),
    ("kimi-k2", 128_000),
    ("glm-4", 128_000),
    ("grok", 131_072),
    ("llama-4", 128_000),
];

/// Parts of names of models that see.
const SEEING: [&str; 24] = [
    "claude-3",
    "claude-opus",
    "claude-sonnet",
    "claude-haiku",
    "gpt-4o",
    "gpt-4.1",
    "gpt-4-turbo",
    "gpt-5",
    "chatgpt-4o",
    "gemini",
    "llava",
    "pixtral",
    "-vl",
    "vision",
    "gemma-3",
    "gemma3",
    "llama-4",
    "llama4",
    "minicpm-v",
    "mistral-small",
    "mistral-medium",
    "moondream",
    "qwen2.5vl",
    "qwen3-vl",
];

/// Reasoning models of OpenAI that have a name of two letters: `o3`, `o4-mini`.
fn is_o_series(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let mut letters = name.chars();
    letters.next() == Some('o') && letters.next().is_some_and(|digit| matches!(digit, '1' | '3' | '4'))
}

/// Tokens that a model of this name reads at once.
pub(crate) fn window(provider: Provider, name: &str) -> u64 {
    if provider == Provider::Ollama {
        return OLLAMA_WINDOW;
    }
    let name = name.to_ascii_lowercase();
    match WINDOWS.iter().find(|(part, _)| name.contains(part)) {
        Some((_, window)) => *window,
        None if is_o_series(&name) => 200_000,
        None => WINDOW,
    }
}

/// Whether a model of this name sees images.
pub(crate) fn sees(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if name.contains("o1-mini") || name.contains("o3-mini") {
        return false;
    }
    is_o_series(&name) || SEEING.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_known_by_a_part_of_the_name() {
        for (name, tokens, seeing) in [
            ("claude-sonnet-4-5", 200_000, true),
            ("anthropic/claude-opus-4.1", 200_000, true),
            ("gpt-4.1-mini", 1_000_000, true),
            ("gpt-4", 8_192, false),
            ("o4-mini", 200_000, true),
            ("o3-mini", 200_000, false),
            ("openai/gpt-oss-120b", 131_072, false),
            ("gemini-2.5-pro", 1_000_000, true),
            ("deepseek-chat", 64_000, false),
            ("qwen2.5-vl-7b", WINDOW, true),
            ("ornith", WINDOW, false),
        ] {
            assert_eq!((window(Provider::OpenAi, name), sees(name)), (tokens, seeing), "{name}");
        }
        assert_eq!(window(Provider::Ollama, "qwen3:8b"), OLLAMA_WINDOW);
    }
}
