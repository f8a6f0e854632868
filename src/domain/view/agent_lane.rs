//! The reducer of a session that an agent holds (Agent Client Protocol): one event in, the changes of the view out.
//!
//! Owns where each event of such a session goes, and what is a replay of history. The words of this protocol are those of
//! other engines with other meanings, so its sessions are reduced here and nowhere else. Turns, asks, plans and notices are
//! those of every session.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::agent_texts::AgentTexts;
use super::agent_tools::{AgentTools, asked_call};
use super::block::{Block, BlockBody, Change, Lane, NoticeLevel};
use super::facts::{self, Chunk};
use super::open_text::Voice;
use super::reducer::ViewState;
use super::{cut, debug_lane, run_lane, run_notices};
use crate::domain::approval::PermissionStatus;
use crate::domain::event::{EventClass, LocalKind, Origin, SessionEvent};
use crate::domain::session::agent_state;

/// A prompt of history, as long as any prompt.
const PROMPT: usize = 512 * 1024;
/// JSON of the agent's counts.
const DETAILS: usize = 4 * 1024;
const WORD: usize = 200;
/// Compactions that are under way. Agents make one at a time; the oldest is forgotten.
const COMPACTIONS: usize = 4;

/// What is open in a session of an agent, beside what every session has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AgentView {
    texts: AgentTexts,
    tools: AgentTools,
    replay: Replay,
    /// The prompt of history that still grows.
    history: Option<HistoryPrompt>,
    /// The last counts of the context.
    usage: Option<Value>,
    compactions: Vec<(String, u64)>,
}

/// Whether what comes is history that an agent tells again. Live updates belong to a turn; history belongs to none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Replay {
    /// No.
    #[default]
    None,
    /// Yes, and nothing of it was here before: it is shown.
    Shown,
    /// Yes, and it was here before, more of it than the agent still has: it stands in the debug lane alone.
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct HistoryPrompt {
    message: Option<String>,
    id: String,
    bytes: usize,
}

impl ViewState {
    /// Takes in the next event of a session that an agent holds.
    pub(super) fn apply_agent(&mut self, event: &SessionEvent) -> Vec<Change> {
        let mut changes = Vec::new();
        self.run.hear(event);
        if event.origin == Origin::Engine && self.is_history(event) {
            changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            return changes;
        }
        match event.class {
            EventClass::UserMessage if event.origin == Origin::Local => {
                self.end_history(&mut changes);
                self.enter_turn(event, &mut changes);
                self.interrupt(&mut changes);
                self.transcript.prompt(event, &mut changes);
            }
            EventClass::UserMessage => self.history_prompt(event, &mut changes),
            EventClass::AssistantStream => self.agent_text(Voice::Answer, event, &mut changes),
            EventClass::ReasoningStream => self.agent_text(Voice::Reasoning, event, &mut changes),
            EventClass::ToolCall | EventClass::ToolOutput | EventClass::ToolResult => {
                self.agent_tool(event, &mut changes);
            }
            EventClass::PlanUpdate => {
                let turn = self.enter_turn(event, &mut changes);
                match facts::agent_plan(event) {
                    Some(plan) => self.transcript.plan(event, turn, Some(plan), &mut changes),
                    None => changes.push(Change::put(Lane::Debug, debug_lane::raw(event))),
                }
            }
            EventClass::PermissionRequest => {
                let turn = self.enter_turn(event, &mut changes);
                self.interrupt(&mut changes);
                let news = asked_call(event).and_then(facts::tool_news);
                if let (Some(news), Some(permission), Some(agent)) =
                    (news, &event.permission, self.agent.as_deref_mut())
                {
                    agent.tools.ask(event, turn.index, news, &permission.request_id, &mut changes);
                }
                self.transcript.ask(event, &mut changes);
            }
            EventClass::PermissionResponse => self.agent_answered(event, &mut changes),
            EventClass::RunFinished if event.origin == Origin::Local => self.finish(event, &mut changes),
            EventClass::RunFinished => self.agent_finished(event, &mut changes),
            EventClass::RunErrorOrGap => self.agent_failed(event, &mut changes),
            EventClass::Notice => changes.push(Change::put(Lane::Chat, notice(event))),
            EventClass::ContextCompaction => self.agent_compaction(event, &mut changes),
            EventClass::UsageUpdate => self.agent_usage(event, &mut changes),
            EventClass::SkillsCatalog => {
                let commands =
                    event.payload.get("availableCommands").and_then(Value::as_array).map_or(0, Vec::len);
                let text = match commands {
                    1 => "The agent has 1 command.".to_owned(),
                    commands => format!("The agent has {commands} commands."),
                };
                changes.push(Change::put(
                    Lane::Run,
                    said(event, "skills-catalog".to_owned(), NoticeLevel::Info, text),
                ));
                changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            }
            EventClass::SessionLifecycle => {
                if let Some(mode) = event.payload.get("currentModeId").and_then(Value::as_str) {
                    let text = format!("Mode: {}.", cut::line(mode, WORD));
                    changes.push(Change::put(
                        Lane::Run,
                        said(event, "mode".to_owned(), NoticeLevel::Info, text),
                    ));
                }
                changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            }
            EventClass::TurnStart
            | EventClass::CheckpointList
            | EventClass::CheckpointRestored
            | EventClass::TaskEvent
            | EventClass::SkillsSelection
            | EventClass::CtreeNode
            | EventClass::CtreeSnapshot
            | EventClass::RewardUpdate
            | EventClass::RunLogLink
            | EventClass::TodoUpdate
            | EventClass::RetrievalStatus
            | EventClass::PatchProposed
            | EventClass::UnknownEvent => changes.push(Change::put(Lane::Debug, debug_lane::raw(event))),
        }
        changes
    }

