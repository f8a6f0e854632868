//! What is said of the configuration with which an engine makes a session: that it cannot be read, that the session is over.
//!
//! Owns these sentences, and how a client finds them, which knows how another one is chosen there. Never asks an engine.

/// How each of them names the configuration.
const NAMED: &str = "the configuration `";

/// The engine cannot read it; `why` in the engine's words.
pub fn unusable(configuration: &str, why: &str) -> String {
    format!("The engine cannot use {NAMED}{configuration}`: {why}; choose another one.")
}

/// The engine ended a session with this status.
pub fn ended(status: &str, configuration: &str) -> String {
    format!(
        "The engine ended the session: {status}. It was made with {NAMED}{configuration}`; if that cannot start, make a session with \
         another one."
    )
}

/// A session takes no prompts because it failed; `why` in the engine's words, where they are known.
pub fn failed(configuration: &str, why: Option<&str>) -> String {
    let why = why.map(|why| format!(": {}", why.trim_end_matches('.'))).unwrap_or_default();
    format!(
        "The session failed at the engine, which made it with {NAMED}{configuration}`{why}. Make a new session, with another \
         configuration if this one cannot start."
    )
}

/// Whether a sentence is one of these, so that another configuration may help.
pub fn may_help(sentence: &str) -> bool {
    sentence.contains(NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_names_the_configuration_and_is_found() {
        let told = [
            unusable("a.yaml", "no such file"),
            ended("failed", "a.yaml"),
            failed("a.yaml", Some("No model.")),
            failed("a.yaml", None),
        ];
        let wanted = [
            "The engine cannot use the configuration `a.yaml`: no such file; choose another one.",
            "The engine ended the session: failed. It was made with the configuration `a.yaml`; if that cannot start, make a session \
             with another one.",
            "The session failed at the engine, which made it with the configuration `a.yaml`: No model. Make a new session, with \
             another configuration if this one cannot start.",
            "The session failed at the engine, which made it with the configuration `a.yaml`. Make a new session, with another \
             configuration if this one cannot start.",
        ];
        assert_eq!(told, wanted);
        assert!(told.iter().all(|sentence| may_help(sentence)));
        assert!(!may_help("The engine ended the session: stopped."));
    }
}
