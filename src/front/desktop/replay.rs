//! What followed the last that a client has, message by message.
//!
//! Owns where a client begins to hear: at the newest page, or behind what it has. A replay reads the journal's events page by page, so
//! that its length costs time and no memory, and makes of each what it was made of live. Never decides whether something is missing:
//! the loop does.

use std::sync::Arc;

use super::link::SessionLink;
use super::loop_client::LoopClient;
use super::translate::{ClientNews, TokenPieces, Translator};
use crate::domain::dialect::Dialect;
use crate::domain::event::SessionEvent;
use crate::domain::sentence::sentence;
use crate::domain::view::{BlockBody, Lane, View, ViewLanes, ViewState};
use crate::protocol::Request;
use crate::protocol::desktop::host_message::{HostMessage, SessionCursor};
use crate::protocol::desktop::refusal::DesktopRefusal;
use crate::protocol::notification::{EventsParams, ViewParams};
use crate::protocol::request::{
    EventsReadParams, EventsReadResult, InitParams, InitResult, LastSeen, Resume, ResumeVerdict, Subscribe,
    ViewPageParams, ViewPageResult,
};

/// Events that are read at once.
const PAGE: u64 = 500;

/// Blocks of an older page of the transcript, where the end of a turn is looked for.
const OLDER: u64 = 500;

/// What a client says that it has, and how it wants to hear the rest.
#[derive(Debug)]
pub(super) struct ClientHas {
    pub(super) last_seen: Option<SessionCursor>,
    pub(super) replay: bool,
}

impl ClientHas {
    /// What it has of this session, where that is something.
    fn seen(&self) -> Option<&SessionCursor> {
        self.last_seen.as_ref().filter(|seen| !seen.epoch.is_empty())
    }

    /// Tells the loop, and gives what it says of itself and of what the client has.
    pub(super) async fn tell(
        &self,
        client: &LoopClient,
        session_id: &str,
    ) -> Result<(InitResult, Option<Resume>), DesktopRefusal> {
        let init = |events, last_seen| {
            let hears =
                Subscribe { events: Some(events), view: Some(true), tabs: Some(false), max_latency_ms: None };
            Request::Init(InitParams { subscribe: Some(hears), last_seen })
        };
        let Some(seen) = self.seen() else { return Ok((client.ask(init(true, None)).await?, None)) };
        let last_seen = LastSeen {
            epochs: [(session_id.to_owned(), seen.epoch.clone())].into(),
            epoch: seen.epoch.clone(),
            sessions: Some([(session_id.to_owned(), seen.seq)].into()),
        };
        // A replay reads the events itself.
        let mut known: InitResult = client.ask(init(!self.replay, Some(last_seen))).await?;
        let resume = known.resume.remove(session_id);
        if self.replay {
            known = client.ask(init(true, None)).await?;
        }
        Ok((known, resume))
    }
}

/// Where a client begins to hear.
#[derive(Debug)]
pub(super) enum HearingFrom {
    /// At the newest page of the transcript; what became of what it has, where it has something.
    Page(Option<Resume>),
    /// Behind what it has.
    Replay {
        /// The last event that it has.
        behind: u64,
        /// What its session's engine speaks.
        dialect: Dialect,
        /// What became of what it has.
        resume: Resume,
    },
}

impl HearingFrom {
    /// For a session whose view is this one, where the loop has judged what the client has.
    pub(super) fn of(has: &ClientHas, resume: Option<Resume>, dialect: Dialect, view: &View) -> Self {
        if !has.replay {
            return Self::Page(resume);
        }
        let Some(seen) = has.seen() else {
            return Self::Replay { behind: 0, dialect, resume: replayed(0, view.seq) };
        };
        match resume {
            Some(resume) if seen.epoch == view.epoch && is_followed(&resume) => {
                let behind = seen.seq;
                let resume = match resume.verdict {
                    ResumeVerdict::Lost => resume,
                    // More may have come since it was judged.
                    _ => replayed(behind, view.seq),
                };
                Self::Replay { behind, dialect, resume }
            }
            resume => {
                Self::Page(resume.or_else(|| Some(lost("the host does not know this session's numbers"))))
            }
        }
    }
}

/// Whether the journal has all that followed. What the engine of the session lost is another matter, and stays said.
fn is_followed(resume: &Resume) -> bool {
    resume.verdict != ResumeVerdict::Lost || resume.events.is_some()
}

/// What cannot be told again, and why.
pub(super) fn lost(reason: &str) -> Resume {
    Resume {
        verdict: ResumeVerdict::Lost,
        events: None,
        from: None,
        to: None,
        reason: Some(sentence(reason)),
    }
}

fn replayed(behind: u64, head: u64) -> Resume {
    let events = head.saturating_sub(behind);
    let verdict = if events == 0 { ResumeVerdict::Complete } else { ResumeVerdict::Replayed };
    let some = |seq| (events > 0).then_some(seq);
    Resume { verdict, events: Some(events), from: some(behind + 1), to: some(head), reason: None }
}

