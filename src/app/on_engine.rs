//! What happens on an engine's report: one path from `EngineEvent` to the journal, for every engine.

use super::deliver::Recording;
use super::live::{LastWords, Writing};
use super::ports::{EngineCursor, EngineReport, EngineTraits, LedgerRow, StreamReport, TurnEnd};
use super::record::{Ask, Settler};
use super::run::guarded;
use super::sessions::Session;
use super::state::App;
use crate::domain::approval::{PermissionAsk, PermissionOptionKind, PermissionStatus, rule_allows};
use crate::domain::dialect::{Dialect, fact, normalize, runs_here};
use crate::domain::event::{EngineEvent, EventClass, NormalizedEvent};
use crate::domain::fact::{Answered, Confirmed, Fact, Prompt, TurnReport};

/// Asks of one session that can wait at an engine that holds it; it asks step by step, a few at a time. What is past that
/// stays an event without a card.
const ASKS: usize = 256;

impl App {
    /// One report.
    pub(super) fn on_report(&mut self, report: EngineReport) {
        match report {
            EngineReport::Said { session_id, event, cursor } => self.said(&session_id, event, cursor),
            EngineReport::SaidMany { session_id, events } => {
                for (event, cursor) in events {
                    // Each by itself: a fault in one takes no other down.
                    guarded(self, "engine event", |app| app.said(&session_id, event, cursor));
                }
            }
            EngineReport::TurnEnded { session_id, turn, failure, cancelled } => {
                self.release(&session_id);
                self.turn_over(&session_id, turn, failure, cancelled)
            }
            EngineReport::Stepped { session_id, turn, step } => self.stepped(&session_id, turn, step),
            EngineReport::EditMade { session_id, request_id, made } => {
                self.edit_made(&session_id, &request_id, &made);
            }
            EngineReport::Wants { session_id, want } => self.wanted(&session_id, want),
            EngineReport::BackgroundOver { session_id, call_id } => {
                self.background_over(&session_id, &call_id);
            }
            EngineReport::Connectivity(reach) => self.reached(reach),
            EngineReport::SessionMade { wish, outcome, reply } => self.session_made(wish, outcome, reply),
            EngineReport::SessionsListed { outcome, reply } => self.sessions_listed(outcome, reply),
            EngineReport::SessionDeleted { session_id, outcome, reply } => {
                reply.settle(outcome.and_then(|()| self.delete_here(&session_id)));
            }
            EngineReport::Stream(report) => self.on_stream_report(report),
            EngineReport::Agent(report) => self.on_agent_report(report),
            EngineReport::Noticed { session_id, level, text, remedy } => {
                if self.may_record(&session_id) {
                    self.noticed(&session_id, level, &text, &remedy);
                }
            }
        }
    }

    /// What only engines say whose sessions are streams.
    fn on_stream_report(&mut self, report: StreamReport) {
        match report {
            StreamReport::QuietBehindAnother { session_id, turn } => self.unclaimed(&session_id, turn),
            StreamReport::Link { session_id, news } => self.link_news(&session_id, news),
            StreamReport::Answered { session_id, request_id, outcome, reply } => {
                self.decision_taken(&session_id, &request_id, outcome, reply);
            }
            StreamReport::Commanded { session_id, command, outcome, reply } => {
                self.commanded(&session_id, &command, outcome, reply);
            }
            StreamReport::Downloading { token, bytes, total } => self.downloading(&token, bytes, total),
            StreamReport::Downloaded { artifact_path, outcome, purpose, .. } => {
                self.downloaded(&artifact_path, outcome, purpose)
            }
            StreamReport::Rebuilt { session_id, outcome, reply } => {
                self.rebuilt(&session_id, outcome, reply);
            }
        }
    }

