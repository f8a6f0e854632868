//! What goes out of a tab: messages, snapshots, and whether anybody is there to see them.
//!
//! Owns `bb/tab`, and that a session whose tab nobody sees costs nothing on the wire. What is missed while nobody looks is
//! read from the journal or the view later, never kept without bound.

use super::Asked;
use crate::app::live::Flow;
use crate::app::state::App;
use crate::app::wire_out;
use crate::domain::tabs::{News, Step};
use crate::domain::view::{Change, View, ViewLanes};
use crate::protocol::WireError;
use crate::protocol::request::{Empty, QueueItem, QueueResult};
use crate::protocol::tab::*;

impl App {
    /// Numbers a message of a tab. One that nobody will get makes a snapshot due instead.
    pub(super) fn post(&mut self, tab_id: &str, message_id: Option<String>, message: TabMessage) {
        let hears = self.hears.tabs;
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
        tab.window.push(wire_out::notification("bb/tab", &params));
    }

    /// Gives out what a tab has, as far as it is seen and there is credit and room.
    pub(super) fn pump(&mut self, tab_id: &str) {
        let outbox = self.outbox.clone();
        while self.hears.tabs {
            let Ok(tab) = self.tabs.get_mut(tab_id) else { return };
            if !tab.is_shown() {
                return;
            }
            match tab.window.step() {
                Step::Rest => return,
                Step::Send(message) => {
                    if !outbox.push(message.to_vec()) {
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

    /// All tabs: the outbox has room, or the client wants to hear them.
    pub(in crate::app) fn pump_all(&mut self) {
        let shown = self.tabs.tabs.iter().filter(|(_, tab)| tab.is_shown());
        let shown: Vec<String> = shown.map(|(id, _)| id.clone()).collect();
        for tab_id in shown {
            self.pump(&tab_id);
        }
    }

    /// What is known of the session of a tab was read anew: its tab gets a snapshot.
    pub(in crate::app) fn tab_anew(&mut self, session_id: &str) {
        let Some(tab_id) = self.tabs.tab_of(session_id) else { return };
        if let Ok(tab) = self.tabs.get_mut(&tab_id) {
            tab.window.collapse();
        }
        self.pump(&tab_id);
    }

    /// The client wants `bb/tab` no more: what it misses is a snapshot when it wants it again.
    pub(in crate::app) fn forget_messages(&mut self) {
        for tab in self.tabs.tabs.values_mut() {
            tab.window.collapse();
        }
    }

    fn send_snapshot(&mut self, tab_id: &str) -> bool {
        let session_id = self.tabs.map.session_of(tab_id).map(str::to_owned);
        let view = match &session_id {
            Some(session_id) => {
                if self.load(session_id).is_err() {
                    return false;
                }
                // It stands at the head, so everything up to the head has to be in the journal first.
                self.flush(session_id);
                match self.snapshot(session_id) {
                    Ok(view) => view,
                    Err(error) => {
                        tracing::warn!(message = error.message, "no snapshot of a tab could be made");
                        return false;
                    }
                }
            }
            None => View { epoch: String::new(), seq: 0, lanes: ViewLanes::default() },
        };
        let asks = session_id.as_ref().and_then(|session_id| self.live_mut(session_id));
        let permissions = asks.map_or_else(Vec::new, |live| {
            let waiting = live.asks.values().filter(|ask| ask.answered.is_none());
            waiting.map(|ask| ask.permission.clone()).collect()
        });
        let (queue, paused) = self.queue_of_tab(tab_id);
        let epoch = self.tabs.epoch.clone();
        let open = session_id.as_ref().and_then(|session_id| self.known(session_id).ok()?.record.open_turn);
        let Ok(tab) = self.tabs.get_mut(tab_id) else { return false };
        tab.told.restart(&view.lanes.chat.blocks);
        if let Some(turn) = open.filter(|turn| tab.record.prompts.iter().all(|asked| asked.turn != *turn))
            && let Some(message_id) = tab.told.prompt(turn).map(str::to_owned)
        {
            // It was begun before the tab showed this session.
            tab.record.prompts.push(Asked { message_id, turn, stop_reason: None });
        }
        let waiting = queue.iter().map(|item| TabPrompt {
            message_id: item.message_id.clone(),
            turn: None,
            status: TabPromptStatus::Waiting,
            stop_reason: None,
        });
        let begun = tab.record.prompts.iter().map(|asked| TabPrompt {
            message_id: asked.message_id.clone(),
            turn: Some(asked.turn),
            status: match asked.stop_reason {
                Some(_) => TabPromptStatus::Complete,
                None => TabPromptStatus::Running,
            },
            stop_reason: asked.stop_reason.clone(),
        });
        let messages: Vec<TabPrompt> = begun.chain(waiting).collect();
        let message = TabMessage::Snapshot {
            view,
            messages,
            queue: queue.clone(),
            paused,
            permissions,
            error: tab.error.clone(),
        };
        let index = tab.window.next_index();
        let params = TabParams { tab_id: tab_id.to_owned(), index, epoch, message_id: None, message };
        let message = wire_out::notification("bb/tab", &params);
        let size = message.len();
        if !self.outbox.push(message) {
            return false;
        }
        tab.queue = (queue, paused);
        tab.covered = true;
        tab.window.snapshot_sent(size);
        true
    }

    /// What changes of the view are for the tab of a session; they are in the journal.
    pub(in crate::app) fn tell_tab(&mut self, session_id: &str, changes: &[Change], first_seq: u64) {
        let Some(tab_id) = self.tabs.tab_of(session_id) else { return };
        let hears = self.hears.tabs;
        let Ok(tab) = self.tabs.get_mut(&tab_id) else { return };
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
                News::Permission { message_id, permission, status } => {
                    (message_id, TabMessage::Permission { permission: *permission, status })
                }
                News::Anew => {
                    if let Ok(tab) = self.tabs.get_mut(&tab_id) {
                        tab.window.collapse();
                    }
                    break;
                }
            };
            self.post(&tab_id, message_id, message);
        }
        self.pump(&tab_id);
    }

    /// The queue of a session may have changed; it is in the journal.
    pub(in crate::app) fn tell_queue(&mut self, session_id: &str) {
        let Some(tab_id) = self.tabs.tab_of(session_id) else { return };
        let now = self.queue_of_tab(&tab_id);
        let Ok(tab) = self.tabs.get_mut(&tab_id) else { return };
        if tab.window.is_stale() || tab.queue == now {
            return;
        }
        tab.queue = now.clone();
        self.post(&tab_id, None, TabMessage::Queue { items: now.0, paused: now.1 });
        self.pump(&tab_id);
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
        params: TabVisibilityParams,
    ) -> Result<TabVisibilityResult, WireError> {
        let tab_id = params.tab_id;
        let tab = self.tabs.get_mut(&tab_id)?;
        tab.visible = params.visible;
        let hidden = !tab.is_shown();
        if let Some(session_id) = self.tabs.map.session_of(&tab_id).map(str::to_owned) {
            // What happened up to now is told, or kept, as it was seen or not.
            self.flush(&session_id);
            self.set_muted(&session_id, hidden);
        }
        self.pump(&tab_id);
        let index = self.tabs.get(&tab_id)?.window.index();
        Ok(TabVisibilityResult { tab_id, index })
    }

    pub(in crate::app) fn tab_detach(&mut self, params: &TabDetachParams) -> Empty {
        for tab_id in &params.tab_ids {
            let Ok(tab) = self.tabs.get_mut(tab_id) else { continue };
            tab.attached = false;
            tab.window.detach();
            if let Some(session_id) = self.tabs.map.session_of(tab_id).map(str::to_owned) {
                self.set_muted(&session_id, true);
            }
        }
        Empty {}
    }

    pub(in crate::app) fn tab_attach(&mut self, params: TabAttachParams) -> TabAttachResult {
        let epoch = self.tab_epoch();
        let tabs = params.tabs.into_iter().map(|seen| {
            if self.tabs.get(&seen.tab_id).is_err() {
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
        let replayed = tab.window.attach(last);
        match &session_id {
            Some(session_id) => {
                if let Some(live) = self.live_mut(session_id) {
                    live.attached = true;
                }
                self.set_muted(session_id, false);
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

    pub(in crate::app) fn tab_ack(&mut self, params: &TabAckParams) -> Result<Empty, WireError> {
        self.tabs.get_mut(&params.tab_id)?.window.acknowledge(params.index);
        self.pump(&params.tab_id);
        Ok(Empty {})
    }

    /// Suspends `bb/events` and `bb/view` of a session, or lets them go on from the journal.
    pub(super) fn set_muted(&mut self, session_id: &str, muted: bool) {
        let Some(live) = self.live_mut(session_id) else { return };
        if muted {
            live.muted = true;
        } else {
            self.unmute(session_id);
        }
    }

    /// The client asks for this session itself, whatever its tab is: it hears it.
    pub(in crate::app) fn unmute(&mut self, session_id: &str) {
        if let Some(live) = self.live_mut(session_id)
            && std::mem::take(&mut live.muted)
            && live.attached
        {
            self.catch_up(session_id);
        }
    }

    /// Notes that a batch of a suspended session was not told; both are read again later.
    pub(in crate::app) fn miss_batches(live: &mut crate::app::live::Live, from_seq: u64) {
        if live.flow == Flow::Direct {
            live.flow = Flow::Behind { next_seq: from_seq };
        }
        live.view_stale = true;
    }
}
