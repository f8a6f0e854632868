//! When an editor is sent an edit of a chat document, and which.
//!
//! Owns that only one is under way, that none is sent while the user types, and that an edit counts as made when its text came back
//! as a change of the document: what an editor answers is not believed, since some say yes before they edit, and some say no and
//! edit later. Never sends anything, and knows no editor by name.

use super::sections::ChatText;

/// How long an edit may be under way until it counts as not made, in microseconds.
const LOST_US: u64 = 5_000_000;
/// How long one that was not answered at all may be under way, until it is sent anew: some clients drop what comes right behind an
/// answer that they waited for.
const UNANSWERED_US: u64 = 2_500_000;
/// How often it is sent anew. Whoever asks the user first does not answer either.
const ANEW: u32 = 2;
/// How long the user is left alone after something was typed.
const QUIET_US: u64 = 350_000;
/// Between two edits: each is a step of the editor's undo, and several pieces of an answer fit in one.
const PACE_US: u64 = 120_000;
/// Edits in a row that an editor may refuse because the document had changed; then the user decides when it goes on.
const REFUSED: u32 = 20;
/// Edits that were given up and may be made after all; an editor that makes older ones has a user who sees what it does.
const GIVEN_UP: usize = 8;

/// An edit that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SentEdit {
    /// What the answer in the document says once it is made.
    said: String,
    /// How much of the answer that is.
    wanted: String,
    version: i64,
    sent_us: u64,
    /// The editor said yes.
    answered: bool,
}

/// How far an answer is in its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatSync {
    /// Which answer of the document it is, from 0.
    nth: usize,
    /// The prompt that is written above it, where it was not typed there.
    asked: Option<String>,
    /// Whether the document has room for it.
    begun: bool,
    /// What the document said when it was edited last; `None` once the user changed the answer: then it only grows.
    left: Option<String>,
    /// What of the answer it had then.
    written: String,
    sent: Option<SentEdit>,
    /// Edits that count as not made, and may still come.
    given_up: Vec<SentEdit>,
    /// The editor takes no edits now: the next one waits for a command of the user's.
    held: bool,
    refused: u32,
    /// Whether an edit is for one version only, so that one that comes late does no harm.
    versioned: bool,
    anew: u32,
    changed_us: Option<u64>,
    edited_us: Option<u64>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextEdit {
    /// The document says what it should, or cannot be edited.
    None(ChatWait),
    /// Look again at this time.
    At(u64),
    /// Send an edit that makes this of the document.
    Edit(String),
}

/// Why nothing is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatWait {
    /// It says what it should.
    Level,
    /// For a command of the user's.
    ForCommand,
    /// The user took the place of the answer away.
    Gone,
}

impl ChatSync {
    /// An answer to what the document asks, or to what was `asked` elsewhere.
    pub fn new(document: &ChatText<'_>, asked: Option<String>, versioned: bool) -> Self {
        Self {
            nth: document.answers().count(),
            asked,
            begun: false,
            left: Some(String::new()),
            written: String::new(),
            sent: None,
            given_up: Vec::new(),
            held: false,
            refused: 0,
            versioned,
            anew: 0,
            changed_us: None,
            edited_us: None,
        }
    }

    /// The document changed, by our edit or by the user.
    pub fn changed(&mut self, document: &ChatText<'_>, now_us: u64) {
        let said = document.answer(self.nth).map(|section| document.said(section));
        let is_made = |sent: &SentEdit| said.as_deref() == Some(sent.said.as_str());
        let late = || self.given_up.iter().rev().find(|sent| is_made(sent)).cloned();
        let made = self.sent.as_ref().filter(|sent| is_made(sent)).cloned().or_else(late);
        if let Some(sent) =
            made.filter(|sent| !self.begun || self.left.as_deref() != Some(sent.said.as_str()))
        {
            self.sent = None;
            self.stands(sent.said, sent.wanted);
            (self.begun, self.held, self.refused, self.anew) = (true, false, 0, 0);
            return;
        }
        self.changed_us = Some(now_us);
    }

