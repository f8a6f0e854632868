//! The journal's port: every event is in it before anyone is told.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::domain::approval::PermissionStatus;
use crate::domain::session_search::Said;
use crate::domain::view::Lane;

/// Why the journal did not take or give something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalError {
    /// The disk is full, or a quota or file-size limit is reached.
    Full,
    /// Anything else, in one sentence.
    Failed(String),
    /// Another window works on the session; nothing was written.
    HeldElsewhere,
}

/// A row a batch: events `from_seq..=to_seq` as the text between the brackets of a JSON array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRow {
    /// First event.
    pub from_seq: u64,
    /// Last event.
    pub to_seq: u64,
    /// `{…},{…}`: the events, comma-joined, exactly as they are sent.
    pub events: Vec<u8>,
}

/// One block of a lane as stored. `ord` is its place in the lane, given once, at its first `put`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRow {
    /// Which lane.
    pub lane: Lane,
    /// Its place.
    pub ord: u64,
    /// Its id in the lane.
    pub id: String,
    /// The block as JSON; `None` when it was removed.
    pub block: Option<Vec<u8>>,
}

/// One session as stored; `record` is the loop's own JSON, opaque to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Id of the session.
    pub session_id: String,
    /// Key of the workspace it belongs to.
    pub workspace: String,
    /// Milliseconds since the Unix epoch.
    pub updated_at: i64,
    /// The loop's record.
    pub record: Vec<u8>,
}

/// A settled or waiting ask as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// Ours, unique for ever.
    pub request_id: String,
    /// How it stands.
    pub status: PermissionStatus,
    /// The loop's record of it.
    pub record: Vec<u8>,
}

/// One tab as stored; `record` is the loop's own JSON, opaque to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TabRow {
    /// Id of the tab.
    pub tab_id: String,
    /// Key of the workspace it belongs to.
    pub workspace: String,
    /// The loop's record; `None` when it was closed.
    pub record: Option<Vec<u8>>,
}

/// A change of the steps of a session's open turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepChange {
    /// One more was taken; the loop's own JSON, opaque to the store.
    Taken(Vec<u8>),
    /// The turn is over, or another begins: none is kept.
    Cleared,
}

impl StepChange {
    /// Bytes of its record.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Taken(record) => record.len(),
            Self::Cleared => 0,
        }
    }
}

/// One transaction: all of it is true, or none.
#[derive(Debug, Default)]
pub struct Commit {
    /// Which session; empty when only tabs without one changed.
    pub session_id: String,
    /// Its new row.
    pub session: Option<SessionRow>,
    /// New events.
    pub batch: Option<BatchRow>,
    /// Blocks that changed since the last checkpoint of the view.
    pub blocks: Vec<BlockRow>,
    /// Reducer state of the view and the `seq` at which it stands, with `blocks` the view's checkpoint.
    pub view: Option<(u64, Vec<u8>)>,
    /// Asks that came or were settled.
    pub ledger: Vec<LedgerRow>,
    /// Prompts that were accepted: message id and the answer that was given, as JSON.
    pub prompts: Vec<(String, Vec<u8>)>,
    /// The engine's place of the last event in `batch`, so that a resume never asks past what is written.
    pub cursor: Option<EngineCursor>,
    /// Tabs that changed.
    pub tabs: Vec<TabRow>,
    /// Steps of its turn, in order.
    pub steps: Vec<StepChange>,
}

/// Where an engine's stream stands in the journal: the last event that has a number of the engine's.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EngineCursor {
    /// The engine's own number of the event.
    pub seq: u64,
    /// The engine's resume token of the event, opaque.
    pub id: String,
}

/// Who may write a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// This window, until it lets go of it.
    Ours,
    /// Another window, until it lets go or is gone with everything that it started.
    Elsewhere,
}

/// What a window wants of the one that works on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HolderRequest {
    /// The running turn is to be stopped, as the user said.
    Stop,
    /// The session is wanted, if nothing of it runs.
    Yield,
}

/// What to look for.
pub struct SearchJob {
    /// Ids of the sessions, newest first.
    pub(crate) sessions: Vec<String>,
    /// Words in lower case, each with a letter or a digit; all of them must stand in one prompt or answer.
    pub(crate) words: Vec<String>,
    /// What a stored block says. The store does not read blocks itself.
    pub(crate) reads: fn(&[u8]) -> Option<Said>,
    /// Told once, on any thread.
    pub(crate) done: SearchDone,
}

