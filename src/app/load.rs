//! From the journal into memory: all sessions at the start, one session when it is used.
//!
//! Owns recovery: what was open when the last process ended is settled here, once, and said.

use super::client::{Client, ClientId};
use super::inbox::StartUp;
use super::leases::digest;
use super::live::Live;
use super::on_request::{journal_failed, secrets_of_servers};
use super::ports::{EngineCall, Secret};
use super::record::{Record, Settler};
use super::sessions::Session;
use super::state::{App, Batching, Unopened, Workspace};
use super::stored_session::StoredSession;
use super::turn::TurnState;
use crate::domain::approval::PermissionStatus;
use crate::domain::coded_error::CodedError;
use crate::domain::event::{EventClass, LocalKind, NormalizedEvent, SessionEvent};
use crate::domain::policy::settings_secrets::MOST;
use crate::domain::remedy::Remedy;
use crate::domain::sentence::sentence;
use crate::protocol::settings::{DeliverySetting, EngineKind, Settings};

/// Bytes read at a time when events after the checkpoint are reduced again.
const REPLAY_BYTES: usize = 1 << 20;

/// Events after a turn's end that may stand before the note that it is over: asks that were settled with it.
const LAST_EVENTS: u64 = 128;

impl App {
    /// `initialize`: of the first client, which opens the workspace, or of one that joins it.
    pub(super) fn start_up(&mut self, id: ClientId, start: StartUp) {
        // First of all: whatever is written or said from here on may quote them.
        let of_flags = secrets_of_servers(&start.overrides.mcp_servers);
        self.hide(start.secrets.iter().chain(of_flags.iter()).map(|secret| Secret(secret.to_owned())));
        let Some(client) = self.clients.get_mut(id) else { return };
        client.encoding = start.encoding;
        client.can(start.editor);
        client.named.clone_from(&start.named);
        client.trusted =
            start.overrides.workspace_trusted.or(start.options.workspace_trusted).unwrap_or(false);
        self.clients.scopes_changed = true;
        match self.unopened.take() {
            Some(unopened) => self.open_workspace(id, unopened, start),
            None => self.join_workspace(id),
        }
    }

    /// Engine, settings and folders are those of the client that opened the workspace; its own trust counts for each client.
    fn join_workspace(&mut self, id: ClientId) {
        if self.clients.trusts(id) {
            for engine in self.engines() {
                engine.call(EngineCall::SetTrust { trusted: true });
            }
            self.allow_mcp(true);
        }
    }

    /// Settings are known, so the journal and the engine can be opened.
    fn open_workspace(&mut self, id: ClientId, unopened: Unopened, start: StartUp) {
        if start.secrets.is_full() {
            self.say(
                "warning",
                &format!("The settings hold more than {MOST} values that look like secrets; the others are not hidden in logs and sessions. Give agents fewer variables."),
            );
        }
        self.settings = Settings::layered(start.options, &start.overrides);
        if let Some(problem) = &start.overrides.user.problem {
            self.say("warning", problem);
        }
        self.settings.secrets = start.secrets;
        self.settings.editor_name = start.named.map(|named| named.name);
        self.batching = Batching { set: self.settings.delivery, in_force: self.settings.delivery };
        let mut folders = start.folders;
        super::on_editor::tell_apart(&mut folders);
        self.workspace = Workspace { key: workspace_key(&folders), folders, opener: Some(id) };
        let mut journal = (unopened.journal)(self.settings.state_dir.as_deref());
        for warning in journal.take_warnings() {
            self.say("warning", &warning);
        }
        if let Some(state_dir) = journal.state_dir() {
            self.files.set_state_dir(state_dir);
        }
        self.journal = Some(journal);
        self.begin_retention();
        self.files.set_folders(&self.workspace.folders);
        self.engines.main = (unopened.engine)(&self.settings);
        if let Some(open) = unopened.agents
            && self.settings.engine.kind != EngineKind::Acp
        {
            self.engines.agents = Some(open(&self.settings));
        }
        for engine in self.engines() {
            engine.call(EngineCall::SetFolders(self.workspace.folders.clone()));
            engine.call(EngineCall::SetTrust { trusted: self.settings.workspace_trusted });
        }
        self.begin_mcp();
        self.tell_model();
        self.read_sessions();
    }

