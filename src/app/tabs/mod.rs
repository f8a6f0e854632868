//! Tabs: chat views that never need a session id (seed 001).
//!
//! Owns what is remembered of a tab, which session it shows, and whether anybody sees it. How a tab gets its session is in
//! `open`, what is asked in it in `prompt`, what goes out in `show`, which blocks are whose answer in `prompts_shown`. Never knows a webview: it hears that one is hidden,
//! gone or there again.

mod open;
mod prompt;
mod prompts_shown;
mod show;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::client::ClientId;
use super::inbox::Answer;
use super::ports::{Commit, TabRow};
use super::prompter::Prompter;
use super::state::App;
use super::subscription::Audience;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::delivery::queue::PromptQueue;
use crate::domain::dialect::TurnNumbers;
use crate::domain::event::Origin;
use crate::domain::tabs::{SentBlocks, TABS, TabMap, Window};
use crate::protocol::Request;
use crate::protocol::request::QueueItem;
use crate::protocol::tab::{TabError, unknown_tab};

/// Prompts whose answers are complete that a snapshot still names.
const PROMPTS: usize = 32;

/// One tab as the journal keeps it. Fields may be added with a default; none may change its meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TabRecord {
    tab_id: String,
    /// The agent that it was opened for.
    agent: Option<String>,
    /// The session that it shows, once there is one.
    session_id: Option<String>,
    /// The session that its engine ended: it can be read in the tab, and is bound to it no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// Prompts that wait for the session.
    waiting: PromptQueue,
    /// Prompts that were begun, oldest first.
    prompts: Vec<BegunPrompt>,
}

/// A prompt that was begun in a tab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct BegunPrompt {
    message_id: String,
    turn: u64,
    /// Why its answer is complete.
    stop_reason: Option<String>,
}

/// One tab.
pub(super) struct Tab {
    record: TabRecord,
    /// The client that opened it. Once that one has left it belongs to the client that names it next.
    owner: Prompter,
    /// What was numbered and may be given again.
    window: Window,
    /// What its client has of the transcript.
    told: SentBlocks,
    /// Whether the user can see it.
    visible: bool,
    /// Whether it has a view at all.
    attached: bool,
    /// Its session is being made; the engine sees by it that somebody waits.
    making: Option<Answer<()>>,
    /// Why it has no session.
    error: Option<TabError>,
    /// The queue as its client knows it.
    queue: (Vec<QueueItem>, bool),
    /// Whether a snapshot went out since the last turn ended: it says so already.
    covered: bool,
}

/// All tabs of this window.
#[derive(Default)]
pub(super) struct Tabs {
    tabs: BTreeMap<String, Tab>,
    map: TabMap,
    /// In the order in which they were opened.
    order: Vec<String>,
    /// Names the indices of this process; made with the first tab.
    epoch: String,
}

impl Tab {
    fn new(client: ClientId, tab_id: &str, agent: Option<String>) -> Self {
        let record = TabRecord {
            tab_id: tab_id.to_owned(),
            agent,
            session_id: None,
            ended: None,
            waiting: PromptQueue::default(),
            prompts: Vec::new(),
        };
        Self::of(client, record)
    }

    fn of(client: ClientId, record: TabRecord) -> Self {
        Self {
            record,
            owner: Prompter::Client(client),
            window: Window::default(),
            told: SentBlocks::new(true),
            visible: true,
            attached: true,
            making: None,
            error: None,
            queue: (Vec::new(), false),
            covered: false,
        }
    }

    /// Its client, if it is connected.
    fn client(&self) -> Option<ClientId> {
        match self.owner {
            Prompter::Client(client) => Some(client),
            Prompter::Left { .. } | Prompter::Nobody => None,
        }
    }

    fn audience(&self) -> Audience {
        if self.is_shown() { Audience::Present } else { Audience::Away }
    }

    /// Whether anybody could see what is sent.
    fn is_shown(&self) -> bool {
        self.attached && self.visible
    }
}

impl Tabs {
    fn get(&self, tab_id: &str) -> Result<&Tab, CodedError> {
        self.tabs.get(tab_id).ok_or_else(|| unknown_tab(tab_id))
    }

    fn get_mut(&mut self, tab_id: &str) -> Result<&mut Tab, CodedError> {
        self.tabs.get_mut(tab_id).ok_or_else(|| unknown_tab(tab_id))
    }

