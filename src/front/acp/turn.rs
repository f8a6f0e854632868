//! A turn: the client's prompt, its end, and the stop.
//!
//! Owns that a prompt is answered once, behind everything that was said of its turn, and with the client's own word where the
//! client stopped it.

use std::path::Path;
use std::rc::Rc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use url::Url;

use super::front::AcpFront;
use super::message::RpcFault;
use super::session::{AcpSession, AcpTurn, AcpTurnPhase};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::agent_end::prompt::{PromptPlace, SpokenPrompt, read};
use crate::domain::dialect::acp::agent_end::stop;
use crate::domain::dialect::acp::agent_end::updates::said;
use crate::domain::fact::NoticeLevel;
use crate::platform::real_path;
use crate::protocol::Request;
use crate::protocol::request::{
    AttachmentPutParams, AttachmentPutResult, QueueParams, SendMessageParams, SendMessageResult,
    SessionParams,
};

impl AcpFront {
    /// A prompt: answered at the end of its turn.
    pub(super) async fn prompt(self: &Rc<Self>, params: &Map<String, Value>) -> Result<Value, RpcFault> {
        let session = self.session_of(params)?;
        let blocks = params.get("prompt").and_then(Value::as_array).map(Vec::as_slice);
        let blocks =
            blocks.ok_or_else(|| RpcFault::params("The params have no `prompt`, or it is no list."))?;
        let place = PromptPlace {
            root: &session.root.root.path,
            pictures: self.looks_at_pictures(),
            path_of: &path_of_address,
        };
        let prompt = read(blocks, &place).map_err(RpcFault::params)?;
        if session.is_busy() {
            return Err(RpcFault::request(
                "A prompt of this session is being worked on; wait for its end, or cancel it.",
            ));
        }
        let message_id = uuid::Uuid::new_v4().to_string();
        let (done, ended) = oneshot::channel();
        session.updates.borrow_mut().asked(&message_id);
        let phase = AcpTurnPhase::Preparing;
        *session.turn.borrow_mut() =
            Some(AcpTurn { message_id: message_id.clone(), done, phase, cancelled: false });
        match self.send(&session, prompt, &message_id).await {
            Ok(()) => ended.await.unwrap_or_else(|_| Err(RpcFault::internal())),
            Err(fault) => {
                let turn = session.turn.borrow_mut().take();
                if turn.is_some_and(|turn| turn.cancelled) { Ok(stop::cancelled()) } else { Err(fault) }
            }
        }
    }

    /// Hands a prompt over, with what goes with it.
    async fn send(
        self: &Rc<Self>,
        session: &Rc<AcpSession>,
        prompt: SpokenPrompt,
        message_id: &str,
    ) -> Result<(), RpcFault> {
        self.read_linked(session, &prompt.linked).await;
        let mut attachment_ids = Vec::with_capacity(prompt.attached.len());
        for attached in prompt.attached {
            let put = AttachmentPutParams {
                session_id: Some(session.id.clone()),
                tab_id: None,
                name: attached.name,
                uri: None,
                base64: Some(attached.base64),
                mime: attached.mime,
            };
            let put: AttachmentPutResult = session.root.root.call(Request::AttachmentPut(put)).await?;
            attachment_ids.push(put.attachment_id);
        }
        if set_phase(session, message_id, AcpTurnPhase::Sent) {
            return Err(CodedError::new(
                ErrorCode::Cancelled,
                "The prompt was cancelled before it was sent.",
            )
            .into());
        }
        let message = SendMessageParams {
            session_id: session.id.clone(),
            text: prompt.text,
            attachment_ids: Some(attachment_ids).filter(|ids| !ids.is_empty()),
            message_id: Some(message_id.to_owned()),
            context: None,
        };
        let _: SendMessageResult = session.root.root.call(Request::SendMessage(message)).await?;
        Ok(())
    }