    fn read_sessions(&mut self) {
        let workspace = self.workspace.key.clone();
        let rows = match self.journal.as_mut().map(|journal| journal.sessions(&workspace)) {
            Some(Ok(rows)) => rows,
            Some(Err(error)) => {
                self.say("warning", &journal_failed(&error).message);
                return;
            }
            None => return,
        };
        self.read_rules();
        self.read_spec();
        let mut unreadable = Vec::new();
        for row in rows {
            match serde_json::from_slice::<Record>(&row.record) {
                Ok(record) => {
                    let saved = Some(digest(&row.record));
                    self.sessions.insert(row.session_id, Session::stored(record, saved));
                }
                Err(error) => {
                    tracing::warn!(%error, session = row.session_id, "a session's record cannot be read");
                    unreadable.push(row.session_id);
                }
            }
        }
        if let Some(first) = unreadable.first() {
            let (first, count) = (first.clone(), unreadable.len());
            self.say(
                "warning",
                &format!("{count} sessions are not listed, because their records in the journal are damaged ({first}); what they hold stays in the state directory."),
            );
        }
        // Nothing runs, so nothing would take the next prompt: the user decides when it goes on.
        for session in self.sessions.values_mut() {
            if !session.record.queue.items().is_empty() {
                session.record.queue.pause();
            }
        }
        self.record_losses();
        self.begin_looking();
        self.take_over();
    }

    /// A turn whose window is gone: its lease is ours now.
    pub(super) fn settle_left(&mut self, session_id: &str) {
        let goes_on = self.known(session_id).is_ok_and(|session| self.is_followed(&session.record));
        if goes_on {
            // The engine went on without us: its stream tells how it stands.
            if self.load(session_id).is_ok() {
                self.follow(session_id);
            }
        } else {
            self.settle_interrupted(session_id);
        }
    }

    /// The journal was damaged on disk: the transcript of each session that is concerned says so, before anything else comes.
    pub(super) fn record_losses(&mut self) {
        let losses = match self.journal.as_mut().map(|journal| journal.losses()) {
            Some(Ok(losses)) => losses,
            Some(Err(error)) => return self.say("warning", &journal_failed(&error).message),
            None => return,
        };
        for (session_id, reason) in losses {
            // Those of other workspaces are told when their workspace is opened.
            // Before what is said of a turn that was cut.
            let was_ours = self.leases.ours.contains(&session_id);
            if !self.sessions.contains(&session_id)
                || (!was_ours && self.take_lease(&session_id).is_err())
                || self.load(&session_id).is_err()
            {
                continue;
            }
            let payload = serde_json::Map::from_iter([("reason".to_owned(), sentence(&reason).into())]);
            let now = self.ambient.now_ms();
            let turn = self.known(&session_id).ok().and_then(|session| session.record.turn.open());
            self.record_event(&session_id, NormalizedEvent::local(LocalKind::Gap, turn, now, payload));
            if let Ok(record) = self.record_mut(&session_id) {
                record.damage = Some(reason);
            }
            self.flush(&session_id);
            if !was_ours {
                self.settle_cut(&session_id);
            }
            if let Some(journal) = self.journal.as_mut()
                && let Err(error) = journal.loss_recorded(&session_id)
            {
                // Said again at the next start.
                tracing::debug!(?error, "the journal still has a loss to be said");
            }
        }
    }

    /// A turn was running when the last process ended. One of ours that waits for an answer waits on; of any other the asks are
    /// cancelled, the end is said, and the queue waits for the user.
    pub(super) fn settle_interrupted(&mut self, session_id: &str) {
        if self.load(session_id).is_err() {
            return;
        }
        let Some(cut) = self.pause_or_cut(session_id) else { return };
        let now = self.ambient.now_ms();
        let unanswered = self.why_unanswered(session_id, "breadboard-ls ended");
        self.settle_asks(session_id, PermissionStatus::Cancelled, Settler::Restart);
        if let Some(sentence) = unanswered {
            self.notice(session_id, "warning", &sentence);
        }
        let Some(turn) = self.known(session_id).ok().and_then(|session| session.record.turn.open()) else {
            return;
        };
        // Written with the end of the turn, so that it is not found open again.
        if let Ok(record) = self.record_mut(session_id) {
            record.turn = TurnState::Idle;
        }
        if !self.has_end(session_id, turn) {
            if let Some(left) = cut.left {
                self.record_event(
                    session_id,
                    super::link::notice(Some(turn), now, "warning", &left, &Remedy::default()),
                );
                if let Ok(record) = self.record_mut(session_id) {
                    record.left = Some(left);
                }
            }
            let end = super::on_request::turn_end(turn, now, "interrupted", &cut.end.into());
            self.record_event(session_id, end);
        }
        self.turn_changes_end(session_id);
        self.flush(session_id);
    }