    fn said(&mut self, session_id: &str, event: EngineEvent, cursor: Option<EngineCursor>) {
        // A session that was deleted while its engine still spoke, or that another window works on.
        if !self.may_record(session_id) || self.load(session_id).is_err() {
            return;
        }
        if self.waits_for_nothing(session_id) {
            return self.take_whole(session_id, event, cursor);
        }
        for (event, cursor) in self.whole_words(session_id, event, cursor) {
            self.take_whole(session_id, event, cursor);
        }
    }

    /// Takes in one event, and whatever it leads to, before anything of it is written: after a kill the engine is asked for
    /// what follows the place in the journal, so the place stands there with its event, and the end of a turn with the
    /// event that ended it.
    pub(super) fn take_whole(&mut self, session_id: &str, event: EngineEvent, cursor: Option<EngineCursor>) {
        if let Some(live) = self.live_mut(session_id) {
            // What is said beside a run, such as that a stop was asked for, has no turn.
            if cursor.is_some() && event.turn.is_some() {
                live.last_words = LastWords::Heard;
            }
            live.writing = Writing::Together;
        }
        self.take_in(session_id, event, cursor);
        let Some(live) = self.live_mut(session_id) else { return };
        live.writing = Writing::AtOnce;
        if live.batcher.is_full() {
            self.flush(session_id);
        }
    }

    fn take_in(&mut self, session_id: &str, event: EngineEvent, cursor: Option<EngineCursor>) {
        let dialect = self.dialect_of(session_id);
        let normalized = normalize(dialect, event);
        let traits = self.traits_of(session_id);
        let news = LoopNews::of(dialect, &normalized.event);
        if traits.turn_end == TurnEnd::Event
            && let LoopNews::Begins { words } = &news
        {
            self.run_begins(session_id, words);
        }
        if let LoopNews::Tool { name } = &news {
            self.report_progress(session_id, name);
        }
        let recording = Recording { event: normalized.event, cursor };
        match normalized.ask {
            Some(ask) if self.gets_a_card(session_id, traits, &ask) => {
                self.take_ask(session_id, dialect, ask, recording);
            }
            Some(_) => self.record(session_id, recording),
            None => {
                self.record(session_id, recording);
                self.heed(session_id, traits, news);
            }
        }
    }

    /// Does what an event means beside what is shown of it, once it is recorded.
    fn heed(&mut self, session_id: &str, traits: EngineTraits, news: LoopNews) {
        match news {
            // An engine that settles with our answer may tell of another client's.
            LoopNews::Answered(answer) => {
                self.confirmed(session_id, answer);
            }
            LoopNews::Ends { cancelled } if traits.turn_end == TurnEnd::Event => {
                self.run_ended(session_id, cancelled);
            }
            LoopNews::Ends { .. } | LoopNews::Begins { .. } | LoopNews::Tool { .. } | LoopNews::Nothing => {}
        }
    }

    /// Whether an ask gets a card. Not when it is said again after a resume, nor when too many wait. One that waits under the
    /// same id and is another gives way.
    fn gets_a_card(&mut self, session_id: &str, traits: EngineTraits, ask: &PermissionAsk) -> bool {
        if !traits.resume.is_followed() {
            return true;
        }
        let number = engine_number(ask);
        match self.same_id(session_id, &ask.engine_request_id) {
            Some((_, known)) if known == number || known.is_none() || number.is_none() => return false,
            // Engines begin their ids again with every run: nobody waits for the older one any more.
            Some((older, _)) => {
                self.settle_ask(session_id, &older, PermissionStatus::Cancelled, "", Settler::Engine);
            }
            None => {}
        }
        self.live_mut(session_id).is_none_or(|live| live.asks.len() < ASKS)
    }

