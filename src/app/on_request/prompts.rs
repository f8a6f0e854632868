//! `bb/sendMessage` and `bb/stop`: prompts, turns, and the queue between them.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::app::ports::{Attachment, EngineCall, Prompt};
use crate::app::record::Settler;
use crate::app::state::App;
use crate::domain::approval::PermissionStatus;
use crate::domain::delivery::queue::QueuedPrompt;
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::domain::view::{Block, BlockBody, Lane};
use crate::protocol::request::*;
use crate::protocol::settings::ModelSetting;
use crate::protocol::{ErrorCode, WireError};

/// Bytes of one prompt. Larger things are attachments.
const PROMPT_BYTES: usize = 1 << 20;

/// Blocks of history that are looked at, and bytes that go along with a prompt, newest first: what fits in a small
/// model's context.
const HISTORY_BLOCKS: usize = 80;
const HISTORY_BYTES: usize = 48 * 1024;

/// Blocks of history that are read at a time.
const HISTORY_PAGE: usize = 4;

/// Characters of a session's title.
const TITLE_CHARS: usize = 80;

impl App {
    pub(in crate::app) fn send_message(
        &mut self,
        params: SendMessageParams,
    ) -> Result<SendMessageResult, WireError> {
        let SendMessageParams { session_id, text, attachment_ids, message_id } = params;
        if text.trim().is_empty() {
            return Err(WireError::new(
                ErrorCode::InvalidParams,
                "The prompt is blank; type what you want to ask.",
            ));
        }
        fits_a_prompt(&text)?;
        self.load(&session_id)?;
        if let Err(error) = &self.engine {
            return Err(error.clone());
        }
        if let Some(id) = &message_id
            && let Some(answer) = self.answered_before(&session_id, id)
        {
            return Ok(answer);
        }
        let message_id = message_id.unwrap_or_else(|| self.ambient.fresh_id());
        let prompt = QueuedPrompt {
            message_id: message_id.clone(),
            text,
            attachment_ids: attachment_ids.unwrap_or_default(),
        };
        self.attachments_of(&session_id, &prompt)?;
        // One input is outstanding at the engine; the rest waits here, in order (ruling 7).
        let busy = self.known(&session_id)?.record.open_turn.is_some();
        let disposition = if busy { Disposition::Queued } else { Disposition::Started };
        if busy {
            self.record_mut(&session_id)?
                .queue
                .push(prompt.clone())
                .map_err(|_| super::queue::queue_full())?;
        }
        let result = SendMessageResult { session_id: session_id.clone(), message_id, disposition };
        if let Some(live) = self.live_mut(&session_id) {
            live.attached = true;
            live.prompts.push((result.message_id.clone(), serde_json::to_vec(&result).unwrap_or_default()));
        }
        if busy {
            self.flush(&session_id);
        } else {
            let queue = &mut self.record_mut(&session_id)?.queue;
            if queue.items().is_empty() {
                queue.resume();
            }
            self.start_turn(&session_id, prompt);
        }
        Ok(result)
    }

