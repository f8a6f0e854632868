//! The parts of a chat document: whose turn it is to speak, and what was said.
//!
//! Owns the two headings and what they part. Never lets an answer look like a prompt: a line of an answer that would be read as
//! a heading is escaped.

use std::borrow::Cow;
use std::ops::Range;

/// Above what the user asks.
const YOU: &str = "## You";
/// Above what the agent answers.
const AGENT: &str = "## Agent";

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The user.
    You,
    /// The agent.
    Agent,
}

/// One part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatSection {
    /// Who speaks.
    pub speaker: Speaker,
    /// Number of the line with the heading, from 0; of the text before the first heading, its first line.
    pub line: usize,
    /// Bytes of what is said, up to the next heading.
    pub body: Range<usize>,
}

/// A chat document, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatText<'a> {
    text: &'a str,
    /// In order. What stands above the first heading is the user's.
    pub sections: Vec<ChatSection>,
}

impl<'a> ChatText<'a> {
    /// Reads a document; every text is one.
    pub fn read(text: &'a str) -> Self {
        let mut sections: Vec<ChatSection> = Vec::new();
        let mut at = 0;
        for (line, piece) in text.split_inclusive('\n').enumerate() {
            let (start, end) = (at, at + piece.len());
            at = end;
            if let Some(speaker) = heading(piece) {
                if let Some(open) = sections.last_mut() {
                    open.body.end = start;
                }
                sections.push(ChatSection { speaker, line, body: end..text.len() });
            } else if sections.is_empty() && !piece.trim().is_empty() {
                sections.push(ChatSection { speaker: Speaker::You, line, body: start..text.len() });
            }
        }
        Self { text, sections }
    }

    /// What a part says, without blank lines around it.
    pub fn said(&self, section: &ChatSection) -> Cow<'a, str> {
        let said = self.text[section.body.clone()].trim_matches(['\n', '\r']);
        if said.contains('\r') { Cow::Owned(said.replace("\r\n", "\n")) } else { Cow::Borrowed(said) }
    }

    /// What the user asks and nobody has answered: the last part, where it says something.
    pub fn prompt(&self) -> Option<Cow<'a, str>> {
        let last = self.sections.last().filter(|section| section.speaker == Speaker::You)?;
        let said = self.said(last);
        let said = match said {
            Cow::Borrowed(said) => Cow::Borrowed(said.trim()),
            Cow::Owned(said) => Cow::Owned(said.trim().to_owned()),
        };
        (!said.is_empty()).then_some(said)
    }

    /// The answers, in order.
    pub fn answers(&self) -> impl Iterator<Item = &ChatSection> {
        self.sections.iter().filter(|section| section.speaker == Speaker::Agent)
    }

    /// The answer that is the nth of the document, from 0.
    pub fn answer(&self, nth: usize) -> Option<&ChatSection> {
        self.answers().nth(nth)
    }

    /// The document with room for an answer behind its prompt, and below it for the next prompt. `asked` is a prompt from
    /// elsewhere, which is written into it first.
    pub fn with_room(&self, asked: Option<&str>) -> String {
        let mut text = match asked {
            Some(asked) => self.with_draft(asked).trim_end().to_owned(),
            None => self.text.trim_end().to_owned(),
        };
        part(&mut text, AGENT);
        text.push('\n');
        text.push_str(YOU);
        text.push_str("\n\n");
        text
    }

    /// The document with a prompt at its end that the user can go on with; what waits there already stays a part of its own.
    pub fn with_draft(&self, draft: &str) -> String {
        let mut text = self.text.trim_end().to_owned();
        let is_waiting = self.sections.last().is_some_and(|last| last.speaker == Speaker::You);
        if is_waiting && self.prompt().is_none() {
            text.push_str("\n\n");
        } else {
            part(&mut text, YOU);
        }
        push_escaped(&mut text, draft.trim());
        text.push_str("\n\n");
        text
    }

    /// The document with another text in its nth answer, from 0. `None`: there is no such answer any more.
    pub(crate) fn with_answer(&self, nth: usize, said: &str) -> Option<String> {
        let section = self.answer(nth)?;
        let (before, after) = (&self.text[..section.body.start], &self.text[section.body.end..]);
        let end = if before.ends_with('\n') { "" } else { "\n" };
        let mut text = format!("{before}{end}\n{said}\n\n");
        if said.is_empty() {
            text.truncate(before.len() + end.len() + 1);
        }
        text.push_str(after);
        Some(text)
    }
}

/// A heading on a line of its own, with a blank line around it.
fn part(text: &mut String, heading: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(heading);
    text.push_str("\n\n");
}

fn heading(line: &str) -> Option<Speaker> {
    match line.trim_end() {
        YOU => Some(Speaker::You),
        AGENT => Some(Speaker::Agent),
        _ => None,
    }
}