    /// The client wants the turn stopped. The prompt is answered when the turn is over.
    pub(super) fn cancel(&self, session: &Rc<AcpSession>) {
        let mut turn = session.turn.borrow_mut();
        let Some(turn) = turn.as_mut().filter(|turn| !turn.cancelled) else { return };
        turn.cancelled = true;
        if turn.phase == AcpTurnPhase::Preparing {
            return;
        }
        let (session, message_id) = (Rc::clone(session), turn.message_id.clone());
        let waits = turn.phase == AcpTurnPhase::Sent;
        tokio::task::spawn_local(async move { stop_turn(&session, message_id, waits).await });
    }

    /// A turn is over. The prompt is answered where it was this one's.
    pub(super) async fn turn_over(&self, session: &Rc<AcpSession>, reason: Option<&str>) {
        let (answer, failure) = {
            let mut turn = session.turn.borrow_mut();
            let Some(AcpTurnPhase::Begun(seq)) = turn.as_ref().map(|turn| turn.phase) else { return };
            let mut updates = session.updates.borrow_mut();
            let Some((outcome, text)) = updates.end_of(seq) else { return };
            let text = text.map(str::to_owned);
            let failure = updates.take_failure();
            let Some(turn) = turn.take() else { return };
            let answer =
                match stop::answer(outcome, reason) {
                    // The client's own word counts, however the engine calls it.
                    _ if turn.cancelled => Ok(stop::cancelled()),
                    Some(answer) => Ok(answer),
                    None => Err(RpcFault::turn(failure.clone().or(text.clone()).unwrap_or_else(|| {
                        "The turn failed; `breadboard-ls logs` may tell more.".to_owned()
                    }))),
                };
            ((turn.done, answer), text.filter(|_| failure.is_none()))
        };
        let (done, answer) = answer;
        // An answer that is a word says no more than that: why a turn ended early is told before it.
        if let (Ok(_), Some(why)) = (&answer, failure) {
            self.tell_update(session, &said(self.abilities().notices, NoticeLevel::Warning, &why)).await;
        }
        let others = self
            .sessions
            .borrow()
            .values()
            .any(|other| Rc::ptr_eq(&other.root, &session.root) && other.is_busy());
        if !others {
            session.root.root.forget_buffers();
        }
        // Its handler may have gone with the client.
        let _ = done.send(answer);
    }
}

/// How far the prompt is; whether the client wants it stopped.
fn set_phase(session: &AcpSession, message_id: &str, phase: AcpTurnPhase) -> bool {
    let mut turn = session.turn.borrow_mut();
    turn.as_mut().filter(|turn| turn.message_id == message_id).is_none_or(|turn| {
        turn.phase = phase;
        turn.cancelled
    })
}

/// A prompt that waits behind another turn is taken out of the queue; a turn that runs is stopped.
async fn stop_turn(session: &Rc<AcpSession>, message_id: String, waits: bool) {
    let root = &session.root.root;
    if waits {
        let remove = QueueParams {
            session_id: Some(session.id.clone()),
            tab_id: None,
            message_id: Some(message_id.clone()),
            text: None,
            before: None,
        };
        if root.call::<Value>(Request::QueueRemove(remove)).await.is_ok() {
            let turn = session.turn.borrow_mut().take_if(|turn| turn.message_id == message_id);
            if let Some(turn) = turn {
                let _ = turn.done.send(Ok(stop::cancelled()));
            }
            return;
        }
    }
    let stop = Request::Stop(SessionParams { session_id: session.id.clone() });
    if let Err(error) = root.call::<Value>(stop).await {
        tracing::warn!(code = error.code.as_str(), "a turn could not be stopped");
    }
}

/// The path of a `file:` address.
fn path_of_address(uri: &str) -> Option<String> {
    let path = Url::parse(uri).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()?;
    // As the session's folder is spelled.
    let whole = real_path(&path).unwrap_or(path);
    Some(Path::to_string_lossy(&whole).into_owned())
}