    /// Whether this is history that was here before. Live agents do not echo prompts, so a piece of one outside of a turn
    /// begins a replay; the first event of a turn ends it.
    fn is_history(&mut self, event: &SessionEvent) -> bool {
        let known = self.turn.is_known();
        let Some(agent) = self.agent.as_deref_mut() else { return false };
        let prompts = event.class == EventClass::UserMessage;
        if event.turn.is_some() && !prompts {
            agent.replay = Replay::None;
            return false;
        }
        if prompts && agent.replay == Replay::None {
            agent.replay = if known { Replay::Hidden } else { Replay::Shown };
        }
        let told = matches!(
            event.class,
            EventClass::UserMessage
                | EventClass::AssistantStream
                | EventClass::ReasoningStream
                | EventClass::ToolCall
                | EventClass::ToolOutput
                | EventClass::ToolResult
                | EventClass::PlanUpdate
        );
        told && agent.replay == Replay::Hidden
    }

    /// A prompt of a history that is new here; it comes whole or in pieces.
    fn history_prompt(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let Some(Chunk { message, text }) = facts::chunk(event) else { return };
        let grows = self.agent.as_deref_mut().and_then(|agent| agent.history.as_mut());
        if let Some(prompt) = grows.filter(|prompt| prompt.message == message) {
            let room = PROMPT.saturating_sub(prompt.bytes);
            if room > 0 {
                let piece = cut::line(&text, room);
                prompt.bytes = (prompt.bytes + piece.len()).min(PROMPT);
                changes.push(Change::append(Lane::Chat, &prompt.id, piece));
            }
            return;
        }
        self.begin_turn(event, changes);
        let id = format!("u-{}", event.seq);
        let text = cut::line(&text, PROMPT);
        let prompt = HistoryPrompt { message, id: id.clone(), bytes: text.len() };
        let body = BlockBody::User { text, message_id: None, attachment_ids: Vec::new() };
        changes.push(Change::put(Lane::Chat, Block { id, turn: event.turn, seq: event.seq, body }));
        if let Some(agent) = self.agent.as_deref_mut() {
            agent.history = Some(prompt);
        }
    }

    fn agent_text(&mut self, voice: Voice, event: &SessionEvent, changes: &mut Vec<Change>) {
        let Some(Chunk { message, text }) = facts::chunk(event) else { return };
        let turn = self.enter_turn(event, changes);
        let over = self.no_turn_runs();
        if let Some(agent) = self.agent.as_deref_mut() {
            agent.history = None;
            agent.texts.piece((voice, message), &text, (event, turn), over, changes);
        }
    }

    fn agent_tool(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let Some(news) = facts::tool_news(&event.payload) else {
            changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            return;
        };
        let turn = self.enter_turn(event, changes);
        self.interrupt(changes);
        let over = self.no_turn_runs();
        let Some(agent) = self.agent.as_deref_mut() else { return };
        let plan = agent.tools.hear(event, turn.index, news, over, changes);
        self.transcript.plan(event, turn, plan, changes);
    }

    fn agent_answered(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        self.transcript.settled(event, changes);
        let id = event.payload.get("requestId").and_then(Value::as_str);
        let status = event.payload.get("status").cloned().unwrap_or_default();
        let status = serde_json::from_value::<PermissionStatus>(status).ok();
        if let (Some(id), Some(status), Some(agent)) = (id, status, self.agent.as_deref_mut())
            && event.origin == Origin::Local
        {
            agent.tools.settled(id, status, changes);
        }
    }

    /// The answer to a prompt: the turn is over.
    fn agent_finished(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let turn = self.enter_turn(event, changes);
        self.end_turn(changes);
        let ending = facts::ending(event);
        if let Some(level) = ending.told
            && !self.turn.tell()
        {
            changes.push(Change::put(
                Lane::Chat,
                said(event, format!("n-{}", event.seq), level, ending.text.clone()),
            ));
        }
        let body =
            BlockBody::Summary { success: ending.success, text: ending.text, details: self.counts(event) };
        let id = format!("s-{}-{}", turn.label, turn.index);
        changes.push(Change::put(Lane::Run, Block { id, turn: event.turn, seq: event.seq, body }));
    }

