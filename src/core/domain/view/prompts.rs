//! Prompts: the blocks of what the user asked, and which echo of the engine is about which of them.
//!
//! Owns the prompts whose echo has not come. Never prints a prompt twice and never changes a block that it made (R003-37);
//! where the engine made other words of a prompt, it says so beside it.

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, Lane};
use super::notices;
use crate::domain::context::item::ContextChip;
use crate::domain::cut;
use crate::domain::event::SessionEvent;
use crate::domain::fact::NoticeLevel;
use crate::domain::fingerprint::Fingerprint;

const PROMPT: usize = 512 * 1024;
/// Prompts that wait for their echo. One input is outstanding at a time; an engine that never echoes fills this, and the
/// oldest is forgotten.
const WAITING: usize = 8;
/// Runs that may end before an echo comes: those that other clients had waiting, and its own.
const ENDS: u8 = 4;
/// Enough of the engine's words to see what it made of the prompt.
const CHANGED: usize = 300;
/// The end of a prompt that is kept to know its words again where the engine left out how it began.
const END: usize = 4 * 1024;

/// The prompts whose echo has not come, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Prompts {
    waiting: Vec<WaitingPrompt>,
    /// The block of the newest prompt, until it is told what goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    without_context: Option<Box<Block>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WaitingPrompt {
    /// Of its words without the space around them.
    words: Fingerprint,
    /// Their end.
    #[serde(default)]
    end: String,
    /// Runs that ended since.
    ends: u8,
}

/// A prompt of ours.
pub(super) struct Sent<'a> {
    pub(super) words: &'a str,
    pub(super) message_id: Option<&'a str>,
    pub(super) attachment_ids: Vec<String>,
    pub(super) has_context: bool,
}

/// Whose prompt an echo is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Echo {
    /// One of ours.
    Ours {
        /// What the engine made of it, when that is something else.
        changed: Option<String>,
    },
    /// Somebody else's, or the task that a session was made with.
    Other,
}

impl Prompts {
    /// A prompt of ours.
    pub(super) fn sent(&mut self, event: &SessionEvent, sent: Sent<'_>, changes: &mut Vec<Change>) {
        let Sent { words, message_id, attachment_ids, has_context } = sent;
        let put = block(event, words, message_id.map(str::to_owned), attachment_ids);
        self.without_context = put.block.clone().filter(|_| has_context).map(Box::new);
        changes.push(put);
        if self.waiting.len() >= WAITING {
            self.waiting.remove(0);
        }
        let words = words.trim();
        let end = cut::end_of(words, END).to_owned();
        self.waiting.push(WaitingPrompt { words: Fingerprint::of(words), end, ends: 0 });
    }

    /// What goes with the newest prompt: its block is put again.
    pub(super) fn context(
        &mut self,
        event: &SessionEvent,
        chips: Vec<ContextChip>,
        notes: Vec<String>,
        changes: &mut Vec<Change>,
    ) {
        let Some(mut block) = self.without_context.take() else { return };
        if let BlockBody::User { context, context_notes, context_seq, .. } = &mut block.body {
            *context_seq = (!chips.is_empty()).then_some(event.seq);
            *context = chips;
            *context_notes = notes;
            changes.push(Change::put(Lane::Chat, *block));
        }
    }

    /// Whose prompt these words of the engine are. Each prompt has one echo.
    pub(super) fn echo(&mut self, said: Option<&str>) -> Echo {
        let same = said.and_then(|said| self.position(said));
        let at = same.or_else(|| self.made_of(said));
        let Some(at) = at else { return Echo::Other };
        // An engine takes inputs in order: the echo of an earlier one does not come any more.
        self.waiting.drain(..=at);
        let changed = said.filter(|_| same.is_none()).map(|said| cut::line(said.trim(), CHANGED));
        Echo::Ours { changed }
    }

    /// Whether these are the words of a prompt whose echo has not come.
    pub(super) fn waits_for(&self, said: &str) -> bool {
        self.position(said).is_some()
    }

    /// Whether an echo with these words would be one of ours.
    pub(super) fn may_be_echo(&self, said: &str) -> bool {
        self.position(said).is_some() || self.made_of(Some(said)).is_some()
    }

    /// The prompt for an echo with no words, or with what can be made of ours: the oldest, unless its run is over, since then
    /// it is rather another client's.
    fn made_of(&self, said: Option<&str>) -> Option<usize> {
        let made_of = |prompt: &WaitingPrompt| said.is_none_or(|said| is_made_of(said, &prompt.end));
        self.waiting.iter().position(|prompt| prompt.ends == 0 && made_of(prompt))
    }

    /// The prompt that these words are. One that they are word for word goes before one that they only begin with.
    fn position(&self, said: &str) -> Option<usize> {
        let exact = self.waiting.iter().position(|prompt| repeats(said, prompt.words));
        exact.or_else(|| self.waiting.iter().position(|prompt| begins(said, prompt.words)))
    }

