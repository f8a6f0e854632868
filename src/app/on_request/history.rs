//! Reading what was: `bb/events/read`, `bb/eventBody`, `bb/view/page`, and the snapshot of a view.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::app::journalling::{from_seq_on, split};
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::view::{Block, Lane, LaneView, View, ViewLanes};
use crate::protocol::method::StandsFor;
use crate::protocol::request::*;

/// Bytes of events in one page.
const PAGE_BYTES: usize = 4 << 20;

/// Blocks of one lane in a snapshot.
const SNAPSHOT_BLOCKS: usize = 50;

/// How often a snapshot is made anew, because another window wrote blocks of it meanwhile. It does so every mebibyte of events.
const SNAPSHOT_TRIES: u32 = 4;

/// `EventsReadResult` with the events as they stand in the journal.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::app) struct EventsPage {
    events: Vec<Box<RawValue>>,
    has_more: bool,
}

/// `EventBodyResult` with the event as it stands in the journal.
#[derive(Serialize)]
pub(in crate::app) struct EventBody {
    pub(in crate::app) event: Box<RawValue>,
}

impl StandsFor<EventsReadResult> for EventsPage {}

impl StandsFor<EventBodyResult> for EventBody {}

impl App {
    pub(in crate::app) fn events_read(
        &mut self,
        params: &EventsReadParams,
    ) -> Result<EventsPage, CodedError> {
        self.load(&params.session_id)?;
        self.flush(&params.session_id);
        let limit = usize::try_from(params.limit.unwrap_or(500).clamp(1, 5_000)).unwrap_or(500);
        let from = params.from_seq.max(1);
        self.still_kept(&params.session_id, from)?;
        let head = self.live_mut(&params.session_id).map_or(0, |live| live.flushed);
        let mut events: Vec<Box<RawValue>> = Vec::new();
        let mut bytes = 0;
        'rows: for row in self.stored_batches(&params.session_id, from, PAGE_BYTES) {
            for event in split(&from_seq_on(row, from)) {
                bytes += event.get().len();
                if events.len() == limit || (bytes > PAGE_BYTES && !events.is_empty()) {
                    break 'rows;
                }
                events.push(event);
            }
        }
        let has_more = from + (events.len() as u64) <= head;
        if events.is_empty() && has_more {
            // Asked again it would be the same page.
            return Err(CodedError::new(
                ErrorCode::Internal,
                format!(
                    "The journal could not be read from event {from} on; run `breadboard-ls doctor`, or delete the session."
                ),
            ));
        }
        Ok(EventsPage { events, has_more })
    }

    pub(in crate::app) fn event_body(&mut self, params: &EventBodyParams) -> Result<EventBody, CodedError> {
        self.load(params.session())?;
        self.flush(params.session());
        self.still_kept(params.session(), params.seq.max(1))?;
        let row = self.stored_batches(params.session(), params.seq, 1).into_iter().next();
        let event = row
            .filter(|row| row.from_seq <= params.seq && params.seq <= row.to_seq)
            .and_then(|row| split(&from_seq_on(row, params.seq)).into_iter().next());
        match event {
            Some(event) => Ok(EventBody { event }),
            None => Err(CodedError::new(
                ErrorCode::NotFound,
                format!("The session has no event {}; read the events to see which there are.", params.seq),
            )),
        }
    }

    pub(in crate::app) fn view_page(
        &mut self,
        params: &ViewPageParams,
    ) -> Result<ViewPageResult, CodedError> {
        self.load(params.session())?;
        // A page shows the head, so what it holds must not follow as a change.
        self.flush(params.session());
        self.renew_copy(params.session());
        let limit = usize::try_from(params.limit.unwrap_or(50).clamp(1, 500)).unwrap_or(50);
        let (blocks, has_more) =
            self.lane_page(params.session(), params.lane, params.before.as_deref(), limit)?;
        Ok(ViewPageResult { blocks, has_more })
    }

    /// The newest page of each lane, at the head.
    pub(in crate::app) fn snapshot(&mut self, session_id: &str) -> Result<View, CodedError> {
        let mut tries = 0;
        loop {
            let mut lane = |lane| -> Result<LaneView, CodedError> {
                let (blocks, has_more) = self.lane_page(session_id, lane, None, SNAPSHOT_BLOCKS)?;
                Ok(LaneView { blocks, has_more })
            };
            let lanes = ViewLanes {
                chat: lane(Lane::Chat)?,
                tasks: lane(Lane::Tasks)?,
                run: lane(Lane::Run)?,
                debug: lane(Lane::Debug)?,
            };
            tries += 1;
            // The window that works on it may have written newer blocks meanwhile.
            if tries < SNAPSHOT_TRIES && self.renew_copy(session_id) {
                continue;
            }
            let (epoch, seq) = self
                .live_mut(session_id)
                .map_or_else(Default::default, |live| (live.epoch.clone(), live.head));
            return Ok(View { epoch, seq, lanes });
        }
    }

    /// Blocks of a lane, oldest first, and whether there are older ones: what is in memory wins over the stored pages.
    pub(in crate::app) fn lane_page(
        &mut self,
        session_id: &str,
        lane: Lane,
        before: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Block>, bool), CodedError> {
        let Some(session) = self.sessions.get(session_id) else {
            return Err(CodedError::unknown_session(session_id));
        };
        let Some(live) = session.live.as_deref() else { return Ok((Vec::new(), false)) };
        let Some(journal) = self.journal.as_mut() else { return Err(CodedError::internal()) };
        let before = match before {
            None => None,
            Some(id) => {
                let ord = match live.dirty.place(lane, id) {
                    Some(ord) => Some(ord),
                    None => journal.block(session_id, lane, id).ok().flatten().map(|row| row.ord),
                };
                Some(ord.ok_or_else(|| {
                    CodedError::new(
                        ErrorCode::NotFound,
                        "The lane has no such block; ask for its newest page.",
                    )
                })?)
            }
        };
        let mut failed = None;
        let mut stored = |before, limit| match journal.blocks(session_id, lane, before, limit) {
            Ok(rows) => rows
                .into_iter()
                .filter_map(|row| Some((row.ord, serde_json::from_slice(&row.block?).ok()?)))
                .collect(),
            Err(error) => {
                failed = Some(super::sessions::journal_failed(&error));
                Vec::new()
            }
        };
        let (blocks, has_more) = live.dirty.merged_page(lane, before, limit, &mut stored);
        if let Some(error) = failed {
            return Err(error);
        }
        let blocks = blocks.into_iter().map(|(_, block)| block).collect();
        Ok((blocks, has_more))
    }
}