    /// The editor answered the edit that is under way. Yes says nothing.
    pub fn refused(&mut self, version: i64) {
        let Some(sent) = &self.sent else { return };
        self.refused += 1;
        if version != sent.version && self.refused < REFUSED {
            // The user typed meanwhile; the next one is for what stands there then.
            self.give_up();
        } else {
            self.held = true;
        }
    }

    /// The editor says that it made the edit. That says nothing, but that the edit arrived.
    pub fn accepted(&mut self) {
        if let Some(sent) = &mut self.sent {
            sent.answered = true;
        }
    }

    /// The user ran a command: edits are taken now.
    pub fn commanded(&mut self) {
        if self.held {
            (self.held, self.refused, self.anew) = (false, 0, 0);
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.given_up.extend(self.sent.take());
        let over = self.given_up.len().saturating_sub(GIVEN_UP);
        self.given_up.drain(..over);
    }

    /// Whether the next edit waits for a command of the user's.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Which answer of the document it is, from 0.
    pub fn nth(&self) -> usize {
        self.nth
    }

    /// What comes next, so that the document says `wanted`. `may_edit`: the editor takes edits now.
    pub fn next(&mut self, document: &ChatText<'_>, wanted: &str, may_edit: bool, now_us: u64) -> NextEdit {
        if let Some(sent) = self.sent.as_ref().filter(|_| !self.held) {
            let again = self.versioned && !sent.answered && self.anew < ANEW;
            let lost = sent.sent_us.saturating_add(if again { UNANSWERED_US } else { LOST_US });
            if now_us < lost {
                return NextEdit::At(lost);
            }
            if again {
                self.anew += 1;
                self.give_up();
            } else {
                // It may still come.
                self.held = true;
            }
        }
        if self.held {
            return NextEdit::None(ChatWait::ForCommand);
        }
        let section = document.answer(self.nth);
        let said = section.map(|section| document.said(section).into_owned());
        let (text, said) = match said {
            None if self.begun => return NextEdit::None(ChatWait::Gone),
            None => (document.with_room(self.asked.as_deref()), String::new()),
            Some(said) => {
                let next = self.said_next(&said, wanted);
                if next == said {
                    self.stands(said, wanted.to_owned());
                    self.begun = true;
                    return NextEdit::None(ChatWait::Level);
                }
                let Some(text) = document.with_answer(self.nth, &next) else {
                    return NextEdit::None(ChatWait::Gone);
                };
                (text, next)
            }
        };
        if !may_edit {
            self.held = true;
            return NextEdit::None(ChatWait::ForCommand);
        }
        // Its first edit belongs to the command that the user ran this moment.
        let after = |at: Option<u64>, wait: u64| at.filter(|_| self.begun).map(|at| at.saturating_add(wait));
        let due =
            after(self.changed_us, QUIET_US).max(after(self.edited_us, PACE_US)).filter(|due| *due > now_us);
        if let Some(due) = due {
            return NextEdit::At(due);
        }
        let wanted = if said.is_empty() { String::new() } else { wanted.to_owned() };
        self.sent = Some(SentEdit { said, wanted, version: 0, sent_us: now_us, answered: false });
        self.edited_us = Some(now_us);
        NextEdit::Edit(text)
    }

    /// The version of the document that the edit which was just made is for.
    pub fn sent_for(&mut self, version: i64) {
        if let Some(sent) = &mut self.sent {
            sent.version = version;
        }
    }

    /// The document says this of the answer.
    fn stands(&mut self, said: String, wanted: String) {
        self.left = (said == wanted.trim_matches(['\n', '\r'])).then_some(said);
        self.written = wanted;
    }

    /// What the answer is to say: all that is wanted; where the user changed it, what is there and what is new.
    fn said_next(&self, said: &str, wanted: &str) -> String {
        let wanted = wanted.trim_matches(['\n', '\r']);
        if self.left.as_deref() == Some(said) {
            return wanted.to_owned();
        }
        match wanted.strip_prefix(self.written.trim_matches(['\n', '\r'])) {
            Some(more) => format!("{said}{more}").trim_matches(['\n', '\r']).to_owned(),
            None => said.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An editor that has the document.
    struct Editor {
        text: String,
        version: i64,
        now: u64,
    }

    impl Editor {
        fn new(text: &str) -> Self {
            Self { text: text.to_owned(), version: 1, now: 1_000_000 }
        }

        fn begin(&self) -> ChatSync {
            ChatSync::new(&ChatText::read(&self.text), None, false)
        }

        fn next(&self, sync: &mut ChatSync, wanted: &str) -> NextEdit {
            let next = sync.next(&ChatText::read(&self.text), wanted, true, self.now);
            sync.sent_for(self.version);
            next
        }

        fn has(&mut self, sync: &mut ChatSync, text: String) {
            self.text = text;
            self.version += 1;
            sync.changed(&ChatText::read(&self.text), self.now);
        }

        /// Makes all edits that are due, however long that takes.
        fn run(&mut self, sync: &mut ChatSync, wanted: &str) -> ChatWait {
            loop {
                match self.next(sync, wanted) {
                    NextEdit::Edit(text) => self.has(sync, text),
                    NextEdit::At(due) => self.now = due,
                    NextEdit::None(why) => return why,
                }
            }
        }
    }

    #[test]
    fn an_answer_grows_in_its_place_below_what_was_asked_while_the_next_prompt_is_typed() {
        let mut editor = Editor::new("why?\n");
        let mut sync = editor.begin();
        assert_eq!(editor.run(&mut sync, "Be"), ChatWait::Level);
        assert_eq!(editor.text, "why?\n\n## Agent\n\nBe\n\n## You\n\n");
        // When the user types below it
        let typed = format!("{}next", editor.text);
        editor.has(&mut sync, typed);
        // Then the rest waits until that is quiet, and what was typed stays
        assert_eq!(editor.next(&mut sync, "Because."), NextEdit::At(editor.now + QUIET_US));
        assert_eq!(editor.run(&mut sync, "Because."), ChatWait::Level);
        assert_eq!(editor.text, "why?\n\n## Agent\n\nBecause.\n\n## You\n\nnext");
        // And so does what the user changes in the answer
        let changed = editor.text.replace("Because", "No");
        editor.has(&mut sync, changed);
        assert_eq!(editor.run(&mut sync, "Because. So."), ChatWait::Level);
        assert_eq!(editor.text, "why?\n\n## Agent\n\nNo. So.\n\n## You\n\nnext");
        // And without its place there is nothing to write
        editor.has(&mut sync, "x".to_owned());
        assert_eq!(editor.run(&mut sync, "Because. So. Yes."), ChatWait::Gone);
        assert_eq!(editor.text, "x");
    }

    #[test]
    fn an_edit_is_made_when_its_text_came_back_and_not_when_the_editor_says_so() {
        // Given an editor that said no, as it asks its user first
        let mut editor = Editor::new("why?\n");
        let mut sync = editor.begin();
        let NextEdit::Edit(text) = editor.next(&mut sync, "") else { panic!() };
        sync.refused(editor.version);
        assert!(sync.is_held());
        assert_eq!(editor.next(&mut sync, "A"), NextEdit::None(ChatWait::ForCommand));
        // When the user takes it after all
        editor.has(&mut sync, text);
        // Then it stands there, and the answer goes on
        assert_eq!(editor.run(&mut sync, "A"), ChatWait::Level);
        // And one that says yes and does nothing is asked again when the user runs a command, and not before
        assert!(matches!(editor.next(&mut sync, "AB"), NextEdit::At(_)));
        editor.now += PACE_US;
        assert!(matches!(editor.next(&mut sync, "AB"), NextEdit::Edit(_)));
        assert_eq!(editor.next(&mut sync, "ABC"), NextEdit::At(editor.now + LOST_US), "one at a time");
        editor.now += LOST_US;
        assert_eq!(editor.next(&mut sync, "ABC"), NextEdit::None(ChatWait::ForCommand));
        sync.commanded();
        assert_eq!(editor.run(&mut sync, "ABC"), ChatWait::Level);
    }

    #[test]
    fn an_edit_that_was_not_answered_at_all_is_sent_anew_and_not_for_ever() {
        let mut editor = Editor::new("why?\n");
        let mut sync = ChatSync::new(&ChatText::read(&editor.text), None, true);
        for _ in 0..=ANEW {
            assert!(matches!(editor.next(&mut sync, "A"), NextEdit::Edit(_)));
            editor.now += UNANSWERED_US;
        }
        assert!(matches!(editor.next(&mut sync, "A"), NextEdit::At(_)));
        editor.now += LOST_US;
        assert_eq!(editor.next(&mut sync, "A"), NextEdit::None(ChatWait::ForCommand));
        // And one that arrived is not sent twice
        sync.commanded();
        assert!(matches!(editor.next(&mut sync, "A"), NextEdit::Edit(_)));
        sync.accepted();
        editor.now += UNANSWERED_US;
        assert!(matches!(editor.next(&mut sync, "A"), NextEdit::At(_)));
    }

    #[test]
    fn an_edit_for_an_older_version_is_made_anew_and_not_forever() {
        let mut editor = Editor::new("why?\n");
        let mut sync = editor.begin();
        for _ in 1..REFUSED {
            assert!(matches!(editor.next(&mut sync, "A"), NextEdit::Edit(_)));
            sync.refused(editor.version + 1);
            editor.now += QUIET_US + PACE_US;
        }
        assert!(!sync.is_held());
        assert!(matches!(editor.next(&mut sync, "A"), NextEdit::Edit(_)));
        sync.refused(editor.version + 1);
        assert!(sync.is_held());
    }

    #[test]
    fn without_a_command_nothing_is_sent_to_an_editor_that_takes_edits_from_commands_alone() {
        let editor = Editor::new("why?\n");
        let mut sync = editor.begin();
        let read = ChatText::read(&editor.text);
        assert_eq!(sync.next(&read, "A", false, 0), NextEdit::None(ChatWait::ForCommand));
        sync.commanded();
        assert!(matches!(sync.next(&read, "A", true, 0), NextEdit::Edit(_)));
    }

    proptest! {
        // However an editor refuses, delays or loses edits, and whatever the user types below the answer meanwhile: in the end the
        // document has the whole answer, once, and all that was typed.
        #[test]
        fn the_document_ends_with_the_whole_answer_and_all_that_was_typed(
            steps in prop::collection::vec((0_u8..6, "[a-z]{1,3}"), 1..60),
        ) {
            let mut editor = Editor::new("why?\n");
            let mut sync = editor.begin();
            let (mut wanted, mut typed) = (String::new(), String::new());
            let mut late: Option<(i64, String)> = None;
            for (step, word) in steps {
                editor.now += 50_000;
                match step {
                    0 => wanted.push_str(&word),
                    // Typed at the end.
                    1 if editor.text.contains("## You") => {
                        typed.push_str(&word);
                        let text = format!("{}{word}", editor.text);
                        editor.has(&mut sync, text);
                    }
                    // An edit that comes late is for an older version: refused.
                    2 => if let Some((version, text)) = late.take() {
                        if version == editor.version { editor.has(&mut sync, text) } else { sync.refused(editor.version) }
                    },
                    3 => sync.commanded(),
                    4 => editor.now += LOST_US,
                    _ => if let NextEdit::Edit(text) = editor.next(&mut sync, &wanted) {
                        late = Some((editor.version, text));
                    },
                }
            }
            if let Some((version, text)) = late.take() {
                if version == editor.version { editor.has(&mut sync, text) } else { sync.refused(editor.version) }
            }
            // Whatever is under way is lost, and then the user runs a command.
            for _ in 0..2 {
                editor.now += LOST_US;
                let _ = editor.next(&mut sync, &wanted);
            }
            sync.commanded();
            prop_assert_eq!(editor.run(&mut sync, &wanted), ChatWait::Level);
            let read = ChatText::read(&editor.text);
            prop_assert_eq!(read.answers().count(), 1);
            prop_assert_eq!(read.said(read.answer(0).unwrap()), wanted.as_str());
            prop_assert_eq!(read.prompt().unwrap_or_default(), typed.as_str());
        }
    }
}