    /// The tabs of a session: one a client at most, and those whose client has left.
    fn tabs_of(&self, session_id: &str) -> Vec<String> {
        self.map.tabs_of(session_id).map(str::to_owned).collect()
    }

    /// The tab in which a client shows a session.
    fn tab_of(&self, client: ClientId, session_id: &str) -> Option<String> {
        let of_client =
            |tab_id: &&str| self.tabs.get(*tab_id).is_some_and(|tab| tab.client() == Some(client));
        self.map.tabs_of(session_id).find(of_client).map(str::to_owned)
    }

    /// The session that a tab shows.
    pub(super) fn session_shown(&self, tab_id: &str) -> Option<String> {
        self.map.session_of(tab_id).map(str::to_owned)
    }

    /// The session that is read in a tab: the one that it shows, or the one that ended in it.
    fn session_read(&self, tab_id: &str) -> Option<String> {
        let ended = || self.get(tab_id).ok()?.record.ended.clone();
        self.session_shown(tab_id).or_else(ended)
    }

    /// Whether a client that begins to follow a session hears of it: not where its tab of it cannot be seen.
    pub(super) fn audience(&self, client: ClientId, session_id: &str) -> Audience {
        let tab = self.tab_of(client, session_id).and_then(|tab_id| self.tabs.get(&tab_id));
        tab.map_or(Audience::Present, Tab::audience)
    }
}

impl App {
    /// Puts the session of a tab into a request that names the tab only.
    pub(super) fn name_session(&mut self, request: &mut Request) -> Result<(), CodedError> {
        if let Some((patch_id, session_id @ None)) = request.patch() {
            *session_id = Some(self.session_of_patch(patch_id)?);
        }
        if let Some((session_id @ None, Some(tab_id))) = request.session_or_tab() {
            *session_id = Some(self.session_of_tab(tab_id)?);
        }
        Ok(())
    }

    /// The session that a tab shows.
    fn session_of_tab(&self, tab_id: &str) -> Result<String, CodedError> {
        self.tabs.get(tab_id)?;
        self.tabs.session_read(tab_id).ok_or_else(|| {
            CodedError::new(
                ErrorCode::Conflict,
                "This tab has no session yet; wait for its `session-created`, or send a prompt to try again.",
            )
        })
    }

    /// Names the indices of this process, so that those of another one are never mistaken for them.
    fn tab_epoch(&mut self) -> String {
        if self.tabs.epoch.is_empty() {
            self.tabs.epoch = self.ambient.fresh_id();
        }
        self.tabs.epoch.clone()
    }

    /// Notes a tab for the journal: with what its session writes next, where it has one.
    fn keep_tab(&mut self, tab_id: &str) {
        let Ok(tab) = self.tabs.get(tab_id) else { return };
        // A record holds strings, numbers and lists only, which always serialise.
        let record = serde_json::to_vec(&tab.record).ok();
        let row = TabRow { tab_id: tab_id.to_owned(), workspace: self.workspace.key.clone(), record };
        let session_id = tab.record.session_id.clone();
        match session_id.and_then(|session_id| self.live_mut(&session_id)) {
            Some(live) => {
                live.pending.tabs.retain(|old| old.tab_id != row.tab_id);
                live.pending.tabs.push(row);
            }
            None => {
                self.write(Commit { tabs: vec![row], ..Commit::default() });
            }
        }
    }

    /// Takes a tab away, here and in the journal; its session stays. Gives the session that it showed.
    fn drop_tab(&mut self, tab_id: &str) -> Option<String> {
        let session_id = self.tabs.map.unlink_tab(tab_id);
        let client = self.tabs.tabs.remove(tab_id).and_then(|tab| tab.client());
        self.tabs.order.retain(|other| other != tab_id);
        if let Some(session_id) = &session_id {
            // What waits to be written of it must not come after the end.
            self.flush(session_id);
            if let Some(client) = client {
                self.come_back(client, session_id);
            }
        }
        let row = TabRow { tab_id: tab_id.to_owned(), workspace: self.workspace.key.clone(), record: None };
        self.write(Commit { tabs: vec![row], ..Commit::default() });
        session_id
    }

