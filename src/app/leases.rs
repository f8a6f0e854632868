//! Sessions among windows: who works on one, what others changed, and what they want.
//!
//! Owns the leases of this window as the loop knows them, the look at the journal for what other windows did, and the copy in
//! memory of a session that may have become old. Never decides what a request means: it says whether a session may be changed
//! here. Tests: `tests/windows`, `store::tests::sharing`.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::client::ClientId;
use super::inbox::EditorReply;
use super::live::{LinkState, Live};
use super::on_request::{held_elsewhere, journal_failed};
use super::ports::{BatchRow, EngineCall, HolderRequest, JournalError, Lease, News};
use super::record::Record;
use super::state::{App, Session};
use super::subscription::{EventFlow, ViewCopy};
use crate::domain::event::SessionEvent;
use crate::protocol::{ErrorCode, Request, WireError};

/// Between two looks for what other windows did, in microseconds. A session that another window works on is to be seen here
/// within two seconds: its events wait there for so long at most, and are read here after as long again. A look costs some
/// microseconds when nothing changed.
const LOOK_US: u64 = 400_000;

/// How long a request waits for a window that has a session but does nothing with it, in microseconds: some looks of both.
const YIELD_US: u64 = 2_000_000;

/// Requests that wait so. A user has a few windows; past it the answer is `conflict` at once.
const WAITING: usize = 64;

/// Bytes of events that are read at a time from what another window wrote.
const READ_BYTES: usize = 1 << 20;

/// What this window knows of leases.
#[derive(Default)]
pub(super) struct Leases {
    /// Sessions that this window works on.
    pub(super) ours: BTreeSet<String>,
    /// Sessions that another one works on.
    pub(super) elsewhere: BTreeSet<String>,
    /// The last change of other windows that is known here.
    at: u64,
    /// When the next look is due, on the clock of the batchers; `None` without a journal that others share.
    due_us: Option<u64>,
    /// Requests that wait for another window to let go of an idle session.
    waiting: Vec<Waiting>,
}

/// A request that waits for another window.
struct Waiting {
    client: ClientId,
    request: Request,
    reply: EditorReply,
    /// When it is given up, on the clock of the batchers.
    due_us: u64,
}

impl Leases {
    /// A client left; nobody hears what its requests come to.
    pub(super) fn forget_requests_of(&mut self, client: ClientId) {
        self.waiting.retain(|waiting| waiting.client != client);
    }
}

/// What tells whether a record is the one that was read or written last.
pub(in crate::app) fn digest(record: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    record.hash(&mut hasher);
    hasher.finish()
}

impl App {
    /// Before a session is changed: its lease is this window's, and the copy in memory is the newest there is.
    pub(super) fn hold(&mut self, session_id: &str) -> Result<(), WireError> {
        if self.leases.ours.contains(session_id) {
            return Ok(());
        }
        self.meet(session_id);
        self.known(session_id)?;
        match self.journal()?.take(session_id) {
            Ok(Lease::Ours) => {}
            Ok(Lease::Elsewhere) => {
                self.state_changed |= self.leases.elsewhere.insert(session_id.to_owned());
                return Err(held_elsewhere());
            }
            // Nobody else could write that it is theirs, either; it is kept in memory until the disk takes it.
            Err(JournalError::Full) if !self.leases.elsewhere.contains(session_id) => {}
            Err(error) => return Err(journal_failed(&error)),
        }
        self.state_changed |= self.leases.elsewhere.remove(session_id);
        self.leases.ours.insert(session_id.to_owned());
        self.renew(session_id)
    }

    /// A session that is not known here may be one that another window made just now.
    pub(super) fn meet(&mut self, session_id: &str) {
        if !self.sessions.contains_key(session_id) {
            self.read_news();
        }
    }

