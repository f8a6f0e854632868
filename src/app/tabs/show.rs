//! What goes out of a tab: messages, snapshots, and whether anybody is there to see them.
//!
//! Owns `bb/tab`, and that a session whose tab nobody sees costs nothing on the wire. What is missed while nobody looks is
//! read from the journal or the view later, never kept without bound.

use std::borrow::Cow;

use super::BegunPrompt;
use super::prompts_shown::prompts_shown;
use crate::app::client::ClientId;
use crate::app::state::App;
use crate::app::subscription::{Audience, Subscription};
use crate::app::wire_out;
use crate::domain::approval::Permission;
use crate::domain::coded_error::CodedError;
use crate::domain::tabs::{News, Step};
use crate::domain::view::{Change, View, ViewLanes};
use crate::protocol::request::{Empty, QueueItem, QueueResult};
use crate::protocol::tab::*;

impl App {
    /// Numbers a message of a tab. One that nobody will get makes a snapshot due instead.
    pub(super) fn post(&mut self, tab_id: &str, message_id: Option<String>, message: TabMessage) {
        let hears = self.hears_tab(tab_id);
        let epoch = self.tabs.epoch.clone();
        let Ok(tab) = self.tabs.get_mut(tab_id) else { return };
        if !hears || !tab.attached {
            tab.window.collapse();
        }
        if tab.window.is_stale() {
            return;
        }
        let index = tab.window.next_index();
        let params = TabParams { tab_id: tab_id.to_owned(), index, epoch, message_id, message };
        tab.window.push(wire_out::told(&params));
    }

    /// Gives out what a tab has, as far as it is seen and there is credit and room.
    pub(super) fn pump(&mut self, tab_id: &str) {
        loop {
            let Ok(tab) = self.tabs.get_mut(tab_id) else { return };
            let client = tab.client().and_then(|client| self.clients.get(client));
            let Some(client) = client.filter(|client| client.hears.tabs && tab.is_shown()) else { return };
            match tab.window.step() {
                Step::Rest => return,
                Step::Send(message) => {
                    if !client.outbox.push(Cow::Borrowed(message)) {
                        return;
                    }
                    tab.window.sent();
                }
                Step::Snapshot => {
                    if !self.send_snapshot(tab_id) {
                        return;
                    }
                }
            }
        }
    }

    /// All tabs of a client: its outbox has room, or it wants to hear them.
    pub(in crate::app) fn pump_all(&mut self, client: ClientId) {
        let of_client = self.tabs.tabs.iter().filter(|(_, tab)| tab.client() == Some(client));
        let shown = of_client.filter(|(_, tab)| tab.is_shown());
        let shown: Vec<String> = shown.map(|(id, _)| id.clone()).collect();
        for tab_id in shown {
            self.pump(&tab_id);
        }
    }

    /// Whether the client of a tab wants `bb/tab`.
    fn hears_tab(&self, tab_id: &str) -> bool {
        let client = self.tabs.get(tab_id).ok().and_then(|tab| self.clients.get(tab.client()?));
        client.is_some_and(|client| client.hears.tabs)
    }

    /// What is known of a session was read anew: its tabs get a snapshot.
    pub(in crate::app) fn tabs_anew(&mut self, session_id: &str) {
        for tab_id in self.tabs.tabs_of(session_id) {
            if let Ok(tab) = self.tabs.get_mut(&tab_id) {
                tab.window.collapse();
            }
            self.pump(&tab_id);
        }
    }

    /// A client wants `bb/tab` no more: what it misses is a snapshot when it wants it again.
    pub(in crate::app) fn forget_messages(&mut self, client: ClientId) {
        for tab in self.tabs.tabs.values_mut().filter(|tab| tab.client() == Some(client)) {
            tab.window.collapse();
        }
    }

    fn send_snapshot(&mut self, tab_id: &str) -> bool {
        let session_id = self.tabs.session_read(tab_id);
        let Some(view) = self.view_of_tab(session_id.as_deref()) else { return false };
        let permissions = session_id.as_deref().map_or_else(Vec::new, |id| self.unanswered(id));
        let (queue, paused) = self.queue_of_tab(tab_id);
        let epoch = self.tabs.epoch.clone();
        let open = session_id.as_ref().and_then(|session_id| self.known(session_id).ok()?.record.turn.open());
        let before = session_id.as_deref().and_then(|id| self.prompt_above(id, &view.lanes.chat));
        let Ok(tab) = self.tabs.get_mut(tab_id) else { return false };
        tab.told.restart(&view.lanes.chat.blocks, before);
        if let Some(turn) = open.filter(|turn| tab.record.prompts.iter().all(|asked| asked.turn != *turn))
            && let Some(message_id) = tab.told.prompt(turn).map(str::to_owned)
        {
            // It was begun before the tab showed this session.
            tab.record.prompts.push(BegunPrompt { message_id, turn, stop_reason: None });
        }
        let message = TabMessage::Snapshot {
            view,
            messages: prompts_shown(&tab.record.prompts, &tab.told, &queue),
            queue: queue.clone(),
            paused,
            permissions,
            error: tab.error.clone(),
        };
        let index = tab.window.next_index();
        let params = TabParams { tab_id: tab_id.to_owned(), index, epoch, message_id: None, message };
        let message = wire_out::told(&params);
        let size = message.len();
        let client = tab.client().and_then(|client| self.clients.get(client));
        if !client.is_some_and(|client| client.push(message)) {
            return false;
        }
        tab.queue = (queue, paused);
        tab.covered = true;
        tab.window.snapshot_sent(size);
        true
    }