    /// What the agent counted, for the summary.
    fn counts(&self, event: &SessionEvent) -> Option<Value> {
        let mut counts = Map::new();
        for (name, value) in [
            ("stopReason", event.payload.get("stopReason")),
            ("usage", event.payload.get("usage")),
            ("context", self.agent.as_deref().and_then(|agent| agent.usage.as_ref())),
        ] {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                counts.insert(name.to_owned(), cut::value(Cow::Borrowed(value), DETAILS / 3));
            }
        }
        (!counts.is_empty()).then_some(Value::Object(counts))
    }

    /// The process ended, or events are missing.
    fn agent_failed(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let mut block = run_lane::failure(event);
        if event.kind == LocalKind::AgentExited.as_str() {
            let expected = event.payload.get("expected").and_then(Value::as_bool) == Some(true);
            if let BlockBody::Notice { level, .. } = &mut block.body
                && expected
            {
                *level = NoticeLevel::Info;
            }
            let halved = self.agent.as_deref().is_some_and(|agent| agent.texts.streams());
            self.close_turn(changes);
            if halved {
                let text = "The text above is not whole: the agent ended while it wrote. What had come is kept here; \
                            the agent itself may not remember it.";
                let id = format!("kept-{}", event.seq);
                changes.push(Change::put(Lane::Chat, said(event, id, NoticeLevel::Warning, text.to_owned())));
            }
            let known = self.turn.is_known();
            if let Some(agent) = self.agent.as_deref_mut().filter(|_| known) {
                // A new process tells of the session from the beginning.
                agent.replay = Replay::Hidden;
            }
            if !expected {
                self.turn.tell();
            }
        } else if !run_lane::is_gap(event) {
            self.turn.tell();
        }
        changes.push(Change::put(Lane::Chat, block.clone()));
        changes.push(Change::put(Lane::Run, block));
    }

    fn agent_compaction(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        if event.kind != "compaction_update" {
            changes.push(Change::put(Lane::Debug, debug_lane::raw(event)));
            return;
        }
        let (id, level, text) = facts::agent_compaction(event);
        let Some(agent) = self.agent.as_deref_mut() else { return };
        let known = agent.compactions.iter().find(|(open, _)| *open == id).map(|(_, seq)| *seq);
        let seq = known.unwrap_or(event.seq);
        if known.is_none() {
            if agent.compactions.len() >= COMPACTIONS {
                agent.compactions.remove(0);
            }
            agent.compactions.push((id, seq));
        }
        changes.push(Change::put(
            Lane::Chat,
            Block { seq, ..said(event, format!("compaction-{seq}"), level, text) },
        ));
    }

    fn agent_usage(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let run = self.run.number();
        let Some(usage) = agent_state::usage(&event.payload) else {
            changes.push(Change::put(Lane::Run, run_notices::usage(event, run)));
            return;
        };
        let mut text = format!("Context: {} of {} tokens", usage.used, usage.size);
        let mut kept = json!({"used": usage.used, "size": usage.size});
        if let Some(cost) = &usage.cost {
            text.push_str(&format!("; cost so far {} {}", cost.amount, cut::line(&cost.currency, WORD)));
            kept["cost"] = json!({"amount": cost.amount, "currency": cut::line(&cost.currency, WORD)});
        }
        text.push('.');
        if let Some(agent) = self.agent.as_deref_mut() {
            agent.usage = Some(kept);
        }
        changes.push(Change::put(Lane::Run, said(event, format!("usage-{run}"), NoticeLevel::Info, text)));
    }

    /// What comes next stands below the text that streams.
    fn interrupt(&mut self, changes: &mut Vec<Change>) {
        if let Some(agent) = self.agent.as_deref_mut() {
            agent.history = None;
            agent.texts.interrupt(changes);
        }
    }

    /// A prompt of ours comes behind a history, whose last turn has no end of its own.
    fn end_history(&mut self, changes: &mut Vec<Change>) {
        let shown = self.agent.as_deref_mut().filter(|agent| agent.replay == Replay::Shown);
        if let Some(agent) = shown {
            agent.replay = Replay::None;
            self.end_turn(changes);
        }
    }

    /// Before the first turn, behind the last one and in a history nobody ends what begins.
    fn no_turn_runs(&self) -> bool {
        let shown = self.agent.as_deref().is_some_and(|agent| agent.replay == Replay::Shown);
        shown || self.turn.is_over() || !self.turn.is_known()
    }
}

impl AgentView {
    /// A turn ended.
    pub(super) fn close(&mut self, changes: &mut Vec<Change>) {
        self.history = None;
        self.texts.interrupt(changes);
        self.tools.cancel_all(changes);
    }
}

fn notice(event: &SessionEvent) -> Block {
    if event.origin == Origin::Local {
        return run_lane::notice(event);
    }
    let (level, text) = facts::agent_notice(event);
    said(event, format!("n-{}", event.seq), level, text)
}

fn said(event: &SessionEvent, id: String, level: NoticeLevel, text: String) -> Block {
    Block { id, turn: event.turn, seq: event.seq, body: BlockBody::Notice { level, text } }
}