    /// Tabs that a request names and that this process does not know: an earlier one may have opened them. Only the client whose
    /// tab it is knows its id, so other windows leave it alone. One whose client has left belongs to the one that names it now,
    /// which is that client, connected again; one of a client that is connected is unknown to all others.
    pub(super) fn name_tabs(&mut self, client: ClientId, request: &mut Request) -> Result<(), CodedError> {
        let named = request.tabs();
        for tab_id in &named {
            match self.tabs.get_mut(tab_id) {
                Ok(tab) if tab.client().is_none() => tab.owner = Prompter::Client(client),
                Ok(_) => {}
                Err(_) => self.restore_tab(client, tab_id),
            }
        }
        match request {
            // They say of each tab how it stands.
            Request::TabAttach(_) | Request::TabDetach(_) => Ok(()),
            _ => named.iter().try_for_each(|tab_id| self.is_tab_of(client, tab_id)),
        }
    }

    /// Refuses a tab of another client that is connected.
    fn is_tab_of(&self, client: ClientId, tab_id: &str) -> Result<(), CodedError> {
        match self.tabs.get(tab_id) {
            Ok(tab) if tab.client() != Some(client) => Err(unknown_tab(tab_id)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// A client left: its tabs have no view and no client, and their sessions live.
    pub(super) fn leave_tabs(&mut self, client: ClientId, trusted: bool) {
        for tab in self.tabs.tabs.values_mut().filter(|tab| tab.client() == Some(client)) {
            tab.owner = Prompter::Left { trusted };
            tab.attached = false;
            tab.window.detach();
        }
    }

    /// Nobody trusts the workspace any more: neither do the clients that left, whose prompts may still wait in a tab.
    pub(super) fn distrust_tabs(&mut self) {
        for tab in self.tabs.tabs.values_mut().filter(|tab| tab.client().is_none()) {
            tab.owner = Prompter::Left { trusted: false };
        }
    }

    /// A tab of an earlier process: it has no view until one attaches.
    fn restore_tab(&mut self, client: ClientId, tab_id: &str) {
        let workspace = self.workspace.key.clone();
        let row = match self.journal.as_mut().map(|journal| journal.tab(&workspace, tab_id)) {
            Some(Ok(Some(row))) => row,
            Some(Err(error)) => {
                tracing::warn!(?error, "a tab could not be read");
                return;
            }
            Some(Ok(None)) | None => return,
        };
        let record = row.record.as_deref().map(serde_json::from_slice::<TabRecord>);
        let Some(Ok(mut record)) = record else {
            tracing::warn!(tab = row.tab_id, "a tab's record cannot be read");
            return;
        };
        // Nothing runs, so nothing would take the next prompt: the user decides when it goes on.
        if !record.waiting.items().is_empty() {
            record.waiting.pause();
        }
        let known = |id: &String| self.sessions.contains(id);
        let shown = record.session_id.take().filter(known);
        record.ended = record.ended.take().filter(known).or(shown.clone().filter(|id| self.is_over(id)));
        let session = shown.filter(|id| !self.is_over(id));
        if session.as_ref().is_some_and(|id| self.tabs.tab_of(client, id).is_some()) {
            // Its session goes on in another tab.
            return;
        }
        let open = session.as_ref().and_then(|id| self.known(id).ok()?.record.turn.open());
        for asked in record.prompts.iter_mut().filter(|asked| asked.stop_reason.is_none()) {
            if open != Some(asked.turn) {
                asked.stop_reason = Some("interrupted".to_owned());
            }
        }
        let mut tab = Tab::of(client, record);
        if let Some(ended) = &tab.record.ended {
            tab.error = Some(TabError::of(&self.takes_no_more(ended)));
            tab.told = self.told_of(ended, &tab.record);
        }
        tab.attached = false;
        tab.window.detach();
        if let Some(session_id) = session {
            self.tabs.map.link(&row.tab_id, &session_id);
            tab.told = self.told_of(&session_id, &tab.record);
            self.go_away(client, &session_id);
            tab.record.session_id = Some(session_id);
        }
        self.tabs.order.push(row.tab_id.clone());
        self.tabs.tabs.insert(row.tab_id, tab);
    }

    /// Whether blocks of a session name turns of ours; else they name the engine's own.
    fn blocks_name_turns(&self, session_id: &str) -> bool {
        self.dialect_of(session_id).turn_numbers(Origin::Engine) == TurnNumbers::Turns
    }

    /// What a client of a tab has of its session: nothing so far.
    fn told_of(&self, session_id: &str, record: &TabRecord) -> SentBlocks {
        let mut told = SentBlocks::new(self.blocks_name_turns(session_id));
        for asked in &record.prompts {
            told.begin(asked.turn, &asked.message_id);
        }
        told
    }
}