    /// The answer that this message id got before, in memory or in the journal.
    fn answered_before(&mut self, session_id: &str, message_id: &str) -> Option<SendMessageResult> {
        let waiting = self.live_mut(session_id)?.prompts.iter().find(|(id, _)| id == message_id).cloned();
        let unwritten = || {
            self.unwritten
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
    fn attachments_of(&self, session_id: &str, prompt: &QueuedPrompt) -> Result<Vec<Attachment>, WireError> {
        let record = &self.known(session_id)?.record;
        prompt
            .attachment_ids
            .iter()
            .map(|id| {
                record.attachments.iter().find(|attachment| attachment.id == *id).cloned().ok_or_else(|| {
                    WireError::new(
                        ErrorCode::NotFound,
                        "One of the attachments does not exist in this session; put it again with `bb/attachment/put`.",
                    )
                })
            })
            .collect()
    }

    /// Begins a turn: the prompt is in the journal before the engine hears it.
    pub(in crate::app) fn start_turn(&mut self, session_id: &str, prompt: QueuedPrompt) {
        let now = self.ambient.now_ms();
        let Ok(attachments) = self.attachments_of(session_id, &prompt) else { return };
        let history = self.history(session_id);
        let Ok(record) = self.record_mut(session_id) else { return };
        record.turn += 1;
        record.open_turn = Some(record.turn);
        record.updated_at = now;
        if record.title.is_none() {
            record.title = Some(title_of(&prompt.text));
        }
        let (turn, model) = (record.turn, record.model.clone());
        if let Some(live) = self.live_mut(session_id) {
            live.turn_finished = false;
        }
        let mut payload = Map::new();
        payload.insert("messageId".to_owned(), prompt.message_id.clone().into());
        payload.insert("text".to_owned(), prompt.text.clone().into());
        if !prompt.attachment_ids.is_empty() {
            payload.insert("attachmentIds".to_owned(), json!(prompt.attachment_ids));
        }
        self.record_event(session_id, NormalizedEvent::local(LocalKind::Prompt, Some(turn), now, payload));
        self.flush(session_id);
        self.begin_progress(session_id, &prompt.text);
        self.state_changed = true;
        let session_model = model.map(|name| ModelSetting {
            name,
            ..self.settings.model.clone().unwrap_or(ModelSetting {
                provider: None,
                name: String::new(),
                url: None,
            })
        });
        let Ok(engine) = &self.engine else { return };
        engine.call(EngineCall::SetModel(session_model.or_else(|| self.settings.model.clone())));
        engine.call(EngineCall::StartTurn {
            session_id: session_id.to_owned(),
            turn,
            prompt: Prompt { message_id: prompt.message_id, text: prompt.text, attachments },
            history,
        });
    }

    /// Earlier turns as pairs of what was asked and answered, oldest first.
    fn history(&mut self, session_id: &str) -> Vec<(String, String)> {
        let blocks = self.newest_blocks(session_id);
        let mut turns: Vec<(String, String)> = Vec::new();
        for block in blocks {
            match block.body {
                BlockBody::User { text, .. } => turns.push((text, String::new())),
                BlockBody::Assistant { text, .. } => {
                    if let Some((_, answer)) = turns.last_mut() {
                        answer.push_str(&text);
                    }
                }
                BlockBody::Reasoning { .. }
                | BlockBody::Tool { .. }
                | BlockBody::Permission { .. }
                | BlockBody::Plan { .. }
                | BlockBody::Patch { .. }
                | BlockBody::Command { .. }
                | BlockBody::Task { .. }
                | BlockBody::Checkpoint { .. }
                | BlockBody::Link { .. }
                | BlockBody::Summary { .. }
                | BlockBody::Notice { .. }
                | BlockBody::Unknown { .. } => {}
            }
        }
        let mut bytes = 0;
        let kept = turns
            .iter()
            .rev()
            .take_while(|(asked, answered)| {
                bytes += asked.len() + answered.len();
                bytes <= HISTORY_BYTES
            })
            .count();
        turns.split_off(turns.len() - kept)
    }

    /// The newest blocks of the transcript, oldest first: a few at a time and no more than can matter, since each may hold
    /// a long answer.
    fn newest_blocks(&mut self, session_id: &str) -> VecDeque<Block> {
        let mut blocks: VecDeque<Block> = VecDeque::new();
        let mut bytes = 0;
        while blocks.len() < HISTORY_BLOCKS && bytes <= HISTORY_BYTES {
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

    pub(in crate::app) fn stop(&mut self, session_id: &str) -> Result<StopResult, WireError> {
        self.load(session_id)?;
        let stopping = self.known(session_id)?.record.open_turn.is_some();
        self.record_mut(session_id)?.queue.pause();
        if stopping {
            self.stop_turn(session_id, "the user stopped it");
        }
        self.flush(session_id);
        Ok(StopResult { session_id: session_id.to_owned(), stopping })
    }

    /// Tells the engine to stop; what waits for an answer is settled first, so that the stop cannot hang on it.
    pub(in crate::app) fn stop_turn(&mut self, session_id: &str, why: &str) {
        tracing::info!(why, "stopping a turn");
        self.settle_asks(session_id, PermissionStatus::Cancelled, Settler::Stop);
        if let Ok(engine) = &self.engine {
            engine.call(EngineCall::Stop { session_id: session_id.to_owned() });
        }
    }

    /// A turn is over: its last event, the progress, the next prompt.
    pub(in crate::app) fn turn_ended(&mut self, session_id: &str, turn: u64, failure: Option<String>) {
        let now = self.ambient.now_ms();
        if self.known(session_id).ok().and_then(|session| session.record.open_turn) != Some(turn) {
            return;
        }
        self.settle_asks(session_id, PermissionStatus::Cancelled, Settler::TurnEnd);
        let finished = self.live_mut(session_id).is_some_and(|live| live.turn_finished);
        if failure.is_some() || !finished {
            let reason = if failure.is_some() { "failed" } else { "no_end" };
            let message =
                failure.unwrap_or_else(|| "The engine ended the turn without a final message.".to_owned());
            self.record_event(session_id, turn_end(turn, now, reason, &message));
        }
        if let Ok(record) = self.record_mut(session_id) {
            record.open_turn = None;
        }
        self.flush(session_id);
        self.cancel_abandoned();
        self.end_progress(session_id);
        self.state_changed = true;
        self.next_prompt(session_id);
    }

    /// Starts the next prompt of the queue, when nothing runs and the queue is not paused.
    pub(in crate::app) fn next_prompt(&mut self, session_id: &str) {
        // Without an engine the prompt stays where it is: taken out, it would begin a turn that nobody ends.
        if self.closing
            || self.engine.is_err()
            || self.known(session_id).is_ok_and(|session| session.record.open_turn.is_some())
        {
            return;
        }
        let next = self.record_mut(session_id).ok().and_then(|record| record.queue.pop());
        if let Some(prompt) = next {
            self.start_turn(session_id, prompt);
        }
    }
}

/// A prompt is text that a person could have typed.
pub(super) fn fits_a_prompt(text: &str) -> Result<(), WireError> {
    if text.len() <= PROMPT_BYTES {
        return Ok(());
    }
    Err(WireError::new(
        ErrorCode::TooLarge,
        format!(
            "The prompt has {} bytes and at most {PROMPT_BYTES} are taken; attach it as a file.",
            text.len()
        ),
    ))
}

/// `local.turn_end`.
pub(in crate::app) fn turn_end(turn: u64, now: i64, reason: &str, message: &str) -> NormalizedEvent {
    let mut payload = Map::new();
    payload.insert("reason".to_owned(), Value::from(reason));
    payload.insert("message".to_owned(), Value::from(message));
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
