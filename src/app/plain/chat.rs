//! One chat of an editor without our plugin: what was asked, what came, and how far its document is.
//!
//! Owns the blocks of the running turn. Never sends anything.

use crate::domain::chat_document::{ChatSync, answer_of};
use crate::domain::view::{self, Block, Change, ChangeOp, Lane};

/// Blocks of one turn that are shown. The oldest go first: the whole turn is in the journal.
const BLOCKS: usize = 2_000;

/// How the turn of a chat stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum ChatTurn {
    /// Nothing was asked.
    #[default]
    Idle,
    /// This is to be asked once there is a session.
    Begins(String),
    /// It runs.
    Runs,
    /// It is over, and its document may lag behind.
    Over,
}

/// One chat.
#[derive(Default)]
pub(super) struct PlainChat {
    /// Its session, once there is one.
    pub(super) session_id: Option<String>,
    pub(super) turn: ChatTurn,
    /// How far its document is; `None` where no answer is to be written.
    pub(super) sync: Option<ChatSync>,
    /// Where it was asked, where that is another document.
    pub(super) origin: Option<String>,
    blocks: Vec<Block>,
    /// Why it came to nothing.
    problem: Option<String>,
    /// What its document is to say.
    pub(super) wanted: String,
    /// Whether `wanted` may be out of date.
    stale: bool,
    /// Whether its document is to be looked at again, and when at the latest.
    looked: Looked,
}

/// When a document is looked at again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Looked {
    /// Now.
    #[default]
    Not,
    /// When something changes.
    Until,
    /// At this time, in microseconds.
    At(u64),
}

impl PlainChat {
    /// Something is asked.
    pub(super) fn begin(&mut self, asked: String, sync: Option<ChatSync>) {
        self.turn = ChatTurn::Begins(asked);
        self.sync = sync;
        self.blocks.clear();
        self.problem = None;
        self.wanted.clear();
        self.touch();
    }

    /// It came to nothing, and this is why.
    pub(super) fn fail(&mut self, problem: &str) {
        self.problem = Some(problem.to_owned());
        self.turn = ChatTurn::Over;
        self.touch();
    }

    /// Whether it waits for an answer of its engine.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.turn, ChatTurn::Begins(_) | ChatTurn::Runs)
    }

    /// Changes of its session's view.
    pub(super) fn hears(&mut self, changes: &[Change]) {
        for change in changes.iter().filter(|change| change.lane == Lane::Chat) {
            let at = self.blocks.iter().rposition(|block| block.id == change.id);
            match (change.op, at) {
                (ChangeOp::Put, Some(at)) => {
                    if let Some(block) = &change.block {
                        self.blocks[at] = block.clone();
                    }
                }
                (ChangeOp::Put, None) => view::insert(&mut self.blocks, change),
                (ChangeOp::Append, Some(at)) => {
                    self.blocks[at].append_text(change.text.as_deref().unwrap_or_default());
                }
                (ChangeOp::Remove, Some(at)) => {
                    self.blocks.remove(at);
                }
                (ChangeOp::Append | ChangeOp::Remove, None) => {}
            }
        }
        let over = self.blocks.len().saturating_sub(BLOCKS);
        self.blocks.drain(..over);
        self.touch();
    }

    /// Something changed that its document may have to say, or the document itself.
    pub(super) fn touch(&mut self) {
        (self.stale, self.looked) = (true, Looked::Not);
    }

    /// The user ran a command.
    pub(super) fn commanded(&mut self) {
        if let Some(sync) = &mut self.sync {
            sync.commanded();
            self.looked = Looked::Not;
        }
    }

    /// Makes what the document is to say anew, where that may have changed.
    pub(super) fn refresh(&mut self, waiting: impl Fn(&str) -> Option<String>) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.wanted = answer_of(&self.blocks, waiting);
        if let Some(problem) = &self.problem {
            if !self.wanted.is_empty() {
                self.wanted.push_str("\n\n");
            }
            self.wanted.push_str(&format!("> {}", problem.lines().collect::<Vec<_>>().join(" ")));
        }
    }

    /// Whether its document is to be looked at now.
    pub(super) fn is_due(&self, now_us: u64) -> bool {
        match self.looked {
            Looked::Not => true,
            Looked::Until => false,
            Looked::At(due) => due <= now_us,
        }
    }

    /// It was looked at, and is again at this time.
    pub(super) fn looked(&mut self, due_us: Option<u64>) {
        self.looked = due_us.map_or(Looked::Until, Looked::At);
    }

    /// When it is looked at again.
    pub(super) fn due_us(&self) -> Option<u64> {
        match self.looked {
            Looked::At(due) => Some(due),
            Looked::Not | Looked::Until => None,
        }
    }
}
