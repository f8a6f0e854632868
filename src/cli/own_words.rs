//! Sentences of the server, in the words of the command line.
//!
//! Owns what is added to a sentence that every client gets: the option that does what it advises. Never makes text safe to show.

use std::borrow::Cow;

use crate::domain::configuration;

/// The sentence, with the option for what it advises where the command line has one.
pub(super) fn own_words(sentence: &str) -> Cow<'_, str> {
    if configuration::may_help(sentence) {
        Cow::Owned(format!("{sentence} Name it with --config."))
    } else {
        Cow::Borrowed(sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_stands_behind_a_sentence_that_another_configuration_may_help_and_nowhere_else() {
        let said = "The engine ended the session: failed. It was made with the configuration `a.yaml`; if that cannot start, make \
                    a session with another one.";
        assert_eq!(
            own_words(&configuration::ended("failed", "a.yaml")),
            format!("{said} Name it with --config.")
        );
        assert_eq!(own_words("The turn failed."), "The turn failed.");
    }
}