    /// A new ask: what would happen is completed from what is known here, and it gets a card beside its event.
    fn take_ask(&mut self, session_id: &str, dialect: Dialect, ask: PermissionAsk, mut recording: Recording) {
        let engine_seq = engine_number(&ask);
        let asked_at = self.ambient.now_ms();
        let mut ask = self.completed(session_id, dialect, ask);
        if runs_here(dialect, &recording.event.kind) {
            ask = self.save_before(session_id, ask);
        }
        let root_name = self.root_name_in(&ask.payload);
        let root = self.ask_root(session_id, root_name.as_deref());
        let standing = self.standing_verdict(session_id, &ask.subject, &root, root_name.as_deref());
        if standing.as_ref().is_some_and(|standing| standing.is_guarded) {
            ask = ask.without_rules();
        }
        let mut permission = self.permission(session_id, &ask, &root, asked_at);
        permission.policy = standing.map(|standing| Box::new(standing.told));
        let proposal = self.proposal(session_id, &ask, &root);
        if let Some(proposal) = &proposal {
            permission.parts = Some(proposal.hunks().count() as u64);
            // Of one that the engine gave no name, the name of the request.
            permission.patch_id.get_or_insert_with(|| permission.request_id.clone());
        }
        recording.event.permission = Some(Box::new(permission.clone().cut()));
        let (source, generation) = self.who_asks(session_id, &ask.engine_request_id);
        let ask = Ask {
            permission,
            rules: ask.rules(),
            root,
            root_name,
            source,
            generation,
            asked_at,
            engine_request_id: ask.engine_request_id,
            status: PermissionStatus::Pending,
            resolved_by: None,
            given: None,
            given_rule: None,
            given_by: None,
            client: None,
            answered: None,
            engine_seq,
            proposal,
            sent: false,
        };
        self.ask(session_id, ask, recording);
    }

    /// The ask with this id of the engine's that waits: our id and the engine's number of it.
    pub(super) fn same_id(
        &mut self,
        session_id: &str,
        engine_request_id: &str,
    ) -> Option<(String, Option<u64>)> {
        let asks = &self.live_mut(session_id)?.asks;
        let (id, ask) = asks.iter().find(|(_, ask)| ask.engine_request_id == engine_request_id)?;
        Some((id.clone(), ask.engine_seq))
    }

    /// An ask: into the ledger with its event, then settled at once when a saved rule covers it.
    fn ask(&mut self, session_id: &str, ask: Ask, recording: Recording) {
        let (request_id, asked_at) = (ask.permission.request_id.clone(), ask.asked_at);
        let asked = ask.server_rule();
        let asked = asked.as_ref();
        let of_session = |session: &Session| rule_allows(&session.record.rooted_rules, asked, &ask.root);
        let policy = ask.permission.policy.clone();
        // Another window may have taken a rule back.
        self.read_rules();
        let covered = self.turn_trusted(session_id)
            && (rule_allows(&self.rules, asked, &ask.root) || self.known(session_id).is_ok_and(of_session));
        let by_rule = PermissionAsk::choose(
            &ask.permission.options,
            None,
            crate::domain::approval::Decision::AllowOnce,
        )
        .filter(|option| covered && option.kind != PermissionOptionKind::Deny);
        if let Some(live) = self.live_mut(session_id) {
            live.pending.ledger.push(LedgerRow {
                request_id: request_id.clone(),
                status: ask.status,
                record: serde_json::to_vec(&ask).unwrap_or_default(),
            });
            live.asks.insert(request_id.clone(), ask);
        }
        self.watch_expiry(session_id, &request_id, asked_at);
        self.state_changed = true;
        self.record(session_id, recording);
        // The user waits for this one: no window for it.
        self.flush(session_id);
        if policy.is_some_and(|policy| self.answer_by_policy(session_id, &request_id, &policy)) {
            return;
        }
        self.look_at_bases(session_id, &request_id);
        if let Some(option) = by_rule {
            self.settle_ask(
                session_id,
                &request_id,
                PermissionStatus::Allowed,
                &option.option_id,
                Settler::Rule,
            );
        }
    }
}

/// The engine's number of an ask, where it has one.
fn engine_number(ask: &PermissionAsk) -> Option<u64> {
    ask.payload.get("seq").and_then(serde_json::Value::as_u64)
}