/// A replay that is under way.
pub(super) struct EventReplay {
    link: Arc<SessionLink>,
    view: ViewState,
    translator: Translator,
    epoch: String,
    next: u64,
    behind: u64,
    head: u64,
}

impl EventReplay {
    /// Of what followed `behind` up to where this view stands. It reads on from the beginning of the turn before the one that was
    /// open there, so that the rest of a turn is told as what it is, and what is said of a turn behind its end as no turn.
    ///
    /// # Errors
    /// When older pages of the transcript cannot be read.
    pub(super) async fn open(
        link: Arc<SessionLink>,
        (dialect, pieces): (Dialect, TokenPieces),
        behind: u64,
        view: &View,
    ) -> Result<Self, DesktopRefusal> {
        let begun = if behind == 0 { 0 } else { end_before(&link, behind, view).await? };
        let empty = View { epoch: view.epoch.clone(), seq: begun, lanes: ViewLanes::default() };
        Ok(Self {
            view: ViewState::default().speaking(dialect),
            translator: Translator::begin(&empty, pieces).0,
            epoch: view.epoch.clone(),
            next: begun + 1,
            behind,
            head: view.seq,
            link,
        })
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// When the journal does not have what it should.
    pub(super) async fn read(&mut self) -> Result<Option<Vec<ClientNews>>, DesktopRefusal> {
        if self.next > self.head {
            return Ok(self.rest());
        }
        let wanted = EventsReadParams {
            session_id: self.link.session_id.clone(),
            from_seq: self.next,
            limit: Some(PAGE.min(self.head - self.next + 1)),
        };
        let page: EventsReadResult = self.link.ask(Request::EventsRead(wanted)).await?;
        let Some(last) = page.events.last().map(|event| event.seq) else { return Ok(self.rest()) };
        let mut told = Vec::new();
        for event in page.events {
            self.take(event, &mut told);
        }
        self.next = last + 1;
        Ok(Some(joined(told)))
    }

    /// A piece of an answer that waited to be a larger one.
    fn rest(&mut self) -> Option<Vec<ClientNews>> {
        self.translator.owes()?;
        let mut told = Vec::new();
        self.translator.tell_pieces(&mut told);
        told.push(ClientNews::UpTo(self.translator.cursor.seq));
        Some(told)
    }

    fn take(&mut self, event: SessionEvent, told: &mut Vec<ClientNews>) {
        let seq = event.seq;
        let changes = self.view.apply(&event);
        let (session_id, epoch) = (self.link.session_id.clone(), self.epoch.clone());
        let mut news = self.translator.events(&EventsParams {
            session_id: session_id.clone(),
            epoch: epoch.clone(),
            from_seq: seq,
            to_seq: seq,
            events: vec![event],
        });
        let params = ViewParams { session_id, epoch, from_seq: seq, to_seq: seq, changes, snapshot: None };
        news.extend(self.translator.view(params));
        if seq > self.behind {
            told.append(&mut news);
            told.extend(self.translator.owes().is_none().then_some(ClientNews::UpTo(seq)));
        }
    }
}

/// The end of the last turn but one that was over by then; 0 where there is none.
async fn end_before(link: &SessionLink, behind: u64, view: &View) -> Result<u64, DesktopRefusal> {
    let mut page =
        ViewPageResult { blocks: view.lanes.chat.blocks.clone(), has_more: view.lanes.chat.has_more };
    let mut over = 0;
    loop {
        let ends = page.blocks.iter().rev().filter(|block| matches!(block.body, BlockBody::TurnEnd { .. }));
        for end in ends.map(|block| block.seq).filter(|seq| *seq <= behind) {
            over += 1;
            if over == 2 {
                return Ok(end);
            }
        }
        let Some(first) = page.blocks.first().filter(|_| page.has_more) else { return Ok(0) };
        let wanted = ViewPageParams {
            session_id: Some(link.session_id.clone()),
            tab_id: None,
            lane: Lane::Chat,
            before: Some(first.id.clone()),
            limit: Some(OLDER),
        };
        page = link.ask(Request::ViewPage(wanted)).await?;
    }
}

/// Pieces of an answer that wait behind one another go as one.
fn joined(told: Vec<ClientNews>) -> Vec<ClientNews> {
    let mut joined: Vec<ClientNews> = Vec::with_capacity(told.len());
    for next in told {
        // The place of one that goes with what follows is told with that.
        let follows =
            is_token(&next) && joined.len() > 1 && joined.get(joined.len() - 2).is_some_and(is_token);
        joined.pop_if(|last| follows && matches!(last, ClientNews::UpTo(_)));
        if let (Some(ClientNews::Message(last)), ClientNews::Message(message)) = (joined.last_mut(), &next)
            && let HostMessage::Token { token, cumulative_text } = &mut **last
            && let HostMessage::Token { token: more, cumulative_text: all } = &**message
        {
            token.push_str(more);
            cumulative_text.clone_from(all);
            continue;
        }
        joined.push(next);
    }
    joined
}

fn is_token(told: &ClientNews) -> bool {
    matches!(told, ClientNews::Message(message) if matches!(**message, HostMessage::Token { .. }))
}