    /// Reads the record of a session anew, and all of it where another window went on with it.
    fn renew(&mut self, session_id: &str) -> Result<(), WireError> {
        let failed = |error| journal_failed(&error);
        let row = self.journal()?.session(session_id).map_err(failed)?;
        let head = self.journal()?.head(session_id).map_err(failed)?;
        let epoch = self.journal()?.session_epoch(session_id);
        let session = self.known(session_id)?;
        match row {
            None if session.saved.is_some() => {
                self.leases.ours.remove(session_id);
                let _ = self.journal()?.release(session_id);
                self.session_gone(session_id);
                return Err(WireError::unknown_session(session_id));
            }
            None => {}
            Some(row) => self.take_record(session_id, &row.record),
        }
        let waits = self.backlog.commits.iter().any(|commit| commit.session_id == session_id);
        let old = self.live_mut(session_id).is_some_and(|live| live.flushed != head || live.epoch != epoch);
        if old && !waits {
            self.reload(session_id);
            // An agent that has it open does not know what was said elsewhere.
            self.call_engine(session_id, EngineCall::Forget { session_id: session_id.to_owned() });
        }
        // What was read of the other window, and not told yet, is not looked at any more once the session is ours.
        self.catch_up_all(session_id);
        if let Ok(record) = self.record_of(session_id)
            && !record.turn.is_open()
            && !record.queue.items().is_empty()
        {
            // Nothing runs, so nothing would take the next prompt: the user decides when it goes on.
            record.queue.pause();
        }
        Ok(())
    }

    fn record_of(&mut self, session_id: &str) -> Result<&mut Record, WireError> {
        match self.sessions.get_mut(session_id) {
            Some(session) => Ok(&mut session.record),
            None => Err(WireError::unknown_session(session_id)),
        }
    }

    /// A record as another window wrote it, if it is not the one that is known.
    fn take_record(&mut self, session_id: &str, bytes: &[u8]) {
        let saved = Some(digest(bytes));
        if self.sessions.get(session_id).is_some_and(|session| session.saved == saved) {
            return;
        }
        let record = match serde_json::from_slice::<Record>(bytes) {
            Ok(record) => record,
            Err(error) => {
                tracing::warn!(%error, session = session_id, "a session's record cannot be read");
                return;
            }
        };
        let waits = |message_id: &str| record.queue.items().iter().any(|item| item.message_id == message_id);
        self.clients.prompters.keep(session_id, &record.turn, waits);
        match self.sessions.get_mut(session_id) {
            Some(session) => (session.record, session.saved) = (record, saved),
            None => {
                self.sessions.insert(session_id.to_owned(), Session { record, live: None, saved });
            }
        }
        self.state_changed = true;
    }

    /// Of a session that another window works on: reads it anew where its blocks in the journal are newer than the copy in
    /// memory. Whether that was so.
    pub(super) fn renew_copy(&mut self, session_id: &str) -> bool {
        if self.leases.ours.contains(session_id) {
            return false;
        }
        let stored = self.journal.as_mut().and_then(|journal| journal.checkpoint(session_id).ok());
        let known = self.live_mut(session_id).map(|live| live.checkpoint.seq);
        stored.is_some() && known.is_some() && stored != known && self.reload_copy(session_id)
    }

    /// Reads a session that is in memory anew. Clients are told what they have not got: events one by one, the view whole.
    pub(super) fn reload(&mut self, session_id: &str) {
        if self.reload_copy(session_id) && self.clients.followers(session_id).next().is_some() {
            self.tabs_anew(session_id);
            self.catch_up_all(session_id);
        }
    }

    /// The same, without telling anybody yet. Whether it could be read.
    fn reload_copy(&mut self, session_id: &str) -> bool {
        let Some(mut old) = self.sessions.get_mut(session_id).and_then(|session| session.live.take()) else {
            return false;
        };
        if self.load(session_id).is_err() {
            if let Some(session) = self.sessions.get_mut(session_id) {
                session.live = Some(old);
            }
            return false;
        }
        let Some(live) = self.live_mut(session_id) else { return false };
        let (flushed, same_epoch) = (live.flushed, live.epoch == old.epoch);
        live.tabs = std::mem::take(&mut old.tabs);
        live.link = std::mem::replace(&mut old.link, LinkState::Detached);
        for follows in self.clients.followers_mut(session_id) {
            let next_seq = follows.sent_up_to(old.flushed) + 1;
            let goes_on = same_epoch && next_seq <= flushed;
            follows.events = if goes_on { EventFlow::Behind { next_seq } } else { EventFlow::Direct };
            follows.view = ViewCopy::Stale;
        }
        true
    }

    /// After each event: sessions that nothing is done with any more are free for other windows.
    pub(super) fn let_go(&mut self) {
        let idle: Vec<String> = self.leases.ours.iter().filter(|id| self.is_idle(id)).cloned().collect();
        for session_id in idle {
            let Some(journal) = self.journal.as_mut() else { return };
            match journal.release(&session_id) {
                Ok(()) => {
                    self.leases.ours.remove(&session_id);
                }
                // It stays ours until the disk takes it.
                Err(error) => tracing::debug!(?error, "a session could not be let go of"),
            }
        }
    }

