//! How a prompt must look so that a BreadBoard engine takes it as the user wrote it.
//!
//! The engine reads three things into a text: blank text it answers with a fault inside, a text such as `replay:x` it
//! takes for the path of a recording, and of a text that begins with one of the last prompts it cuts that beginning off.
//! Owns what is refused and what is put before a text; the words themselves are never changed. Never remembers prompts.

/// Prompts that the engine remembers of a session.
pub const REMEMBERED: usize = 20;

/// Lead-ins there are: more than the engine remembers prompts.
const LEAD_INS: u64 = 32;

/// Why a text cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptRefused {
    /// There is nothing in it but white space.
    Blank,
    /// The engine would play a recording instead of answering.
    Recording,
    /// Whatever is put before it, the engine would cut it.
    WouldBeCut,
}

impl PromptRefused {
    /// One sentence.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Blank => "The prompt is blank; write something.",
            Self::Recording => {
                "The engine takes a prompt that begins with `replay:`, `/replay` or `@replay` for the path of a recording; \
                 begin with another word."
            }
            Self::WouldBeCut => {
                "The engine would cut the beginning off this prompt, because it begins like an earlier one; begin with \
                 other words."
            }
        }
    }
}

/// The text to send so that the engine takes `text` whole: `text` itself, or `text` behind some white space. `earlier` are
/// the texts that the engine may remember, as they were sent; `turn` is the number of the turn, so that neighbouring turns
/// never get the same white space.
pub fn sendable<'a>(
    text: &str,
    turn: u64,
    earlier: impl Iterator<Item = &'a str> + Clone,
) -> Result<String, PromptRefused> {
    if is_blank(text) {
        return Err(PromptRefused::Blank);
    }
    if is_recording(text) {
        return Err(PromptRefused::Recording);
    }
    let whole = |candidate: &str| !earlier.clone().any(|prior| is_cut_by(candidate, prior));
    if whole(text) {
        return Ok(text.to_owned());
    }
    (0..LEAD_INS)
        .map(|step| format!("{}{text}", lead_in(turn.wrapping_add(step))))
        .find(|candidate| whole(candidate))
        .ok_or(PromptRefused::WouldBeCut)
}

/// White space of one length, different for each of `LEAD_INS` numbers. None is the beginning of another, so an earlier
/// prompt can be in the way of one of them at most.
fn lead_in(number: u64) -> String {
    let bits = (0..5).map(|bit| if number >> bit & 1 == 0 { ' ' } else { '\n' });
    bits.chain(['\n']).collect()
}

/// The engine cuts `prior` off when something is left; where nothing is, both prompts are one and stay whole.
fn is_cut_by(text: &str, prior: &str) -> bool {
    !prior.is_empty() && text.strip_prefix(prior).is_some_and(|rest| !is_blank(rest))
}

/// A path behind one of the three words.
fn is_recording(text: &str) -> bool {
    let text = text.trim_matches(is_space);
    let is_path = |rest: &str| !is_blank(rest);
    if let Some(rest) = text.strip_prefix("replay:") {
        return is_path(rest);
    }
    let named = text.starts_with("@replay") || text.starts_with("/replay");
    named && text.split_once(is_space).is_some_and(|(_, rest)| is_path(rest))
}

fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// White space as the engine's language has it: four separators more than ours.
fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::{PromptRefused, REMEMBERED, is_blank, is_space, lead_in, sendable};

    fn sent(text: &str, earlier: &[&str]) -> Result<String, PromptRefused> {
        sendable(text, 0, earlier.iter().copied())
    }

    #[test]
    fn what_the_engine_would_read_otherwise_is_refused() {
        for (text, why) in [
            ("", PromptRefused::Blank),
            (" \n\t\u{a0}\u{2003}\u{85}", PromptRefused::Blank),
            ("\u{1c}\u{1f}", PromptRefused::Blank),
            ("replay:x", PromptRefused::Recording),
            (" \n replay: /tmp/x ", PromptRefused::Recording),
            ("\u{1e}replay:x", PromptRefused::Recording),
            ("/replay x", PromptRefused::Recording),
            ("@replay\nx y", PromptRefused::Recording),
            ("/replayed this yesterday", PromptRefused::Recording),
        ] {
            assert_eq!(sent(text, &[]), Err(why), "{text:?}");
        }
    }

    #[test]
    fn what_it_takes_as_it_stands_is_sent_as_it_stands() {
        for (text, earlier) in [
            ("fix", &[][..]),
            ("  fix\n", &[]),
            ("replay:", &[]),
            ("replay: ", &[]),
            ("/replay", &[]),
            ("@replaying ", &[]),
            ("Replay:x", &[]),
            ("please replay:x", &[]),
            // The same once more, and the same with space behind it, the engine leaves whole.
            ("fix", &["fix"]),
            ("fix \n", &["fix"]),
            ("fi", &["fix"]),
            ("Fix the bug", &["fix"]),
            (" fix the bug", &["fix"]),
            ("fix", &[""]),
        ] {
            assert_eq!(sent(text, earlier), Ok(text.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn a_text_that_begins_like_an_earlier_one_gets_white_space_before_it() {
        assert_eq!(sent("fix the bug", &["fix"]), Ok(format!("{}fix the bug", lead_in(0))));
        let before = format!("{}fix", lead_in(0));
        assert_eq!(sent("fix the bug", &["fix", &before]), Ok(format!("{}fix the bug", lead_in(1))));
    }

    #[test]
    fn a_text_that_cannot_be_kept_whole_is_refused() {
        let before: Vec<String> = (0..32).map(|number| format!("{}fix", lead_in(number))).collect();
        let earlier = before.iter().map(String::as_str).chain(["fix"]);
        assert_eq!(sendable("fix it", 7, earlier), Err(PromptRefused::WouldBeCut));
    }

    /// The engine as it was observed.
    #[derive(Default)]
    struct Model {
        remembered: VecDeque<String>,
    }

    impl Model {
        fn takes(&mut self, text: &str) -> String {
            let mut longest_first: Vec<&String> = self.remembered.iter().collect();
            longest_first.sort_by_key(|prior| std::cmp::Reverse(prior.chars().count()));
            let cut = longest_first.into_iter().find_map(|prior| {
                let rest = text.strip_prefix(prior.as_str())?;
                (!is_blank(rest)).then(|| rest.trim_start_matches(is_space).to_owned())
            });
            let taken = cut.unwrap_or_else(|| text.to_owned());
            self.remembered.push_back(taken.clone());
            if self.remembered.len() > REMEMBERED {
                self.remembered.pop_front();
            }
            taken
        }
    }

    proptest! {
        #[test]
        fn the_engine_gets_every_prompt_whole(texts in prop::collection::vec("[ \nab]{1,6}", 1..60)) {
            let mut engine = Model::default();
            let mut earlier: VecDeque<String> = VecDeque::new();
            for (turn, text) in texts.iter().enumerate() {
                let Ok(sent) = sendable(text, turn as u64, earlier.iter().map(String::as_str)) else {
                    // With twenty remembered there is always a way.
                    prop_assert!(is_blank(text));
                    continue;
                };
                prop_assert_eq!(sent.trim_start_matches(is_space), text.trim_start_matches(is_space));
                prop_assert!(sent.ends_with(text.as_str()));
                prop_assert_eq!(engine.takes(&sent), sent.clone());
                earlier.push_back(sent);
                if earlier.len() > REMEMBERED {
                    earlier.pop_front();
                }
            }
        }

        #[test]
        fn after_a_restart_bare_texts_are_enough(texts in prop::collection::vec("[ab]{1,4}", 1..40)) {
            let mut engine = Model::default();
            for (turn, text) in texts.iter().enumerate() {
                // Nothing is known but what the user typed: the white space of earlier turns is lost.
                let known = texts[turn.saturating_sub(REMEMBERED)..turn].iter().map(String::as_str);
                let sent = sendable(text, turn as u64, known).unwrap();
                prop_assert_eq!(engine.takes(&sent), sent.clone());
            }
        }
    }
}