    /// Whether the journal already has the end of this turn: the process may have died between a turn's last event and
    /// the note that nothing runs. The end is among the turn's last few events.
    fn has_end(&mut self, session_id: &str, turn: u64) -> bool {
        let head = self.live_mut(session_id).map_or(0, |live| live.flushed);
        let mut next = head.saturating_sub(LAST_EVENTS) + 1;
        while next <= head {
            let rows = self.stored_batches(session_id, next, REPLAY_BYTES);
            let Some(last) = rows.last().map(|row| row.to_seq) else { return false };
            let ended = rows.into_iter().flat_map(|row| super::journalling::split(&row)).any(|event| {
                serde_json::from_str::<SessionEvent>(event.get())
                    .is_ok_and(|event| event.class == EventClass::RunFinished && event.turn == Some(turn))
            });
            if ended {
                return true;
            }
            next = last + 1;
        }
        false
    }

    /// Brings a session into memory: its view from the checkpoint, the events after it reduced again.
    pub(super) fn load(&mut self, session_id: &str) -> Result<(), CodedError> {
        self.meet(session_id);
        if self.known(session_id)?.live.is_some() {
            return Ok(());
        }
        if self.leases.ours.contains(session_id) {
            return self.load_now(session_id);
        }
        // The window that works on it may write a checkpoint in between, and its blocks would be newer than the events here.
        self.journal()?.stand_still();
        let loaded = self.load_now(session_id);
        self.journal()?.move_on();
        loaded
    }

    fn load_now(&mut self, session_id: &str) -> Result<(), CodedError> {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.record.turn.read_again();
        }
        let stored =
            StoredSession::read(self.journal()?, session_id).map_err(|error| journal_failed(&error))?;
        let (head, is_made_anew) = (stored.head, stored.view.is_made_anew);
        let mut live = stored.into_live(self.dialect_of(session_id), self.batching.in_force);
        while live.head < head {
            let before = live.head;
            self.reduce_next(session_id, &mut live, is_made_anew);
            if live.head == before {
                // What the journal cannot give is not in the view; numbers still go on where they ended.
                live.head = head;
            }
        }
        self.keep_live(session_id, live);
        if is_made_anew {
            // At once, so that the next start need not do it again.
            self.checkpoint(session_id);
        }
        Ok(())
    }

    /// Reduces the next stored events that the view does not have, as many as are read at a time.
    fn reduce_next(&mut self, session_id: &str, live: &mut Live, is_made_anew: bool) {
        for row in self.stored_batches(session_id, live.head + 1, REPLAY_BYTES) {
            for text in super::journalling::split(&super::journalling::from_seq_on(row, live.head + 1)) {
                let Ok(event) = serde_json::from_str::<SessionEvent>(text.get()) else { continue };
                let changes = live.view.apply(&event);
                // A view that is made anew numbers its blocks from the first; the places of the stored ones belong to
                // the old numbering.
                let stored = if is_made_anew { None } else { self.journal.as_mut() };
                super::deliver::absorb(stored, session_id, live, &changes);
                live.head = event.seq;
                live.checkpoint.since += text.get().len();
            }
        }
    }

    /// From here on the session is in memory, and the time of its asks counts where it is ours.
    fn keep_live(&mut self, session_id: &str, live: Live) {
        let waiting: Vec<String> = live.asks.keys().cloned().collect();
        self.sessions.keep_live(session_id, Box::new(live));
        if !waiting.is_empty() && (self.leases.ours.contains(session_id) || self.is_paused(session_id)) {
            let now = self.ambient.now_ms();
            for request_id in waiting {
                self.watch_expiry(session_id, &request_id, now);
            }
        }
    }

    /// New batching for every session: by the settings, and above them what clients asked for in `bb/init`. A batch is one row
    /// of the journal and one message to each who follows, and `maxLatencyMs` is the most that a client waits, so the shortest
    /// counts.
    pub(super) fn batch(&mut self) {
        let wish = |client: &Client| {
            let wish = DeliverySetting { max_latency_ms: client.latency_wish, ..DeliverySetting::default() };
            self.batching.set.with(&wish)
        };
        let using = self.clients.iter().filter(|(_, client)| client.greeted);
        let wanted = using.map(|(_, client)| wish(client)).min_by_key(|delivery| delivery.max_latency_ms);
        let delivery = wanted.unwrap_or(self.batching.set);
        if delivery == self.batching.in_force {
            return;
        }
        self.batching.in_force = delivery;
        for session in self.sessions.values_mut() {
            if let Some(live) = session.live.as_deref_mut() {
                live.batcher.set_limits(delivery.max_latency_ms, delivery.max_events, delivery.max_bytes);
            }
        }
    }
}

/// What names a workspace in the journal: its folders, in an order of their own.
fn workspace_key(folders: &[super::inbox::Folder]) -> String {
    let mut uris: Vec<&str> = folders.iter().map(|folder| folder.uri.trim_end_matches('/')).collect();
    uris.sort_unstable();
    uris.join("\n")
}