    /// Whether nothing of a session is under way here.
    fn is_idle(&self, session_id: &str) -> bool {
        let Some(session) = self.sessions.get(session_id) else { return true };
        let rests = |live: &Live| {
            live.asks.is_empty()
                && live.batcher.due_us().is_none()
                && live.head == live.flushed
                && live.ledger.is_empty()
                && live.prompts.is_empty()
                && live.tabs.is_empty()
                && !live.record_changed
                && live.held.is_empty()
                && matches!(live.link, LinkState::Detached | LinkState::Over(_))
        };
        !session.record.turn.is_open()
            && session.live.as_deref().is_none_or(rests)
            && !self.clients.is_selected(session_id)
            && !self.backlog.commits.iter().any(|commit| commit.session_id == session_id)
    }

    /// Begins to look for what other windows do.
    pub(super) fn begin_looking(&mut self) {
        self.read_news();
        if self.journal.as_ref().is_some_and(|journal| journal.state_dir().is_some()) {
            self.leases.due_us = Some(self.now_us() + LOOK_US);
        }
    }

    /// When the next look is due, on the clock of the batchers.
    pub(super) fn look_due_us(&self) -> Option<u64> {
        self.leases.due_us
    }

    /// Looks, when it is time: what waits here is shown to the others, and what they did is read.
    pub(super) fn look_at_others(&mut self) {
        let now = self.now_us();
        if self.leases.due_us.is_none_or(|due| due > now) || self.closing {
            return;
        }
        self.leases.due_us = Some(now + LOOK_US);
        if let Some(journal) = self.journal.as_mut()
            && let Err(error) = journal.share()
        {
            // It waits on, and is tried with every event too.
            tracing::debug!(?error, "events could not be shared with other windows");
        }
        self.read_news();
        self.try_again(now);
    }

