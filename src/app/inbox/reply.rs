//! Where the answer to a request goes, exactly one.
//!
//! Owns that a reply which is dropped answers `internal`. Never decides an answer.

use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::domain::coded_error::CodedError;
use crate::protocol::method::{Method, StandsFor};
use crate::protocol::refusals::{Refusals, named};

/// Where exactly one answer goes, of the type that is waited for. Dropped without one, it answers `internal`.
#[must_use = "a request gets exactly one answer"]
pub struct Reply<T> {
    to: Option<Recipient<T>>,
}

/// The end that waits for an answer.
pub type Answer<T> = oneshot::Receiver<Result<T, CodedError>>;

/// Who waits.
enum Recipient<T> {
    /// Somebody inside the process.
    Inside(oneshot::Sender<Result<T, CodedError>>),
    /// The editor's side, which takes the JSON of the answer to this method.
    Editor {
        method: &'static str,
        refusals: Refusals,
        sender: oneshot::Sender<Result<Value, CodedError>>,
        to_json: fn(&T) -> serde_json::Result<Value>,
    },
}

impl<T> Reply<T> {
    /// The reply and the end that waits for it.
    pub fn new() -> (Self, Answer<T>) {
        let (sender, receiver) = oneshot::channel();
        (Self { to: Some(Recipient::Inside(sender)) }, receiver)
    }

    /// Answers with a result.
    pub fn answer(mut self, result: T) {
        self.finish(Ok(result));
    }

    /// Answers with a refusal.
    pub fn refuse(mut self, error: CodedError) {
        self.finish(Err(error));
    }

    /// Answers with either.
    pub fn settle(mut self, outcome: Result<T, CodedError>) {
        self.finish(outcome);
    }

    /// Whether nobody waits any more: the request was cancelled before the loop came to it.
    pub fn is_abandoned(&self) -> bool {
        match &self.to {
            None => true,
            Some(Recipient::Inside(sender)) => sender.is_closed(),
            Some(Recipient::Editor { sender, .. }) => sender.is_closed(),
        }
    }

    fn finish(&mut self, outcome: Result<T, CodedError>) {
        // Nobody waits any more when the request was cancelled.
        match self.to.take() {
            None => {}
            Some(Recipient::Inside(sender)) => drop(sender.send(outcome)),
            Some(Recipient::Editor { method, refusals, sender, to_json }) => {
                debug_assert!(
                    outcome.as_ref().err().is_none_or(|error| named(refusals, error.code)),
                    "the contract of {method} does not name {:?}",
                    outcome.err()
                );
                let json = outcome.and_then(|result| to_json(&result).map_err(|_| CodedError::internal()));
                drop(sender.send(json));
            }
        }
    }
}

impl<T> std::fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reply")
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        self.finish(Err(CodedError::internal()));
    }
}

/// Where the answer to a request of the editor's goes, before its method was looked at.
#[must_use = "a request gets exactly one answer"]
#[derive(Debug)]
pub struct EditorReply {
    to: Option<oneshot::Sender<Result<Value, CodedError>>>,
}

impl EditorReply {
    /// The reply and the end that waits for its JSON.
    pub fn new() -> (Self, Answer<Value>) {
        let (sender, receiver) = oneshot::channel();
        (Self { to: Some(sender) }, receiver)
    }

    /// The same for the answer of this method: from here on the type of the answer is checked.
    pub fn of<M: Method>(self) -> Reply<M::Result> {
        self.typed::<M, _>()
    }

    /// The same for what stands for the answer of this method.
    pub fn standing_for<M: Method, T: StandsFor<M::Result>>(self) -> Reply<T> {
        self.typed::<M, _>()
    }

    fn typed<M: Method, T: Serialize>(mut self) -> Reply<T> {
        let to_json: fn(&T) -> serde_json::Result<Value> = |result| serde_json::to_value(result);
        Reply {
            to: self.to.take().map(|sender| Recipient::Editor {
                method: M::NAME,
                refusals: M::REFUSALS,
                sender,
                to_json,
            }),
        }
    }

    /// Answers with a refusal.
    pub fn refuse(mut self, error: CodedError) {
        self.finish(error);
    }

    /// Answers with this JSON, as a loop that is not there would.
    #[cfg(test)]
    pub fn answer(mut self, json: Value) {
        drop(self.to.take().map(|sender| sender.send(Ok(json))));
    }

    /// Whether nobody waits any more: the request was cancelled before the loop came to it.
    pub fn is_abandoned(&self) -> bool {
        self.to.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn finish(&mut self, error: CodedError) {
        if let Some(sender) = self.to.take() {
            // Nobody waits any more when the request was cancelled.
            drop(sender.send(Err(error)));
        }
    }
}

impl Drop for EditorReply {
    fn drop(&mut self) {
        self.finish(CodedError::internal());
    }
}

#[cfg(test)]
mod tests {
    use super::{CodedError, EditorReply, Reply};
    use crate::protocol::method::methods;
    use crate::protocol::request::Empty;

    #[test]
    fn r000_16_a_reply_gives_one_answer_and_internal_when_it_is_dropped_without_one() {
        let (reply, mut answer) = Reply::new();
        reply.answer(1);
        assert_eq!(answer.try_recv(), Ok(Ok(1)));
        let (reply, mut answer) = Reply::<u8>::new();
        drop(reply);
        assert_eq!(answer.try_recv(), Ok(Err(CodedError::internal())));
        let (reply, mut answer) = EditorReply::new();
        reply.of::<methods::TabDetach>().answer(Empty {});
        assert_eq!(answer.try_recv(), Ok(Ok(serde_json::json!({}))));
        let (reply, mut answer) = EditorReply::new();
        drop(reply);
        assert_eq!(answer.try_recv(), Ok(Err(CodedError::internal())));
    }
}
