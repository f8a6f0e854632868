//! `bb/sendMessage` and `bb/stop`: prompts, turns, and the queue between them.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use super::prompt_rules::{fits_a_prompt, is_taken_as_typed, queue_full};
use crate::app::client::ClientId;
use crate::app::inbox::Answer;
use crate::app::live::LastWords;
use crate::app::ports::{
    AgentCall, Attachment, EngineCall, Prompt, SessionHome, Settlement, TurnBegun, TurnEnd, TurnFailure,
};
use crate::app::prompter::Prompter;
use crate::app::record::{LastRun, SessionEnd, Settler};
use crate::app::sessions::Session;
use crate::app::state::App;
use crate::app::turn::{Stop, TurnState};
use crate::domain::approval::PermissionStatus;
use crate::domain::branch;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::delivery::queue::QueuedPrompt;
use crate::domain::dialect::Dialect;
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::domain::view::{Block, BlockBody, Lane};
use crate::protocol::request::*;
use crate::protocol::settings::EngineKind;

/// Blocks of history that are looked at, newest first.
const HISTORY_BLOCKS: usize = 80;

/// Blocks of history that are read at a time.
const HISTORY_PAGE: usize = 4;

/// Characters of a session's title.
const TITLE_CHARS: usize = 80;

impl App {
    pub(in crate::app) fn send_message(
        &mut self,
        client: ClientId,
        params: SendMessageParams,
    ) -> Result<SendMessageResult, CodedError> {
        let SendMessageParams { session_id, text, attachment_ids, message_id, context } = params;
        if text.trim().is_empty() {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                "The prompt is blank; type what you want to ask.",
            ));
        }
        fits_a_prompt(&text)?;
        self.load(&session_id)?;
        self.hold(&session_id)?;
        self.goes_on(&session_id)?;
        if let Some(id) = &message_id
            && let Some(answer) = self.answered_before(&session_id, id)
        {
            return Ok(answer);
        }
        let by = Prompter::Client(client);
        self.may_prompt(by, self.known(&session_id)?.record.engine, &text)?;
        let message_id = message_id.unwrap_or_else(|| self.ambient.fresh_id());
        let prompt = QueuedPrompt {
            message_id: message_id.clone(),
            text,
            attachment_ids: attachment_ids.unwrap_or_default(),
            context,
        };
        self.attachments_of(&session_id, &prompt)?;
        // One input is outstanding at the engine; the rest waits here, in order (ruling 7).
        let busy = self.known(&session_id)?.record.turn.is_open();
        let disposition = if busy { Disposition::Queued } else { Disposition::Started };
        if busy {
            self.line_up(by, &session_id, &prompt)?;
        }
        let result = SendMessageResult { session_id: session_id.clone(), message_id, disposition };
        if let Some(live) = self.live_mut(&session_id) {
            live.pending
                .prompts
                .push((result.message_id.clone(), serde_json::to_vec(&result).unwrap_or_default()));
        }
        self.subscribe(client, &session_id);
        if busy {
            self.flush(&session_id);
        } else {
            let queue = &mut self.record_mut(&session_id)?.queue;
            if queue.items().is_empty() {
                queue.resume();
            }
            self.start_turn(by, &session_id, prompt);
        }
        Ok(result)
    }

    /// Puts a prompt behind those that wait.
    fn line_up(&mut self, by: Prompter, session_id: &str, prompt: &QueuedPrompt) -> Result<(), CodedError> {
        let queue = &mut self.record_mut(session_id)?.queue;
        // A stop holds back what waited then, and this was sent behind it.
        if queue.items().is_empty() {
            queue.resume();
        }
        queue.push(prompt.clone()).map_err(|_| queue_full())?;
        self.clients.prompters.waits(session_id, &prompt.message_id, by);
        Ok(())
    }

    /// Whether this text may be given to the engine at all.
    pub(in crate::app) fn may_prompt(
        &self,
        by: Prompter,
        engine: EngineKind,
        text: &str,
    ) -> Result<(), CodedError> {
        fits_a_prompt(text)?;
        is_taken_as_typed(engine, text)?;
        self.may_run(by, engine)
    }

    /// Whether the engine may be set to work in this workspace on somebody's word.
    pub(in crate::app) fn may_run(&self, by: Prompter, engine: EngineKind) -> Result<(), CodedError> {
        if !self.traits_for(engine).needs_trust {
            return Ok(());
        }
        // Such an engine writes and runs on its own.
        if !self.trusts(by) {
            return Err(CodedError::new(
                ErrorCode::UntrustedWorkspace,
                "This workspace is not trusted, and this engine can write and run in it; trust it first.",
            ));
        }
        Ok(())
    }

    /// Whether the engine of this session may be set to work on somebody's word.
    pub(in crate::app) fn may_work_on(&self, by: Prompter, session_id: &str) -> Result<(), CodedError> {
        self.may_run(by, self.known(session_id)?.record.engine)
    }

    /// Whether a session still takes prompts.
    pub(in crate::app) fn goes_on(&self, session_id: &str) -> Result<(), CodedError> {
        let record = &self.known(session_id)?.record;
        self.engine_for(record.engine)?;
        match record.over() {
            Some(_) => Err(self.takes_no_more(session_id)),
            None if record.held.is_some() && !self.lives_at_engine(record) => Err(CodedError::new(
                ErrorCode::Unsupported,
                "This session lives at another engine than the one in use; choose that engine, or create a new session.",
            )),
            None => Ok(()),
        }
    }

    /// Whether the engine ended a session: it can be read, and nothing more comes of it.
    pub(in crate::app) fn is_over(&self, session_id: &str) -> bool {
        self.known(session_id).is_ok_and(|session| session.record.over().is_some())
    }

    /// What is said to who prompts in a session that is over.
    pub(in crate::app) fn takes_no_more(&self, session_id: &str) -> CodedError {
        let over = self.known(session_id).ok().and_then(|session| session.record.over());
        let because = over.map_or_else(|| "it has ended".to_owned(), SessionEnd::because);
        CodedError::new(
            ErrorCode::EngineRejected,
            format!("This session takes no more prompts ({because}); create a new one to go on."),
        )
    }

    /// The answer that this message id got before, in memory or in the journal.
    pub(super) fn answered_before(
        &mut self,
        session_id: &str,
        message_id: &str,
    ) -> Option<SendMessageResult> {
        let waiting =
            self.live_mut(session_id)?.pending.prompts.iter().find(|(id, _)| id == message_id).cloned();
        let unwritten = || {
            self.backlog
                .commits
                .iter()
                .filter(|commit| commit.session_id == session_id)
                .flat_map(|commit| &commit.prompts)
                .find(|(id, _)| id == message_id)
                .cloned()
        };
        let answer = match waiting.or_else(unwritten) {
            Some((_, answer)) => answer,
            None => self.journal.as_mut()?.prompt(session_id, message_id).ok()??,
        };
        serde_json::from_slice(&answer).ok()
    }

    /// Attachments of a prompt, resolved.
    fn attachments_of(&self, session_id: &str, prompt: &QueuedPrompt) -> Result<Vec<Attachment>, CodedError> {
        let record = &self.known(session_id)?.record;
        prompt
            .attachment_ids
            .iter()
            .map(|id| {
                record.attachments.iter().find(|attachment| attachment.id == *id).cloned().ok_or_else(|| {
                    CodedError::new(
                        ErrorCode::NotFound,
                        "One of the attachments is not in this session any more; attach it again.",
                    )
                })
            })
            .collect()
    }

    /// Begins a turn: the prompt is in the journal before the engine hears it.
    pub(in crate::app) fn start_turn(&mut self, by: Prompter, session_id: &str, prompt: QueuedPrompt) {
        let now = self.ambient.now_ms();
        let Ok(attachments) = self.attachments_of(session_id, &prompt) else { return };
        let (history, memory) = match self.traits_of(session_id).sessions {
            SessionHome::Here => (Vec::new(), self.memory(session_id)),
            SessionHome::Agent | SessionHome::Engine => (self.history(session_id), Vec::new()),
        };
        let turn_end = self.traits_of(session_id).turn_end;
        let Ok(record) = self.record_mut(session_id) else { return };
        record.last_turn += 1;
        let turn = record.last_turn;
        record.turn = match turn_end {
            TurnEnd::Event => TurnState::sending(turn),
            TurnEnd::Report => TurnState::running(turn),
        };
        record.updated_at = now;
        if record.title.is_none() {
            let is_branch = record.branched_from.as_ref().is_some_and(|from| from.before.is_some());
            let title = title_of(&prompt.text);
            record.title = Some(if is_branch { format!("Branch: {title}") } else { title });
        }
        if let Some(live) = self.live_mut(session_id) {
            live.last_words = LastWords::Heard;
        }
        self.clients.prompters.turn_begins(session_id, by);
        self.clients.scopes_changed = true;
        self.tab_turn_begins(session_id, turn, &prompt.message_id);
        let mut payload = self.prompt_told(session_id, &prompt);
        let wanted = self.context_wanted(by, Some(session_id), &prompt.text, prompt.context.as_ref());
        if wanted.is_some() {
            payload.insert("hasContext".to_owned(), true.into());
        }
        self.record_event(session_id, NormalizedEvent::local(LocalKind::Prompt, Some(turn), now, payload));
        let looked_at = self.turn_changes_begin(session_id, turn, now, &prompt.text);
        let model = self.known(session_id).ok().and_then(|session| self.model_of(&session.record));
        let title = prompt.text.clone();
        let QueuedPrompt { message_id, text, .. } = prompt;
        let mode = self.known(session_id).map(|session| session.record.mode).unwrap_or_default();
        let prompt = Prompt { message_id, text, attachments, context: Box::default(), mode };
        let mut begun = TurnBegun { turn, prompt, model, history, memory };
        match wanted {
            Some(wanted) => {
                self.flush(session_id);
                self.begin_progress(session_id, &title);
                self.state_changed = true;
                self.gather(by, session_id, (begun, looked_at), wanted);
            }
            None => {
                self.turn_ready(session_id, &mut begun);
                self.begin_progress(session_id, &title);
                self.state_changed = true;
                self.start_at_engine(session_id, begun, looked_at);
            }
        }
    }

    /// What the event of a prompt says: its words, and who answers it.
    fn prompt_told(&self, session_id: &str, prompt: &QueuedPrompt) -> Map<String, Value> {
        let mut payload = Map::new();
        payload.insert("messageId".to_owned(), prompt.message_id.clone().into());
        payload.insert("text".to_owned(), prompt.text.clone().into());
        if !prompt.attachment_ids.is_empty() {
            payload.insert("attachmentIds".to_owned(), json!(prompt.attachment_ids));
        }
        if let Ok(session) = self.known(session_id) {
            let (engine, model) = self.answerer_of(&session.record);
            payload.insert("engine".to_owned(), engine.into());
            payload.extend(model.map(|model| ("model".to_owned(), model.into())));
        }
        if self.dialect_of(session_id) == Dialect::Acp {
            payload.insert("folders".to_owned(), json!(self.folders_told(session_id)));
        }
        payload
    }

    /// All that a turn begins with is there: it is in the journal, behind what its engine has not been told yet.
    pub(in crate::app) fn turn_ready(&mut self, session_id: &str, begun: &mut TurnBegun) {
        let text = std::mem::take(&mut begun.prompt.text);
        let text = self.with_notes(session_id, text);
        // Behind the words, where engines look for what belongs to a prompt.
        begun.prompt.text =
            match self.known(session_id).ok().and_then(|session| session.record.to_be_told.as_ref()) {
                Some(record) => format!("{text}\n\n{record}"),
                None => text,
            };
        self.steps_begin(session_id, begun);
        self.flush(session_id);
    }

    pub(in crate::app) fn start_at_engine(
        &mut self,
        session_id: &str,
        begun: TurnBegun,
        looked_at: Option<Answer<()>>,
    ) {
        let TurnBegun { turn, prompt, model, history, memory } = begun;
        // The stream first, so that nothing of the turn is missed.
        self.follow(session_id);
        // What the turn may see, before it begins to look.
        self.publish_scopes();
        let Ok(engine) = self.engine_of(session_id) else { return };
        if let Some(session) = self.agent_session(session_id) {
            engine.call(EngineCall::Agent(AgentCall::Remember(session)));
        }
        engine.call(EngineCall::StartTurn {
            session_id: session_id.to_owned(),
            turn,
            prompt,
            model,
            history,
            memory,
            looked_at,
        });
    }

    /// Earlier turns as pairs of what was asked and answered, oldest first.
    pub(in crate::app) fn history(&mut self, session_id: &str) -> Vec<(String, String)> {
        branch::newest(branch::said(self.newest_blocks(session_id)), branch::RECORD_BYTES)
    }

    /// The newest blocks of the transcript, oldest first: a few at a time and no more than can matter, since each may hold
    /// a long answer.
    fn newest_blocks(&mut self, session_id: &str) -> VecDeque<Block> {
        let mut blocks: VecDeque<Block> = VecDeque::new();
        let mut bytes = 0;
        while blocks.len() < HISTORY_BLOCKS && bytes <= branch::RECORD_BYTES {
            let before = blocks.front().map(|block| block.id.clone());
            let Ok((page, has_more)) =
                self.lane_page(session_id, Lane::Chat, before.as_deref(), HISTORY_PAGE)
            else {
                break;
            };
            for block in page.into_iter().rev() {
                bytes += match &block.body {
                    BlockBody::User { text, .. } | BlockBody::Assistant { text, .. } => text.len(),
                    _ => 0,
                };
                blocks.push_front(block);
            }
            if !has_more {
                break;
            }
        }
        blocks
    }

    pub(in crate::app) fn stop(&mut self, session_id: &str) -> Result<StopResult, CodedError> {
        self.load(session_id)?;
        if let Err(error) = self.hold(session_id) {
            if error.code != ErrorCode::Conflict {
                return Err(error);
            }
            let stopping = self.pass_stop_on(session_id)?;
            return Ok(StopResult { session_id: session_id.to_owned(), stopping });
        }
        let stopping = self.known(session_id)?.record.turn.is_open();
        self.record_mut(session_id)?.queue.pause();
        if stopping {
            self.record_mut(session_id)?.turn.stops(Stop::ByUser);
            self.stop_turn(session_id, "the user stopped it");
        }
        // With a turn what ends with it; without one what goes on after its own.
        let stopping = stopping || self.stop_kept_commands(session_id);
        self.flush(session_id);
        Ok(StopResult { session_id: session_id.to_owned(), stopping })
    }

    /// Tells the engine to stop; what waits for an answer is settled first, so that the stop cannot hang on it.
    pub(in crate::app) fn stop_turn(&mut self, session_id: &str, why: &str) {
        tracing::info!(why, "stopping a turn");
        if let Ok(record) = self.record_mut(session_id) {
            record.turn.stops(Stop::ByServer);
        }
        match self.traits_of(session_id).settlement {
            Settlement::Event => self.deny_and_stop(session_id),
            Settlement::Answer => {
                self.settle_asks(session_id, PermissionStatus::Cancelled, Settler::Stop);
            }
        }
        if self.stop_gathering(session_id) {
            return;
        }
        if self.is_paused(session_id) {
            // Nothing of it runs that could end it.
            return self.end_paused(session_id, None);
        }
        self.call_engine(session_id, EngineCall::Stop { session_id: session_id.to_owned() });
        if !self.traits_of(session_id).sessions.is_elsewhere() {
            self.cancel_edits_of(session_id);
        }
    }

    /// A turn is over: its last event, the progress, the next prompt.
    pub(in crate::app) fn turn_ended(&mut self, session_id: &str, turn: u64, failure: Option<TurnFailure>) {
        self.turn_over(session_id, turn, failure, false);
    }

    /// The same, and whether it was cancelled, which is said where the engine does not say it.
    pub(in crate::app) fn turn_over(
        &mut self,
        session_id: &str,
        turn: u64,
        failure: Option<TurnFailure>,
        cancelled: bool,
    ) {
        let now = self.ambient.now_ms();
        let Ok(session) = self.known(session_id) else { return };
        if session.record.turn.open() != Some(turn) {
            return;
        }
        // What is asked while ours has not begun belongs to another client's run, which goes on waiting.
        if !session.record.turn.is_on_its_way() {
            self.settle_asks(session_id, PermissionStatus::Cancelled, Settler::TurnEnd);
        }
        self.was_told(session_id, failure.as_ref());
        if failure.is_some() && self.traits_of(session_id).sessions.is_elsewhere() {
            // What made this prompt fail would make the next ones fail too.
            if let Ok(record) = self.record_mut(session_id) {
                record.queue.pause();
                if matches!(record.turn, TurnState::Running(_) | TurnState::Paused(_))
                    && let Some(held) = record.held.as_mut()
                {
                    held.last_run = LastRun::GivenUp;
                }
            }
        }
        let said = |session: &Session| match &session.record.turn {
            TurnState::Ended { reason, .. } => !cancelled || reason.as_deref() == Some("cancelled"),
            TurnState::Idle
            | TurnState::Sending(_)
            | TurnState::Unconfirmed(_)
            | TurnState::Running(_)
            | TurnState::Paused(_) => false,
        };
        if failure.is_some() || !self.known(session_id).is_ok_and(said) {
            let (reason, otherwise) = match (cancelled, &failure) {
                (true, _) => ("cancelled", "The turn was stopped."),
                (false, Some(_)) => ("failed", ""),
                (false, None) => ("no_end", "The engine ended the turn without a final message."),
            };
            let failure = failure.unwrap_or_else(|| otherwise.into());
            self.record_event(session_id, turn_end(turn, now, reason, &failure));
        }
        self.turn_changes_end(session_id);
        let Ok(record) = self.record_mut(session_id) else { return };
        let ended = std::mem::take(&mut record.turn);
        let over = self.tab_turn_ends(session_id, turn, &ended);
        self.flush(session_id);
        self.answer_awaited_edits(session_id);
        self.tab_turn_over(over);
        self.cancel_abandoned();
        self.end_progress(session_id);
        self.clients.prompters.turn_ends(session_id);
        self.clients.scopes_changed = true;
        self.state_changed = true;
        self.next_prompt(session_id);
        self.rest_if_closed(session_id);
    }

    /// The engine was given our record of a conversation, unless the turn failed that took it along.
    fn was_told(&mut self, session_id: &str, failure: Option<&TurnFailure>) {
        if failure.is_none()
            && let Ok(record) = self.record_mut(session_id)
        {
            record.to_be_told = None;
        }
    }

    /// Starts the next prompt of the queue, when nothing runs and the queue is not paused.
    pub(in crate::app) fn next_prompt(&mut self, session_id: &str) {
        // Without an engine the prompt stays where it is: taken out, it would begin a turn that nobody ends.
        if self.closing
            || self.engine_of(session_id).is_err()
            || self.known(session_id).is_ok_and(|session| session.record.turn.is_open())
        {
            return;
        }
        let Ok(session) = self.known(session_id) else { return };
        let next = session.record.queue.items().first();
        let by = next
            .map_or(Prompter::Nobody, |next| self.clients.prompters.of_waiting(session_id, &next.message_id));
        if self.goes_on(session_id).is_err() || self.may_work_on(by, session_id).is_err() {
            // The user resumes it once that has changed; what waits is not lost.
            if let Ok(record) = self.record_mut(session_id) {
                record.queue.pause();
            }
            return;
        }
        let next = self.record_mut(session_id).ok().and_then(|record| record.queue.pop());
        if let Some(prompt) = next {
            self.clients.prompters.waits_no_more(session_id, &prompt.message_id);
            self.start_turn(by, session_id, prompt);
        }
    }
}

/// `local.turn_end`.
pub(in crate::app) fn turn_end(turn: u64, now: i64, reason: &str, failure: &TurnFailure) -> NormalizedEvent {
    let mut payload = Map::new();
    payload.insert("reason".to_owned(), Value::from(reason));
    payload.insert("message".to_owned(), Value::from(failure.message.as_str()));
    payload.extend(failure.remedy.fields());
    NormalizedEvent::local(LocalKind::TurnEnd, Some(turn), now, payload)
}

fn title_of(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut title: String = line.chars().take(TITLE_CHARS).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    title
}