    /// Reads what other windows changed, and does what they want.
    pub(super) fn read_news(&mut self) {
        let workspace = self.workspace.key.clone();
        let at = self.leases.at;
        let news = match self.journal.as_mut().map(|journal| journal.news(&workspace, at)) {
            Some(Ok(Some(news))) => news,
            Some(Err(error)) => {
                tracing::debug!(?error, "what other windows did could not be read");
                return;
            }
            Some(Ok(None)) | None => return,
        };
        let News { at, changed, present, elsewhere, wishes } = news;
        self.leases.at = at;
        let gone = self.sessions.iter().filter(|(id, session)| {
            session.saved.is_some() && !present.contains(*id) && !self.leases.ours.contains(*id)
        });
        for session_id in gone.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.session_gone(&session_id);
        }
        for row in changed {
            if !self.leases.ours.contains(&row.session_id) {
                self.take_record(&row.session_id, &row.record);
            }
        }
        if self.leases.elsewhere != elsewhere {
            self.leases.elsewhere = elsewhere;
            self.state_changed = true;
        }
        let others = |id: &String| !self.leases.ours.contains(id);
        for session_id in self.loaded.iter().filter(|id| others(id)).cloned().collect::<Vec<_>>() {
            self.tail(&session_id);
        }
        for (session_id, wish) in wishes {
            self.grant(&session_id, wish);
        }
        // One that was taken back elsewhere allows nothing here.
        self.read_rules();
        self.say_of_journal();
        self.record_losses();
        self.take_over();
    }

    /// Turns that nobody works on: the window that began them is gone.
    pub(super) fn take_over(&mut self) {
        let free = |id: &str| !self.leases.ours.contains(id) && !self.leases.elsewhere.contains(id);
        let open = self.sessions.iter().filter(|(id, session)| session.record.turn.is_open() && free(id));
        for session_id in open.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            if self.hold(&session_id).is_ok() {
                self.settle_left(&session_id);
            }
        }
    }

    /// Another window works, or worked, on this session: reads on from what is known here.
    fn tail(&mut self, session_id: &str) {
        let Some(journal) = self.journal.as_mut() else { return };
        let stand = journal.head(session_id).and_then(|head| Ok((head, journal.checkpoint(session_id)?)));
        let epoch = journal.session_epoch(session_id);
        let Ok((head, checkpoint)) = stand else { return };
        let Some(live) = self.live_mut(session_id) else { return };
        if live.epoch != epoch || live.head != live.flushed {
            return self.reload(session_id);
        }
        self.catch_up_all(session_id);
        let Some(live) = self.live_mut(session_id) else { return };
        if live.flushed == head {
            return;
        }
        if live.checkpoint.seq != checkpoint {
            // Its blocks in the journal are newer than what is in memory is made from.
            self.reload(session_id);
        } else {
            self.read_on(session_id, head);
        }
        self.state_changed = true;
    }

    /// Reduces the events up to `head`, and tells them.
    fn read_on(&mut self, session_id: &str, head: u64) {
        let Some(journal) = self.journal.as_mut() else { return };
        journal.stand_still();
        let told = self.reduce_stored(session_id, head);
        if let Some(journal) = self.journal.as_mut() {
            journal.move_on();
        }
        match told {
            Some(told) => self.tell(session_id, &told),
            // Its blocks in the journal are newer than what is in memory is made from.
            None => self.reload(session_id),
        }
    }

    /// Reduces the events up to `head`, as long as the view here and the one in the journal stand at the same checkpoint.
    fn reduce_stored(&mut self, session_id: &str, head: u64) -> Option<Vec<BatchRow>> {
        let checkpoint = self.journal.as_mut()?.checkpoint(session_id).ok()?;
        if self.live_mut(session_id)?.checkpoint.seq != checkpoint {
            return None;
        }
        let mut told: Vec<BatchRow> = Vec::new();
        while let Some(from) =
            self.live_mut(session_id).map(|live| live.head + 1).filter(|from| *from <= head)
        {
            let rows = self.stored_batches(session_id, from, READ_BYTES);
            let live = self.sessions.get_mut(session_id)?.live.as_deref_mut()?;
            for row in rows {
                let row = super::journalling::from_seq_on(row, live.head + 1);
                for text in super::journalling::split(&row) {
                    let Ok(event) = serde_json::from_str::<SessionEvent>(text.get()) else { continue };
                    let changes = live.view.apply(&event);
                    super::deliver::absorb(self.journal.as_mut(), session_id, live, &changes);
                    live.changes.extend(changes);
                    live.head = event.seq;
                }
                told.push(row);
            }
            if live.head < from {
                // The journal cannot give them now; the next look tries again.
                break;
            }
        }
        let asks = self.journal.as_mut()?.pending_asks(session_id).ok()?;
        let live = self.live_mut(session_id)?;
        live.flushed = live.head;
        live.asks = super::stored_session::asks_of(asks);
        Some(told)
    }

    /// A session is not there any more: another window deleted it, or removed it when the journal had reached its size.
    pub(super) fn session_gone(&mut self, session_id: &str) {
        self.clients.forget_session(session_id);
        self.call_engine(session_id, EngineCall::Forget { session_id: session_id.to_owned() });
        self.sessions.remove(session_id);
        self.loaded.remove(session_id);
        self.leases.elsewhere.remove(session_id);
        self.tab_session_gone(session_id);
        self.state_changed = true;
    }

    /// Does what another window wants of a session that this one works on.
    fn grant(&mut self, session_id: &str, wish: HolderRequest) {
        match wish {
            HolderRequest::Stop => {
                if let Err(error) = self.stop(session_id) {
                    tracing::warn!(message = error.message, "a turn could not be stopped for another window");
                }
            }
            HolderRequest::Yield => {
                let idle = self.known(session_id).is_ok_and(|session| !session.record.turn.is_open());
                if idle && let Some(live) = self.live_mut(session_id).filter(|live| live.asks.is_empty()) {
                    // Only its stream is open.
                    live.link = LinkState::Detached;
                    self.call_engine(session_id, EngineCall::Forget { session_id: session_id.to_owned() });
                    self.release(session_id);
                    self.flush(session_id);
                }
            }
        }
        if let Some(journal) = self.journal.as_mut()
            && let Err(error) = journal.wish_done(session_id)
        {
            tracing::debug!(?error, "a wish of another window stays noted");
        }
    }

    /// Before a request that changes a session is done. `None`: it was answered, or waits.
    pub(super) fn may_change(
        &mut self,
        client: ClientId,
        request: Request,
        reply: EditorReply,
    ) -> Option<(Request, EditorReply)> {
        let Some(session_id) = self.changes(&request) else { return Some((request, reply)) };
        let Err(error) = self.hold(&session_id) else { return Some((request, reply)) };
        match error.code {
            ErrorCode::Conflict => {}
            // Whoever does the request says so, in its order.
            ErrorCode::UnknownSession => return Some((request, reply)),
            _ => {
                reply.refuse(error);
                return None;
            }
        }
        let idle = self.known(&session_id).is_ok_and(|session| !session.record.turn.is_open());
        if !idle || self.leases.waiting.len() >= WAITING {
            reply.refuse(error);
            return None;
        }
        // It is only open there.
        match self.journal.as_mut().map(|journal| journal.wish(&session_id, HolderRequest::Yield)) {
            Some(Ok(())) => {
                let due_us = self.now_us() + YIELD_US;
                self.leases.waiting.push(Waiting { client, request, reply, due_us });
            }
            Some(Err(_)) | None => reply.refuse(error),
        }
        None
    }

    /// Requests that wait for another window, once more.
    fn try_again(&mut self, now: u64) {
        for waiting in std::mem::take(&mut self.leases.waiting) {
            if waiting.reply.is_abandoned() {
                continue;
            }
            let held = self.changes(&waiting.request).map_or(Ok(()), |session_id| self.hold(&session_id));
            match held {
                Err(error) if error.code == ErrorCode::Conflict && waiting.due_us > now => {
                    self.leases.waiting.push(waiting);
                }
                Err(error) if error.code == ErrorCode::Conflict => waiting.reply.refuse(error),
                Ok(()) | Err(_) => self.on_request(waiting.client, waiting.request, waiting.reply),
            }
        }
    }

    /// The session that a request changes. A stop is not among them: it is passed on.
    fn changes(&self, request: &Request) -> Option<String> {
        match request {
            Request::SendMessage(params) => Some(params.session_id.clone()),
            Request::DeleteSession(params) => Some(params.session_id.clone()),
            Request::Command(params) => Some(params.session_id.clone()),
            Request::Rebuild(params) => Some(params.session_id.clone()),
            Request::QueueEdit(params) => params.session_id.clone(),
            Request::QueueMove(params) => params.session_id.clone(),
            Request::QueueRemove(params) => params.session_id.clone(),
            Request::QueueResume(params) => params.session_id.clone(),
            Request::ApprovePermission(params) => params.session_id.clone(),
            Request::AttachmentPut(params) => params.session_id.clone(),
            Request::TabPrompt(params) => self.tabs.session_shown(&params.tab_id),
            Request::Init(_)
            | Request::CreateSession(_)
            | Request::ListSessions(_)
            | Request::SelectSession(_)
            | Request::Stop(_)
            | Request::QueueList(_)
            | Request::PermissionList(_)
            | Request::PermissionGet(_)
            | Request::PermissionRevoke(_)
            | Request::ListFiles(_)
            | Request::ReadFileSnippet(_)
            | Request::OpenDiff(_)
            | Request::TextDocument(_)
            | Request::DownloadArtifact(_)
            | Request::EventsRead(_)
            | Request::EventBody(_)
            | Request::ViewPage(_)
            | Request::TabOpen(_)
            | Request::TabStop(_)
            | Request::TabClose(_)
            | Request::TabVisibility(_)
            | Request::TabDetach(_)
            | Request::TabAttach(_)
            | Request::TabAck(_)
            | Request::SessionInfo(_)
            | Request::AgentRestart(_)
            | Request::CreateSpecReady(_)
            | Request::CreateSpecAutosave(_)
            | Request::CreateSpecSubmit(_)
            | Request::CreateSpecCloseAttempt(_)
            | Request::CreateSpecDiscard(_)
            | Request::CreateSpecImportMarkdown(_)
            | Request::CreateSpecAttachImages(_)
            | Request::ModelsList(_)
            | Request::ModelsSet(_)
            | Request::SetCredentials(_) => None,
        }
    }

    /// Passes a stop on to the window that works on a session. Whether there is a turn to stop.
    pub(super) fn pass_stop_on(&mut self, session_id: &str) -> Result<bool, WireError> {
        self.journal()?.wish(session_id, HolderRequest::Stop).map_err(|error| journal_failed(&error))?;
        Ok(self.known(session_id)?.record.turn.is_open())
    }

    /// Whether what an engine says of a session may be taken in here.
    pub(super) fn may_record(&mut self, session_id: &str) -> bool {
        if self.leases.ours.contains(session_id) || !self.sessions.contains_key(session_id) {
            return true;
        }
        match self.hold(session_id) {
            Ok(()) => true,
            Err(error) => {
                // The window that works on it hears its engine itself.
                tracing::debug!(
                    session_id,
                    message = error.message,
                    "an engine's report is not taken in here"
                );
                false
            }
        }
    }
}