    /// The view that a tab begins with: an empty one without a session, none when it cannot be read.
    fn view_of_tab(&mut self, session_id: Option<&str>) -> Option<View> {
        let Some(session_id) = session_id else {
            return Some(View { epoch: String::new(), seq: 0, lanes: ViewLanes::default() });
        };
        self.load(session_id).ok()?;
        // It stands at the head, so everything up to the head has to be in the journal first.
        self.flush(session_id);
        match self.snapshot(session_id) {
            Ok(view) => Some(view),
            Err(error) => {
                tracing::warn!(message = error.message, "no snapshot of a tab could be made");
                None
            }
        }
    }

    /// Permissions of a session that wait for an answer.
    fn unanswered(&mut self, session_id: &str) -> Vec<Permission> {
        let Some(live) = self.live_mut(session_id) else { return Vec::new() };
        let waiting = live.asks.values().filter(|ask| ask.answered.is_none());
        waiting.map(|ask| ask.permission.clone()).collect()
    }

    /// What changes of the view are for the tabs of a session; they are in the journal.
    pub(in crate::app) fn tell_tabs(&mut self, session_id: &str, changes: &[Change], first_seq: u64) {
        for tab_id in self.tabs.tabs_of(session_id) {
            let client = self.tabs.get(&tab_id).ok().and_then(|tab| tab.client());
            // One that was opened by an earlier process, and is not looked at, gets a snapshot when it is.
            if client.is_none_or(|client| self.clients.subscription(client, session_id).is_some()) {
                self.tell_tab(&tab_id, changes, first_seq);
            }
        }
    }

    fn tell_tab(&mut self, tab_id: &str, changes: &[Change], first_seq: u64) {
        let hears = self.hears_tab(tab_id);
        let Ok(tab) = self.tabs.get_mut(tab_id) else { return };
        if !hears || tab.window.is_stale() {
            tab.window.collapse();
            return;
        }
        for news in tab.told.news(changes, first_seq) {
            let (message_id, message) = match news {
                News::Text { message_id, block_id, text } => (
                    message_id,
                    TabMessage::ResponseChunk {
                        text: Some(text),
                        block_id: Some(block_id),
                        blocks: None,
                        append: false,
                    },
                ),
                News::Block { message_id, block, append } => (
                    message_id,
                    TabMessage::ResponseChunk {
                        text: None,
                        block_id: None,
                        blocks: Some(vec![*block]),
                        append,
                    },
                ),
                News::Tool { message_id, block } => (message_id, TabMessage::Tool { block: *block }),
                News::Permission { message_id, permission, status, chosen, client, problem } => {
                    (message_id, TabMessage::Permission { permission, status, chosen, client, problem })
                }
                News::Anew => {
                    if let Ok(tab) = self.tabs.get_mut(tab_id) {
                        tab.window.collapse();
                    }
                    break;
                }
            };
            self.post(tab_id, message_id, message);
        }
        self.pump(tab_id);
    }

    /// The queue of a session may have changed; it is in the journal.
    pub(in crate::app) fn tell_queue(&mut self, session_id: &str) {
        for tab_id in self.tabs.tabs_of(session_id) {
            let now = self.queue_of_tab(&tab_id);
            let Ok(tab) = self.tabs.get_mut(&tab_id) else { continue };
            if tab.window.is_stale() || tab.queue == now {
                continue;
            }
            tab.queue = now.clone();
            self.post(&tab_id, None, TabMessage::Queue { items: now.0, paused: now.1 });
            self.pump(&tab_id);
        }
    }

    /// What waits in a tab: in its session, or for one.
    pub(super) fn queue_of_tab(&self, tab_id: &str) -> (Vec<QueueItem>, bool) {
        let Ok(tab) = self.tabs.get(tab_id) else { return (Vec::new(), false) };
        let session = tab.record.session_id.as_ref().and_then(|id| self.sessions.get(id));
        let queue = session.map_or(&tab.record.waiting, |session| &session.record.queue);
        let QueueResult { items, paused } = crate::app::on_request::shown_queue(queue);
        (items, paused)
    }

