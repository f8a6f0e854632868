//! Sentences of the server, in the words of the command line.
//!
//! Owns what is added to a sentence that every client gets: the option that does what it advises. Never makes text safe to show.

use std::borrow::Cow;

use super::engine_advice::NO_ADDRESS;
use crate::domain::configuration;
use crate::engine::acp::UNHEARD;

/// How the server names a desktop host in what it says of one.
const HOST: &str = "The desktop host at ";

/// The sentence, with the option for what it advises where the command line has one.
pub(super) fn own_words(sentence: &str) -> Cow<'_, str> {
    if configuration::may_help(sentence) {
        Cow::Owned(format!("{sentence} Name it with --config."))
    } else if sentence.contains(NO_ADDRESS) {
        Cow::Owned(format!("{sentence} Or give it with --engine-url."))
    } else if sentence.contains(UNHEARD) {
        Cow::Owned(format!("{sentence} Here, Ctrl-C ends it."))
    } else if let Some(host) = host_that_wants_a_token(sentence) {
        Cow::Owned(format!("{sentence} {}", pair_with(host)))
    } else {
        Cow::Borrowed(sentence)
    }
}

/// The address of a desktop host that wants a token, or another one.
fn host_that_wants_a_token(sentence: &str) -> Option<&str> {
    let (_, behind) = sentence.split_once(HOST)?;
    let (host, said) = behind.split_once(' ')?;
    (said.starts_with("wants a token") || said.starts_with("does not take our token")).then_some(host)
}

/// How a person at a shell comes by the token of a host like ours.
pub(super) fn pair_with(host: &str) -> String {
    format!(
        "`export BREADBOARD_API_TOKEN=$(breadboard-ls pair {host})` gets it for the code in the terminal of `breadboard-ls engine`."
    )
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
        let deaf = format!("The agent `a` was told to stop 30 seconds ago and has not; {UNHEARD}.");
        assert_eq!(own_words(&deaf), format!("{deaf} Here, Ctrl-C ends it."));
        assert_eq!(own_words("The turn failed."), "The turn failed.");
    }

    #[test]
    fn how_to_pair_stands_behind_a_sentence_of_a_host_that_wants_a_token() {
        let why = "The desktop host at http://127.0.0.1:3199 wants a token; set BREADBOARD_API_TOKEN, or give it in the editor.";
        let how = "`export BREADBOARD_API_TOKEN=$(breadboard-ls pair http://127.0.0.1:3199)` gets it for the code in the terminal \
                   of `breadboard-ls engine`.";
        assert_eq!(own_words(why), format!("{why} {how}"));
        let busy = "The desktop host at http://127.0.0.1:3199 is busy; try again in a moment.";
        assert_eq!(own_words(busy), busy);
    }
}