/// What an event tells the loop itself, beside what is shown of it.
enum LoopNews {
    /// The engine began to work, on a prompt of these words.
    Begins {
        words: String,
    },
    /// The engine ended a run.
    Ends {
        cancelled: bool,
    },
    /// An answer counted.
    Answered(Confirmed),
    /// A tool was called.
    Tool {
        name: String,
    },
    Nothing,
}

impl LoopNews {
    /// Reads the events of the classes that can tell such a thing, and no others: pieces of text are most of a stream.
    fn of(dialect: Dialect, event: &NormalizedEvent) -> Self {
        match event.class {
            EventClass::UserMessage
            | EventClass::TurnStart
            | EventClass::RunFinished
            | EventClass::SessionLifecycle
            | EventClass::PermissionResponse
            | EventClass::TaskEvent
            | EventClass::ToolCall => Self::read(fact(dialect, event)),
            EventClass::AssistantStream
            | EventClass::ReasoningStream
            | EventClass::ToolResult
            | EventClass::ToolOutput
            | EventClass::PermissionRequest
            | EventClass::CheckpointList
            | EventClass::CheckpointRestored
            | EventClass::SkillsCatalog
            | EventClass::SkillsSelection
            | EventClass::CtreeNode
            | EventClass::CtreeSnapshot
            | EventClass::RewardUpdate
            | EventClass::RunLogLink
            | EventClass::RunErrorOrGap
            | EventClass::PlanUpdate
            | EventClass::TodoUpdate
            | EventClass::ContextCompaction
            | EventClass::RetrievalStatus
            | EventClass::PatchProposed
            | EventClass::UsageUpdate
            | EventClass::Notice
            | EventClass::TurnChanges
            | EventClass::UnknownEvent => Self::Nothing,
        }
    }

    fn read(fact: Fact<'_>) -> Self {
        match fact {
            Fact::Prompt(Prompt::Echo { words, .. }) => {
                Self::Begins { words: words.unwrap_or_default().into_owned() }
            }
            Fact::TurnBegan => Self::Begins { words: String::new() },
            Fact::TurnEnded(end) => match end.report {
                TurnReport::Part(report) if !report.last => Self::Nothing,
                TurnReport::Part(_) | TurnReport::Whole { .. } => Self::Ends { cancelled: false },
            },
            Fact::TurnClosed(closed) => Self::Ends { cancelled: closed.cancelled },
            Fact::Answered(Answered::Confirmed(confirmed)) => Self::Answered(confirmed),
            Fact::Task(news) => news.answered.map_or(Self::Nothing, Self::Answered),
            Fact::ToolCall(news) => Self::Tool { name: news.name.unwrap_or_else(|| "a tool".to_owned()) },
            Fact::Prompt(Prompt::Sent { .. } | Prompt::Context { .. } | Prompt::History { .. })
            | Fact::Text(_)
            | Fact::ToolOutput(_)
            | Fact::ToolResult(_)
            | Fact::Terminal(_)
            | Fact::Plan(_)
            | Fact::Patch(_)
            | Fact::Ask { .. }
            | Fact::Answered(Answered::Settled { .. } | Answered::Saving { .. } | Answered::Unnamed)
            | Fact::Usage(_)
            | Fact::Reward(_)
            | Fact::Mode(_)
            | Fact::Commands(_)
            | Fact::Checkpoints(_)
            | Fact::Restored(_)
            | Fact::Compaction(_)
            | Fact::Search { .. }
            | Fact::Link(_)
            | Fact::Picture(_)
            | Fact::TreeNode
            | Fact::Tree { .. }
            | Fact::Command { .. }
            | Fact::Changes(_)
            | Fact::Earlier(_)
            | Fact::Notice(_)
            | Fact::Gap(_)
            | Fact::Failure(_)
            | Fact::Exited { .. }
            | Fact::Nothing
            | Fact::Unknown => Self::Nothing,
        }
    }
}