/// Whoever waits for what was found.
pub(crate) type SearchDone = Box<dyn FnOnce(Result<SearchFound, JournalError>) + Send>;

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchFound {
    /// Session and what was said there, the newest first, a few a session.
    pub(crate) said: Vec<(String, Said)>,
    /// Sessions at the end of the list that were not searched, because there are too many.
    pub(crate) unsearched: usize,
}

/// What other windows changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// The last change that this tells of; asked with it, the next news begin behind it.
    pub at: u64,
    /// Rows of sessions of the workspace that were written since.
    pub changed: Vec<SessionRow>,
    /// Ids of all its sessions that are there.
    pub present: BTreeSet<String>,
    /// Sessions that other windows work on.
    pub elsewhere: BTreeSet<String>,
    /// What is wanted of sessions that this window works on. Each is given until `wish_done`.
    pub wishes: Vec<(String, HolderRequest)>,
}

/// The journal: every event is in it before anyone is told. One database for all windows of a user, which each of them opens.
///
/// What belongs to one session is written by the window that has its lease, and only by that. All methods block briefly, and
/// the loop waits with them. `commit` is atomic and survives `kill -9` (not necessarily a power cut: nothing waits for the disk
/// but the folding of the database's log).
pub trait Journal: Send {
    /// Opaque name of the database; another one, another epoch.
    fn epoch(&self) -> &str;
    /// Opaque name of a session's numbers: a new one whenever a number that may have been told is given anew.
    fn session_epoch(&mut self, _session_id: &str) -> String {
        self.epoch().to_owned()
    }
    /// Takes the lease of a session, if no other window has it. What was read of the session before may be old.
    fn take(&mut self, _session_id: &str) -> Result<Lease, JournalError> {
        Ok(Lease::Ours)
    }
    /// Lets the lease of a session go; everything of it is then where other windows read it.
    fn release(&mut self, _session_id: &str) -> Result<(), JournalError> {
        Ok(())
    }
    /// Puts what waits where other windows read it. Whether anything did.
    fn share(&mut self) -> Result<bool, JournalError> {
        Ok(false)
    }
    /// What other windows changed in a workspace since; `None` when nothing changed. Also takes in what windows left that are
    /// no more. Cheap when there is nothing.
    fn news(&mut self, _workspace: &str, _since: u64) -> Result<Option<News>, JournalError> {
        Ok(None)
    }
    /// Asks the window that works on a session for something.
    fn wish(&mut self, _session_id: &str, _wish: HolderRequest) -> Result<(), JournalError> {
        Ok(())
    }
    /// What was wanted of a session was done, or will not be.
    fn wish_done(&mut self, _session_id: &str) -> Result<(), JournalError> {
        Ok(())
    }
    /// From now on everything is read as it is at this moment, whatever other windows write, until `move_on`. Nothing may be
    /// written meanwhile.
    fn stand_still(&mut self) {}
    /// What is read is the newest again.
    fn move_on(&mut self) {}
    /// At which `seq` the stored view stands, 0 without one.
    fn checkpoint(&mut self, session_id: &str) -> Result<u64, JournalError> {
        Ok(self.view(session_id)?.map_or(0, |(seq, _)| seq))
    }
    /// The state directory; `None` when this window keeps its sessions in memory only.
    fn state_dir(&self) -> Option<PathBuf>;
    /// What had to be done to open the file, and what happened to it since, as sentences for the user (a damaged one set
    /// aside, a directory deleted underneath …). Each is given once; cheap when there is none.
    fn take_warnings(&mut self) -> Vec<String>;
    /// Sessions whose events may be missing since the file was damaged, each with the end of the sentence that its
    /// transcript has yet to say.
    fn losses(&mut self) -> Result<Vec<(String, String)>, JournalError> {
        Ok(Vec::new())
    }
    /// The transcript of this session says it.
    fn loss_recorded(&mut self, _session_id: &str) -> Result<(), JournalError> {
        Ok(())
    }
    /// All sessions of a workspace, newest first.
    fn sessions(&mut self, workspace: &str) -> Result<Vec<SessionRow>, JournalError>;
    /// One session.
    fn session(&mut self, session_id: &str) -> Result<Option<SessionRow>, JournalError>;
    /// Finds what was said in these sessions, beside the loop; the job is told what came of it. Without a file nothing is found.
    fn search(&mut self, job: SearchJob) {
        (job.done)(Ok(SearchFound::default()));
    }
    /// Deletes a session with everything of it.
    fn delete_session(&mut self, session_id: &str) -> Result<(), JournalError>;
    /// Writes one transaction.
    fn commit(&mut self, commit: &Commit) -> Result<(), JournalError>;
    /// Last `seq` of a session, 0 when it has none.
    fn head(&mut self, session_id: &str) -> Result<u64, JournalError>;
    /// Batches that hold events from `from_seq` on, in order, until `max_bytes` are read (at least one batch).
    fn batches(
        &mut self,
        session_id: &str,
        from_seq: u64,
        max_bytes: usize,
    ) -> Result<Vec<BatchRow>, JournalError>;
    /// The newest `limit` blocks of a lane with `ord` below `before`, newest first. Removed ones are not given.
    fn blocks(
        &mut self,
        session_id: &str,
        lane: Lane,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<BlockRow>, JournalError>;
    /// One block by id.
    fn block(&mut self, session_id: &str, lane: Lane, id: &str) -> Result<Option<BlockRow>, JournalError>;
    /// The last checkpoint of the view.
    fn view(&mut self, session_id: &str) -> Result<Option<(u64, Vec<u8>)>, JournalError>;
    /// One ask.
    fn ask(&mut self, session_id: &str, request_id: &str) -> Result<Option<LedgerRow>, JournalError>;
    /// Every ask of a session, in the order in which they came.
    fn asks(&mut self, session_id: &str) -> Result<Vec<LedgerRow>, JournalError>;
    /// The session of the newest ask that is about this patch.
    fn session_of_patch(&mut self, patch_id: &str) -> Result<Option<String>, JournalError>;
    /// Asks of a session that wait.
    fn pending_asks(&mut self, session_id: &str) -> Result<Vec<LedgerRow>, JournalError>;
    /// The steps of its open turn, in the order in which they were taken.
    fn steps(&mut self, session_id: &str) -> Result<Vec<Vec<u8>>, JournalError>;
    /// Where the engine's stream stands; `None` when no event of it has a number.
    fn cursor(&mut self, session_id: &str) -> Result<Option<EngineCursor>, JournalError>;
    /// The answer that an earlier prompt with this message id got.
    fn prompt(&mut self, session_id: &str, message_id: &str) -> Result<Option<Vec<u8>>, JournalError>;
    /// Rules that hold in a workspace, each the loop's own JSON.
    fn rules(&mut self, workspace: &str) -> Result<Vec<Vec<u8>>, JournalError>;
    /// Saves a rule of a workspace, or takes it out (`None`).
    fn set_rule(&mut self, workspace: &str, rule_id: &str, record: Option<&[u8]>)
    -> Result<(), JournalError>;
    /// A tab of a workspace.
    fn tab(&mut self, workspace: &str, tab_id: &str) -> Result<Option<TabRow>, JournalError>;
    /// The spec of a workspace, the loop's own JSON.
    fn spec(&mut self, workspace: &str) -> Result<Option<Vec<u8>>, JournalError>;
    /// Saves the spec of a workspace, or takes it out (`None`).
    fn set_spec(&mut self, workspace: &str, record: Option<&[u8]>) -> Result<(), JournalError>;
    /// Bytes in use; cheap. The file itself may be larger: what was removed leaves room in it.
    fn used_bytes(&mut self) -> Result<u64, JournalError>;
    /// Ids of the sessions of every workspace, the one that was not used for longest first.
    fn oldest_sessions(&mut self) -> Result<Vec<String>, JournalError>;
    /// The first event that is kept: 1, until `remove_events` took the beginning.
    fn first(&mut self, session_id: &str) -> Result<u64, JournalError>;
    /// Removes events from the beginning of a session, one batch at least and about `max_bytes` at most. What comes after
    /// `up_to`, what the view's checkpoint does not hold, and the last batch stay, so `head` and the numbers do too. Gives the
    /// bytes removed; 0 when nothing more may go.
    fn remove_events(&mut self, session_id: &str, up_to: u64, max_bytes: usize) -> Result<u64, JournalError>;
    /// One step of removing a session, about `max_bytes` of it; from the first step on no list shows it. Whether it is gone.
    fn remove_session(&mut self, session_id: &str, max_bytes: usize) -> Result<bool, JournalError>;
    /// The session whose removal was begun, maybe by a process before this one, and is not over.
    fn leaving(&mut self) -> Result<Option<String>, JournalError>;
}

/// Opens a journal once the state directory is known; runs on the loop's thread, after `initialize` was answered.
pub type OpenJournal = Box<dyn FnOnce(Option<&str>) -> Box<dyn Journal> + Send>;
