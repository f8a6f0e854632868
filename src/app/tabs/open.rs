//! How a tab gets its session, and how both end.
//!
//! Owns the making, the taking over and the closing. Never sends a message itself: `show` does.

use super::{TABS, Tab};
use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::app::ports::{EngineSession, NewSession, SessionReply};
use crate::app::record::Record;
use crate::app::sessions::Session;
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::protocol::settings::EngineKind;
use crate::protocol::tab::*;

impl App {
    pub(in crate::app) fn tab_open(
        &mut self,
        client: ClientId,
        params: TabOpenParams,
    ) -> Result<TabOpenResult, CodedError> {
        check_uuid("tabId", &params.tab_id)?;
        let tab_id = params.tab_id;
        let epoch = self.tab_epoch();
        if self.tabs.get(&tab_id).is_ok() {
            let index = self.open_again(&tab_id, params.session_id)?;
            return Ok(TabOpenResult { tab_id, epoch, index });
        }
        if let Some(session_id) = &params.session_id {
            self.load(session_id)?;
            self.take_from_other_tab(client, session_id)?;
        }
        self.make_room()?;
        self.tabs.tabs.insert(tab_id.clone(), Tab::new(client, &tab_id, params.agent));
        self.tabs.order.push(tab_id.clone());
        let made = match params.session_id {
            Some(session_id) => {
                match self.is_over(&session_id) {
                    true => self.tab_reads(&tab_id, &session_id),
                    false => self.tab_has(&tab_id, &session_id),
                }
                // What was said before the tab was opened.
                if let Ok(tab) = self.tabs.get_mut(&tab_id) {
                    tab.window.collapse();
                }
                self.pump(&tab_id);
                Ok(())
            }
            None => self.make_session_of(&tab_id),
        };
        if let Err(error) = made {
            self.tabs.tabs.remove(&tab_id);
            self.tabs.order.retain(|other| *other != tab_id);
            return Err(error);
        }
        self.keep_tab(&tab_id);
        Ok(TabOpenResult { tab_id, epoch, index: 0 })
    }

    /// A tab that is there already, opened once more: its view comes back, and what failed is tried again. Gives the index of its
    /// last message.
    fn open_again(&mut self, tab_id: &str, wanted: Option<String>) -> Result<u64, CodedError> {
        let tab = self.tabs.get(tab_id)?;
        let shown = tab.record.session_id.as_ref().or(tab.record.ended.as_ref());
        if wanted.is_some_and(|wanted| shown != Some(&wanted)) {
            return Err(CodedError::new(
                ErrorCode::Conflict,
                "This tab shows another session; open a new tab for this one.",
            ));
        }
        let index = tab.window.index();
        if !tab.attached {
            self.show_tab(tab_id, None);
        } else if tab.error.is_some() {
            self.make_session_of(tab_id)?;
        }
        Ok(index)
    }

