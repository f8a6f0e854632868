//! The terminals that we run for an agent, as a tool call shows them: the end of what each printed, and how it ended.
//!
//! Owns the bound of that, and the news that come before a call says that it shows the terminal. Never knows a call.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::domain::cut;
use crate::domain::fact::{TerminalEnd, TerminalNews};

/// Terminals that printed something and that no call shows yet; agents name one within a message or two.
const UNSHOWN: usize = 32;

/// One terminal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ShownTerminal {
    pub(super) id: String,
    /// It was heard of.
    pub(super) began: bool,
    /// The end of what it printed.
    pub(super) tail: String,
    /// Bytes that it printed.
    pub(super) bytes: u64,
    pub(super) end: Option<TerminalEnd>,
}

impl ShownTerminal {
    /// One that nothing is known of.
    pub(super) fn named(id: String) -> Self {
        Self { id, ..Self::default() }
    }

    /// Takes in news; of what was printed the last `most` bytes stay.
    pub(super) fn hear(&mut self, news: &TerminalNews<'_>, most: usize) {
        self.began = true;
        self.bytes += news.skipped + news.printed.len() as u64;
        if news.skipped > 0 {
            self.tail.clear();
        }
        self.tail.push_str(&news.printed);
        if self.tail.len() > most {
            self.tail = cut::end_of_output(&self.tail, most).to_owned();
        }
        if news.end.is_some() {
            self.end.clone_from(&news.end);
        }
    }

    /// Whether more was printed than is kept.
    pub(super) fn is_cut(&self) -> bool {
        self.bytes > self.tail.len() as u64
    }
}

/// Terminals that no call shows, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Unshown(VecDeque<ShownTerminal>);

impl Unshown {
    /// Takes in news of one.
    pub(super) fn hear(&mut self, news: &TerminalNews<'_>, most: usize) {
        if news.began {
            self.0.retain(|terminal| terminal.id != news.id);
        }
        if !self.has(&news.id) {
            if self.0.len() >= UNSHOWN {
                self.0.pop_front();
            }
            self.0.push_back(ShownTerminal::named(news.id.clone()));
        }
        if let Some(terminal) = self.0.iter_mut().find(|terminal| terminal.id == news.id) {
            terminal.hear(news, most);
        }
    }

    /// Whether this one is among them.
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|terminal| terminal.id == id)
    }

    /// A call shows this one now.
    pub(super) fn take(&mut self, id: &str) -> Option<ShownTerminal> {
        let at = self.0.iter().position(|terminal| terminal.id == id)?;
        self.0.remove(at)
    }
}
