//! The workspace edge's part in what turns change: it looks at the files, keeps what they held, and takes turns back.

use super::super::client::ClientId;
use super::{BackgroundRun, CommandRan};
use crate::app::inbox::Reply;
use crate::domain::undo::TurnRecord;
use crate::protocol::turn::{
    TurnChangesParams, TurnChangesResult, TurnListResult, TurnRevertParams, TurnRevertResult,
    TurnReviewParams, TurnReviewResult,
};

/// A job about what turns change. They are done one after the other, in the order in which they were given.
#[derive(Debug)]
pub enum TurnJob {
    /// A turn begins: from here on its changes are kept.
    Begin {
        /// The turn.
        turn: TurnOpened,
        /// Answered once what is watched was looked at; the engine may begin then.
        ready: Reply<()>,
    },
    /// A command is about to run in a turn: what it may change is looked at first; reports `TurnJobDone::MayRun`.
    BeforeCommand {
        /// Id of the session.
        session_id: String,
        /// The command.
        held: HeldCommand,
    },
    /// An edit goes to an editor.
    Edited {
        /// Id of the session.
        session_id: String,
        /// Name of the root; `None` for the first.
        root: Option<String>,
        /// Relative to it.
        path: String,
        /// The text that is replaced.
        before: String,
        /// The new text.
        after: String,
    },
    /// An editor said that the user saved a file; whether in a turn is the edge's to know.
    Saved {
        /// As the editor spells it.
        uri: String,
    },
    /// A turn is over; reports `TurnJobDone::Ended` where it changed something.
    End {
        /// Id of the session.
        session_id: String,
    },
    /// Answers `bb/turn/list`.
    List {
        /// Id of the session.
        session_id: String,
        /// Most of them.
        limit: usize,
        /// Where the answer goes.
        reply: Reply<TurnListResult>,
    },
    /// Answers `bb/turn/changes`.
    Changes {
        /// Id of the session.
        session_id: String,
        /// As they came.
        params: TurnChangesParams,
        /// Where the answer goes.
        reply: Reply<TurnChangesResult>,
    },
    /// Says what taking back would do; answers `bb/turn/revert` of a preview, else reports `TurnJobDone::Planned`.
    Plan(Box<TurnRevert>),
    /// Takes back what was planned, but for files that are open in an editor; reports `TurnJobDone::TakenBack`.
    TakeBack {
        /// What was planned.
        revert: Box<TurnRevert>,
        /// `seq` of the event that tells of it.
        named: u64,
        /// When, in milliseconds since the Unix epoch.
        at: i64,
    },
    /// Some of a revert could not be written in an editor: it is no change of it.
    NotTakenBack {
        /// Id of the session.
        session_id: String,
        /// The revert.
        named: u64,
        /// Name of the root.
        root: String,
        /// The file.
        path: String,
    },
    /// Tells how a turn's files stand, for the event that tells of it; reports `TurnJobDone::Told`.
    Tell {
        /// Id of the session.
        session_id: String,
        /// The turn.
        turn: u64,
    },
    /// Answers `bb/turn/review`; reports `TurnJobDone::Told`.
    Review {
        /// Id of the session.
        session_id: String,
        /// As they came.
        params: TurnReviewParams,
        /// Where the answer goes.
        reply: Reply<TurnReviewResult>,
    },
    /// A session is gone, and what was kept of it goes too.
    Forget {
        /// Id of the session.
        session_id: String,
    },
}

/// A turn that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnOpened {
    /// Id of the session.
    pub session_id: String,
    /// `seq` of its prompt.
    pub turn: u64,
    /// Its number in the session.
    pub number: u64,
    /// Milliseconds since the Unix epoch.
    pub at: i64,
    /// First line of the prompt.
    pub text: String,
    /// When the files are looked at.
    pub watch: TurnWatch,
}

/// When the files of a turn are looked at for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnWatch {
    /// Before the engine begins: it writes by itself.
    AtOnce,
    /// Before the first command: until then everything is written by us.
    BeforeCommands,
}

/// A command that runs once the files were looked at.
#[derive(Debug)]
pub struct HeldCommand {
    /// One line for the shell.
    pub command: String,
    /// Relative to the first root.
    pub cwd: String,
    /// The call of our own engine that wants it.
    pub call_id: Option<String>,
    /// How it runs in the background, where it does.
    pub background: Option<BackgroundRun>,
    /// Where the result goes.
    pub reply: Reply<CommandRan>,
}

/// A revert on its way.
#[derive(Debug)]
pub struct TurnRevert {
    /// The client that wants it.
    pub client: ClientId,
    /// Id of the session.
    pub session_id: String,
    /// What is wanted.
    pub params: TurnRevertParams,
    /// What comes of each file; made by the plan.
    pub files: Vec<RevertedFile>,
    /// The changes that it makes; made by the plan.
    pub record: Option<TurnRecord>,
    /// Where the answer goes.
    pub reply: Reply<TurnRevertResult>,
}

/// A file of a revert.
#[derive(Debug, Clone, PartialEq)]
pub struct RevertedFile {
    /// As it is told.
    pub told: crate::protocol::turn::TurnRevertFile,
    /// Name of its root.
    pub root: String,
    /// Relative to it.
    pub path: String,
    /// The new text of a file that is open in an editor, and the text that it is made from.
    pub in_editor: Option<(String, String)>,
}

/// A turn job that the loop wants to hear about.
#[derive(Debug)]
pub enum TurnJobDone {
    /// The files were looked at before a command.
    MayRun {
        /// Id of the session.
        session_id: String,
        /// The command.
        held: HeldCommand,
    },
    /// A turn is over and changed something.
    Ended {
        /// Id of the session.
        session_id: String,
        /// What it changed.
        told: TurnTold,
    },
    /// A revert is planned, and something is to be done.
    Planned(Box<TurnRevert>),
    /// A revert is done on disk. What is left is open in editors.
    TakenBack {
        /// It.
        revert: Box<TurnRevert>,
        /// `seq` of the event that told of it.
        named: u64,
    },
    /// How the files of a turn stand.
    Told {
        /// Id of the session.
        session_id: String,
        /// Files of the turn, and how each stands.
        told: TurnTold,
    },
}

/// What an event tells of a turn's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnTold {
    /// The turn.
    pub turn: u64,
    /// Its number in the session, as events have it.
    pub number: Option<u64>,
    /// The turn that was taken back, of a revert.
    pub of: Option<u64>,
    /// Its files.
    pub files: Vec<crate::domain::fact::ChangedFileSummary>,
    /// What cannot be taken back.
    pub uncovered: u64,
}