    /// A run ended.
    pub(super) fn run_ended(&mut self) {
        for prompt in &mut self.waiting {
            prompt.ends += 1;
        }
        self.waiting.retain(|prompt| prompt.ends < ENDS);
    }
}

/// A prompt that was not ours.
pub(super) fn others(event: &SessionEvent, words: &str) -> Change {
    block(event, words, None, Vec::new())
}

/// Says that the engine made other words of a prompt.
pub(super) fn changed(event: &SessionEvent, words: &str) -> Change {
    remark(event, format!("The engine changed the prompt: {words}"))
}

/// Says what the engine told its model under the type of a prompt.
pub(super) fn remark(event: &SessionEvent, text: String) -> Change {
    let body = notices::sentence(NoticeLevel::Warning, text);
    Change::put(Lane::Chat, Block { id: format!("n-{}", event.seq), turn: event.turn, seq: event.seq, body })
}

fn block(
    event: &SessionEvent,
    words: &str,
    message_id: Option<String>,
    attachment_ids: Vec<String>,
) -> Change {
    let body = BlockBody::User {
        text: cut::line(words, PROMPT),
        message_id,
        attachment_ids,
        context: Vec::new(),
        context_notes: Vec::new(),
        context_seq: None,
    };
    Change::put(Lane::Chat, Block { id: format!("u-{}", event.seq), turn: event.turn, seq: event.seq, body })
}

/// Whether an engine can have made `said` of a prompt with this end: it leaves out how the prompt began, and puts words of its
/// own around it. Everything else is another client's prompt (breadboard A7).
fn is_made_of(said: &str, end: &str) -> bool {
    let said = said.trim();
    let first = said.split("\n\n").next().unwrap_or_default().trim_end();
    let left = |words: &str| !words.is_empty() && end.ends_with(words);
    left(said) || left(first) || (!end.is_empty() && said.contains(end))
}

/// Whether `said` is how an engine tells of the prompt that was sent.
pub fn is_echo(said: &str, sent: &str) -> bool {
    let sent = Fingerprint::of(sent.trim());
    repeats(said, sent) || begins(said, sent)
}

/// Whether `said` is the sent words, but for space around them and the attachments that the engine names after them.
fn repeats(said: &str, sent: Fingerprint) -> bool {
    let mut said = said.trim();
    loop {
        if Fingerprint::of(said) == sent {
            return true;
        }
        let Some(at) = said.strip_suffix(']').and_then(|said| said.rfind("[Attachment ")) else {
            return false;
        };
        said = said.get(..at).unwrap_or_default().trim_end();
    }
}

/// Whether `said` is the sent words and, after an empty line, what the engine puts behind a prompt: many a configuration
/// has its instructions there.
fn begins(said: &str, sent: Fingerprint) -> bool {
    let rest = sent.rest_of(said.trim()).filter(|_| sent.bytes > 0);
    rest.is_some_and(|rest| {
        let between = rest.len() - rest.trim_start().len();
        rest.get(..between).is_some_and(|space| space.matches('\n').count() >= 2)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r003_37_an_echo_may_have_the_engines_instructions_behind_it() {
        let sent = |text: &str| Fingerprint::of(text.trim());
        for (said, text, same) in [
            ("fix it\n\nBe brief.", "fix it", true),
            ("  fix it \n \nBe brief.", "fix it\n", true),
            ("fix it\n\n[Attachment 1: a -> b]\n\nBe brief.", "fix it", true),
            ("fix it\nBe brief.", "fix it", false),
            ("fix it", "fix it", false),
            ("it\n\nBe brief.", "fix it", false),
            ("Be brief.\n\nBe kind.", "", false),
        ] {
            assert_eq!(begins(said, sent(text)), same, "{said:?} for {text:?}");
        }
    }

    #[test]
    fn r003_37_words_that_cannot_be_made_of_a_prompt_are_another_clients() {
        for (said, ours, made) in [
            ("the bug in prefix", "fix it and the bug in prefix", true),
            ("the plants again\n\nYou are a gardener.", "water the plants again", true),
            ("Task: fix it\nBe brief.", "fix it", true),
            ("from a", "from b", false),
            ("", "from b", false),
            ("from a", "", false),
        ] {
            assert_eq!(is_made_of(said, ours), made, "{said:?} of {ours:?}");
        }
    }

    #[test]
    fn r003_37_an_echo_is_the_prompt_but_for_space_and_named_attachments() {
        let sent = |text: &str| Fingerprint::of(text.trim());
        for (said, text, same) in [
            ("fix it", "  fix it\n", true),
            ("\n fix it\n\n[Attachment 1: a.txt -> x/a.txt]\n[Attachment 2: b]", "fix it", true),
            ("see [Attachment 1: mine]", "see [Attachment 1: mine]", true),
            ("[Attachment 1: a]", "", true),
            ("the bug", "fix the bug", false),
            ("fix it [1]", "fix it", false),
        ] {
            assert_eq!(repeats(said, sent(text)), same, "{said:?} for {text:?}");
        }
    }
}