    pub(in crate::app) fn tab_visibility(
        &mut self,
        client: ClientId,
        params: TabVisibilityParams,
    ) -> Result<TabVisibilityResult, CodedError> {
        let tab_id = params.tab_id;
        let tab = self.tabs.get_mut(&tab_id)?;
        tab.visible = params.visible;
        let audience = tab.audience();
        if let Some(session_id) = self.tabs.map.session_of(&tab_id).map(str::to_owned) {
            // What happened up to now is told, or kept, as it was seen or not.
            self.flush(&session_id);
            self.set_audience(client, &session_id, audience);
        }
        self.pump(&tab_id);
        let index = self.tabs.get(&tab_id)?.window.index();
        Ok(TabVisibilityResult { tab_id, index })
    }

    pub(in crate::app) fn tab_detach(&mut self, client: ClientId, params: &TabDetachParams) -> Empty {
        for tab_id in &params.tab_ids {
            let Some(tab) = self.tabs.get_mut(tab_id).ok().filter(|tab| tab.client() == Some(client)) else {
                continue;
            };
            tab.attached = false;
            tab.window.detach();
            if let Some(session_id) = self.tabs.map.session_of(tab_id).map(str::to_owned) {
                self.go_away(client, &session_id);
            }
        }
        Empty {}
    }

    pub(in crate::app) fn tab_attach(
        &mut self,
        client: ClientId,
        params: TabAttachParams,
    ) -> TabAttachResult {
        let epoch = self.tab_epoch();
        let tabs = params.tabs.into_iter().map(|seen| {
            if self.tabs.get(&seen.tab_id).ok().is_none_or(|tab| tab.client() != Some(client)) {
                let mode = TabAttachMode::Unknown;
                return TabAttached { tab_id: seen.tab_id, index: 0, mode, epoch: None };
            }
            let last = seen.last_seen_index.filter(|_| seen.epoch.as_ref() == Some(&epoch));
            let (index, replayed) = self.show_tab(&seen.tab_id, last);
            let mode = if replayed { TabAttachMode::Replayed } else { TabAttachMode::Snapshot };
            TabAttached { tab_id: seen.tab_id, index, mode, epoch: Some(epoch.clone()) }
        });
        TabAttachResult { tabs: tabs.collect() }
    }

    /// A view of a tab is there that saw everything up to `last`. The index of what it has then, and whether it is given what
    /// it missed, not a snapshot.
    pub(super) fn show_tab(&mut self, tab_id: &str, last: Option<u64>) -> (u64, bool) {
        let session_id = self.tabs.map.session_of(tab_id).map(str::to_owned);
        if let Some(session_id) = &session_id
            && self.load(session_id).is_ok()
        {
            self.flush(session_id);
        }
        let Ok(tab) = self.tabs.get_mut(tab_id) else { return (0, false) };
        (tab.attached, tab.visible) = (true, true);
        let client = tab.client();
        let replayed = tab.window.attach(last);
        match &session_id {
            Some(session_id) => {
                if let Some(client) = client {
                    self.subscribe(client, session_id);
                    self.come_back(client, session_id);
                }
                self.follow(session_id);
            }
            None => {
                if let Err(error) = self.make_session_of(tab_id)
                    && let Ok(tab) = self.tabs.get_mut(tab_id)
                {
                    tab.error = Some(TabError::of(&error));
                }
            }
        }
        self.pump(tab_id);
        let index = self.tabs.get(tab_id).map_or(0, |tab| match tab.window.is_stale() {
            true => tab.window.next_index(),
            false => tab.window.index(),
        });
        (index, replayed)
    }

    pub(in crate::app) fn tab_ack(&mut self, params: &TabAckParams) -> Result<Empty, CodedError> {
        self.tabs.get_mut(&params.tab_id)?.window.acknowledge(params.index);
        self.pump(&params.tab_id);
        Ok(Empty {})
    }

    /// A client follows a session from now on; one that does already goes on as it was.
    pub(in crate::app) fn subscribe(&mut self, client: ClientId, session_id: &str) {
        if self.live_mut(session_id).is_none() {
            return;
        }
        let audience = self.tabs.audience(client, session_id);
        if let Some(client) = self.clients.get_mut(client) {
            client.follows.entry(session_id.to_owned()).or_insert_with(|| Subscription::new(audience));
        }
    }

    /// Suspends `bb/events` and `bb/view` of a session, or lets them go on from the journal.
    pub(super) fn set_audience(&mut self, client: ClientId, session_id: &str, audience: Audience) {
        match audience {
            Audience::Present => self.come_back(client, session_id),
            Audience::Away => self.go_away(client, session_id),
        }
    }

    pub(super) fn go_away(&mut self, client: ClientId, session_id: &str) {
        if let Some(follows) = self.clients.subscription(client, session_id) {
            follows.audience = Audience::Away;
        }
    }

    /// Somebody looks again, or asks for this session itself, whatever its tab is: the client hears it.
    pub(in crate::app) fn come_back(&mut self, client: ClientId, session_id: &str) {
        let Some(follows) = self.clients.subscription(client, session_id) else { return };
        if std::mem::replace(&mut follows.audience, Audience::Present) == Audience::Away {
            self.catch_up(client, session_id);
        }
    }
}
