//! Sentences of the server, in the words of the command line.
//!
//! Owns what is added to a sentence that every client gets: the option that does what it advises. Never makes text safe to show.

use std::borrow::Cow;

use super::engine_advice::NO_ADDRESS;
use crate::domain::configuration;

/// The sentence, with the option for what it advises where the command line has one.
pub(super) fn own_words(sentence: &str) -> Cow<'_, str> {
    if configuration::may_help(sentence) {
        Cow::Owned(format!("{sentence} Name it with --config."))
    } else if sentence.contains(NO_ADDRESS) {
        Cow::Owned(format!("{sentence} Or give it with --engine-url."))
    } else {
        Cow::Borrowed(sentence)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::breadboard::Setup;
    use crate::protocol::settings::EngineSetting;

    #[test]
    fn the_option_stands_behind_a_sentence_that_advises_what_it_does_and_nowhere_else() {
        let said = "The engine ended the session: failed. It was made with the configuration `a.yaml`; if that cannot start, make \
                    a session with another one.";
        assert_eq!(
            own_words(&configuration::ended("failed", "a.yaml")),
            format!("{said} Name it with --config.")
        );
        let setting: EngineSetting =
            serde_json::from_value(json!({ "kind": "breadboard" })).expect("is a setting");
        let no_address = Setup::read(&setting, None, None).err().expect("there is no address").message;
        assert_eq!(own_words(&no_address), format!("{no_address} Or give it with --engine-url."));
        assert_eq!(own_words("The turn failed."), "The turn failed.");
    }
}