    /// A session has one tab of a client. One whose view is gone gives it up.
    fn take_from_other_tab(&mut self, client: ClientId, session_id: &str) -> Result<(), CodedError> {
        match self.tabs.tab_of(client, session_id) {
            Some(other) if self.tabs.get(&other)?.attached => Err(CodedError::new(
                ErrorCode::Conflict,
                "Another tab shows this session; use that one, or close it first.",
            )),
            Some(other) => {
                self.drop_tab(&other);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn make_room(&mut self) -> Result<(), CodedError> {
        if self.tabs.tabs.len() < TABS {
            return Ok(());
        }
        let oldest = self.tabs.order.iter().find(|id| self.tabs.get(id).is_ok_and(|tab| !tab.attached));
        match oldest.cloned() {
            Some(oldest) => {
                self.drop_tab(&oldest);
                Ok(())
            }
            None => Err(CodedError::new(
                ErrorCode::Overloaded,
                format!("{TABS} tabs are open; close one of them first."),
            )),
        }
    }

    /// Has a session made for a tab that has none: here, or at the engine, which answers with `SessionMade`.
    pub(super) fn make_session_of(&mut self, tab_id: &str) -> Result<(), CodedError> {
        let tab = self.tabs.get(tab_id)?;
        if tab.making.is_some() || tab.record.session_id.is_some() || tab.record.ended.is_some() {
            return Ok(());
        }
        let agent = tab.record.agent.clone();
        let kind = self.kind_for(agent.as_deref());
        if kind == EngineKind::Acp {
            // An agent is a program: it is started for its first session.
            self.may_run(self.prompter_of_tab(tab_id), kind)?;
        }
        let engine = self.engine_for(kind)?;
        if !engine.traits().sessions.is_elsewhere() {
            let session_id = self.ambient.fresh_id();
            let record = Record::new(session_id.clone(), self.ambient.now_ms(), None, kind);
            self.sessions.insert(session_id.clone(), Session::new(record));
            self.load(&session_id)?;
            self.state_changed = true;
            self.tab_has(tab_id, &session_id);
            return Ok(());
        }
        let wish = NewSession {
            workspace: self.workspace.folders.first().and_then(|folder| folder.path.clone()),
            agent,
            client: self.tabs.get(tab_id)?.client(),
            ..NewSession::default()
        };
        let (waits, making) = Reply::new();
        self.make_session(kind, wish, SessionReply::Tab { tab_id: tab_id.to_owned(), waits });
        let tab = self.tabs.get_mut(tab_id)?;
        tab.making = Some(making);
        tab.error = None;
        Ok(())
    }

    /// The engine that a tab uses.
    pub(super) fn kind_for(&self, agent: Option<&str>) -> EngineKind {
        if agent.is_some() { EngineKind::Acp } else { self.settings.engine.kind }
    }

    /// The engine made the session of a tab, or could not.
    pub(in crate::app) fn session_made_for_tab(
        &mut self,
        tab_id: &str,
        wish: &NewSession,
        outcome: Result<EngineSession, CodedError>,
        waits: &Reply<()>,
    ) {
        // A tab that was closed and opened again under its id waits for another one: nobody holds the other end of this.
        let waits =
            !waits.is_abandoned() && self.tabs.get(tab_id).is_ok_and(|tab| tab.record.session_id.is_none());
        let made = match outcome {
            Ok(made) => made,
            Err(error) if waits => return self.tab_failed(tab_id, &error),
            Err(_) => return,
        };
        let session_id = self.know(made, Some(wish));
        if !waits {
            // It was closed meanwhile.
            return self.close_session(&session_id);
        }
        match self.load(&session_id) {
            Ok(()) => self.tab_has(tab_id, &session_id),
            Err(error) => self.tab_failed(tab_id, &error),
        }
    }

    fn tab_failed(&mut self, tab_id: &str, error: &CodedError) {
        let Ok(tab) = self.tabs.get_mut(tab_id) else { return };
        tab.making = None;
        tab.error = Some(TabError::of(error));
        self.post(tab_id, None, TabMessage::Error { code: error.code, message: error.message.clone() });
        self.pump(tab_id);
    }

    /// A tab has a session that is loaded: both maps and the journal know it before anybody is told (R001-47). Then the
    /// prompts that waited go on.
    pub(super) fn tab_has(&mut self, tab_id: &str, session_id: &str) {
        self.tabs.map.link(tab_id, session_id);
        let Ok(tab) = self.tabs.get_mut(tab_id) else { return };
        tab.making = None;
        tab.error = None;
        tab.record.session_id = Some(session_id.to_owned());
        tab.record.ended = None;
        tab.record.prompts.clear();
        let (record, audience, client) = (tab.record.clone(), tab.audience(), tab.client());
        let told = self.told_of(session_id, &record);
        let queue = self.queue_of_tab(tab_id);
        if let Ok(tab) = self.tabs.get_mut(tab_id) {
            tab.told = told;
            // Of a session that was there before, the snapshot tells it.
            tab.queue = queue;
        }
        if let Some(client) = client {
            self.subscribe(client, session_id);
        }
        if self.sessions.get(session_id).is_some_and(|session| session.saved.is_none())
            && let Some(live) = self.live_mut(session_id)
        {
            live.pending.record_changed = true;
        }
        if let Some(client) = client {
            self.set_audience(client, session_id, audience);
        }
        self.keep_tab(tab_id);
        self.flush(session_id);
        self.post(tab_id, None, TabMessage::SessionCreated {});
        self.pump(tab_id);
        self.follow(session_id);
        self.let_waiting_go(tab_id, session_id);
    }

    pub(in crate::app) fn tab_close(
        &mut self,
        client: ClientId,
        params: &TabIdParams,
    ) -> Result<TabIdResult, CodedError> {
        self.tabs.get(&params.tab_id)?;
        // Before its turn ends: nobody hears of that any more.
        // What another window works on, or another client follows, goes on there.
        let session_id = self.drop_tab(&params.tab_id);
        let followed = |id: &String| self.clients.followers(id).any(|(follower, _)| follower != client);
        let elsewhere = |id: &String| self.leases.elsewhere.contains(id) || followed(id);
        if let Some(session_id) = session_id.filter(|id| !elsewhere(id)) {
            self.stop(&session_id)?;
            self.close_session(&session_id);
        }
        Ok(TabIdResult { tab_id: params.tab_id.clone() })
    }

    /// The engine ended a session: both entries of it go (R001-49). Its tabs keep what was said in it, to be read, and take no
    /// prompt: one that began another session under what is read there would be no answer to it.
    pub(in crate::app) fn tab_session_ended(&mut self, session_id: &str) {
        let error = self.takes_no_more(session_id);
        for tab_id in self.tabs.map.unlink_session(session_id) {
            let Ok(tab) = self.tabs.get_mut(&tab_id) else { continue };
            tab.record.ended = tab.record.session_id.take();
            let client = tab.client();
            let waited = std::mem::take(&mut tab.queue) != Default::default();
            let open = tab.record.prompts.iter_mut().filter(|asked| asked.stop_reason.is_none());
            let open: Vec<String> = open
                .map(|asked| {
                    asked.stop_reason = Some("cancelled".to_owned());
                    asked.message_id.clone()
                })
                .collect();
            self.keep_tab(&tab_id);
            if let Some(client) = client {
                self.come_back(client, session_id);
            }
            self.nothing_more_comes(&tab_id, open, waited);
            self.tab_failed(&tab_id, &error);
        }
    }

    /// Tabs of sessions that ended while another window heard their engine.
    pub(in crate::app) fn end_tabs_of_others(&mut self) {
        let shown = self.tabs.tabs.values().filter_map(|tab| tab.record.session_id.clone());
        let ended: Vec<String> = shown.filter(|session_id| self.is_over(session_id)).collect();
        for session_id in ended {
            self.tab_session_ended(&session_id);
        }
    }

    /// A tab shows a session that has ended, to be read.
    fn tab_reads(&mut self, tab_id: &str, session_id: &str) {
        let error = TabError::of(&self.takes_no_more(session_id));
        if let Ok(tab) = self.tabs.get_mut(tab_id) {
            tab.record.ended = Some(session_id.to_owned());
            tab.error = Some(error);
        }
        self.keep_tab(tab_id);
    }

    /// A session is gone: so are both entries of it. A prompt in the tab begins a new one.
    pub(in crate::app) fn tab_session_gone(&mut self, session_id: &str) {
        let read = |tab: &Tab| tab.record.ended.as_deref() == Some(session_id);
        let mut tabs = self.tabs.map.unlink_session(session_id);
        tabs.extend(self.tabs.tabs.iter().filter(|(_, tab)| read(tab)).map(|(id, _)| id.clone()));
        for tab_id in tabs {
            self.tab_without_session(&tab_id);
        }
    }

    fn tab_without_session(&mut self, tab_id: &str) {
        let error = CodedError::new(
            ErrorCode::UnknownSession,
            "The session of this tab was deleted; send a prompt to begin a new one.",
        );
        let Ok(tab) = self.tabs.get_mut(tab_id) else { return };
        (tab.record.session_id, tab.record.ended) = (None, None);
        let prompts = std::mem::take(&mut tab.record.prompts);
        let waited = std::mem::take(&mut tab.queue) != Default::default();
        self.keep_tab(tab_id);
        let open = prompts.into_iter().filter(|asked| asked.stop_reason.is_none());
        let open = open.map(|asked| asked.message_id).collect();
        self.nothing_more_comes(tab_id, open, waited);
        self.tab_failed(tab_id, &error);
    }

    /// Nothing more comes of what was asked, and a client that waits for it would wait for ever.
    fn nothing_more_comes(&mut self, tab_id: &str, asked: Vec<String>, waited: bool) {
        for message_id in asked {
            let stop_reason = "cancelled".to_owned();
            self.post(tab_id, Some(message_id), TabMessage::ResponseComplete { stop_reason });
        }
        if waited {
            self.post(tab_id, None, TabMessage::Queue { items: Vec::new(), paused: false });
        }
    }

    /// The agent of a session ended on its own.
    pub(in crate::app) fn tab_agent_exited(&mut self, session_id: &str, generation: u64, code: Option<i32>) {
        for tab_id in self.tabs.tabs_of(session_id) {
            self.post(&tab_id, None, TabMessage::AgentExited { generation, code });
            self.pump(&tab_id);
        }
    }

    /// The session is open at a new process of its agent.
    pub(in crate::app) fn tab_agent_back(&mut self, session_id: &str) {
        for tab_id in self.tabs.tabs_of(session_id) {
            self.post(&tab_id, None, TabMessage::SessionCreated {});
            self.pump(&tab_id);
        }
    }
}