/// Adds a text in which no line is a heading. Markdown shows an escaped one as it was written.
pub(super) fn push_escaped(text: &mut String, said: &str) {
    for line in said.split_inclusive('\n') {
        if heading(line.trim_start_matches('\\')).is_some() {
            text.push('\\');
        }
        text.push_str(line);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(text: &str) -> Vec<(Speaker, String)> {
        let read = ChatText::read(text);
        read.sections.iter().map(|section| (section.speaker, read.said(section).into_owned())).collect()
    }

    #[test]
    fn what_is_typed_is_a_prompt_and_what_was_answered_is_none() {
        use Speaker::{Agent, You};
        // Given nothing but a prompt, as a user who knows of no heading types it
        assert_eq!(ChatText::read("\nwhy?\n").prompt().as_deref(), Some("why?"));
        // When there is room for its answer
        let asked = ChatText::read("\nwhy?\n").with_room(None);
        assert_eq!(asked, "\nwhy?\n\n## Agent\n\n\n## You\n\n");
        assert_eq!(ChatText::read(&asked).prompt(), None);
        // And it was answered
        let answered = ChatText::read(&asked).with_answer(0, "Because.\n\nSo it is.").unwrap();
        assert_eq!(answered, "\nwhy?\n\n## Agent\n\nBecause.\n\nSo it is.\n\n## You\n\n");
        // Then what is typed below it is the next prompt, and only that
        let next = format!("{answered}and now?\nplease\n");
        assert_eq!(ChatText::read(&next).prompt().as_deref(), Some("and now?\nplease"));
        assert_eq!(
            parts(&next),
            [
                (You, "why?".to_owned()),
                (Agent, "Because.\n\nSo it is.".to_owned()),
                (You, "and now?\nplease".to_owned())
            ]
        );
        assert_eq!(ChatText::read(&next).with_answer(1, "x"), None);
        // And without a prompt there is none
        for text in ["", "\n\n", "## You\n\n", "a\n## Agent\nb\n", "## You\r\n \r\n"] {
            assert_eq!(ChatText::read(text).prompt(), None, "{text:?}");
        }
    }

    #[test]
    fn a_prompt_from_elsewhere_is_written_below_the_others_or_where_one_is_awaited() {
        for (text, whole) in [
            ("", "## You\n\nask\n\n## Agent\n\n\n## You\n\n"),
            (
                "a\n\n## Agent\n\nb\n\n## You\n\n",
                "a\n\n## Agent\n\nb\n\n## You\n\nask\n\n## Agent\n\n\n## You\n\n",
            ),
            ("half a thought\n", "half a thought\n\n## You\n\nask\n\n## Agent\n\n\n## You\n\n"),
        ] {
            assert_eq!(ChatText::read(text).with_room(Some(" ask\n")), whole);
        }
    }

    #[test]
    fn line_ends_of_windows_are_read_as_others() {
        let text = "why?\r\n\r\n## Agent\r\n\r\na\r\nb\r\n\r\n## You\r\n\r\nnext\r\n";
        assert_eq!(ChatText::read(text).prompt().as_deref(), Some("next"));
        assert_eq!(parts(text)[1], (Speaker::Agent, "a\nb".to_owned()));
    }

    proptest! {
        // Whatever is answered stays one answer, whole, and no word of it becomes a prompt.
        #[test]
        fn no_answer_is_read_as_a_prompt(
            lines in prop::collection::vec("(## You|## Agent|\\\\## You|\\\\\\\\## Agent *|## You\r|[a-z# ]{0,9})", 0..9),
            asked in "[a-z ]{1,9}[a-z]",
        ) {
            let mut escaped = String::new();
            push_escaped(&mut escaped, &lines.join("\n"));
            let said = escaped.trim_matches(['\n', '\r']).to_owned();
            let room = ChatText::read("").with_room(Some(&asked));
            let whole = ChatText::read(&room).with_answer(0, &said).unwrap();
            let read = ChatText::read(&whole);
            prop_assert_eq!(read.sections.len(), 3);
            prop_assert_eq!(read.said(&read.sections[0]), asked.trim());
            prop_assert_eq!(read.said(&read.sections[1]), said.replace("\r\n", "\n"));
            prop_assert_eq!(read.prompt(), None);
            // And an answer that is replaced leaves nothing of the one before
            let again = read.with_answer(0, "x").unwrap();
            prop_assert_eq!(again, ChatText::read(&room).with_answer(0, "x").unwrap());
        }

        // Reading never fails, and the parts are the document.
        #[test]
        fn every_text_is_a_chat(text in "(?s).{0,200}") {
            let read = ChatText::read(&text);
            let _ = (read.prompt(), read.with_room(Some("x")), read.with_answer(0, "y"));
            for section in &read.sections {
                prop_assert!(text.get(section.body.clone()).is_some());
            }
        }
    }
}
