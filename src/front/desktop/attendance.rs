//! Who is connected to which session, and who answered which request for approval.
//!
//! Owns what one client is told of another. Never settles anything: the loop does, and takes one answer only.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedMutexGuard};

use crate::app::ClientId;
use crate::protocol::desktop::host_message::NamedClient;

/// Answers that are remembered: more than wait in any workspace at a time. Who answered an older one is not told.
const ANSWERS: usize = 512;

/// How long the outcome of an answer may take to be known. Past it nobody is named.
const OUTCOME: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Default)]
pub(super) struct Attendance {
    present: Mutex<BTreeMap<ClientId, Attendee>>,
    answered: Mutex<VecDeque<(String, NamedClient)>>,
    /// The answers that are on their way, by request.
    answering: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

struct Attendee {
    session_id: String,
    named: NamedClient,
    /// Who is there changed.
    changed: Arc<Notify>,
}

impl Attendance {
    /// A client came; what is given tells it when others come and go.
    pub(super) fn join(&self, client: ClientId, session_id: &str, named: NamedClient) -> Arc<Notify> {
        let changed = Arc::new(Notify::new());
        let attendee = Attendee { session_id: session_id.to_owned(), named, changed: Arc::clone(&changed) };
        let mut present = self.lock();
        present.insert(client, attendee);
        tell(&present, session_id, Some(client));
        changed
    }

    /// A client left.
    pub(super) fn leave(&self, client: ClientId) {
        let mut present = self.lock();
        if let Some(gone) = present.remove(&client) {
            tell(&present, &gone.session_id, None);
        }
    }

    /// Who is connected to a session.
    pub(super) fn of(&self, session_id: &str) -> Vec<NamedClient> {
        let present = self.lock();
        let of_session = present.values().filter(|attendee| attendee.session_id == session_id);
        of_session.map(|attendee| attendee.named.clone()).collect()
    }

    /// One answer to a request at a time, so that it is known whose was taken. Another request does not wait for it: an engine may
    /// take long to say that it heard.
    pub(super) async fn turn_to_answer(&self, request_id: &str) -> AnswerTurn<'_> {
        let request = {
            let mut answering = self.answering.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(answering.entry(request_id.to_owned()).or_default())
        };
        let permit = Arc::clone(&request).lock_owned().await;
        AnswerTurn { attendance: self, request_id: request_id.to_owned(), permit: Some(permit) }
    }

    /// A client is about to answer.
    pub(super) fn answers(&self, request_id: &str, named: &NamedClient) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if answered.len() == ANSWERS {
            answered.pop_front();
        }
        answered.push_back((request_id.to_owned(), named.clone()));
    }

    /// Its answer was not taken.
    pub(super) fn answered_not(&self, request_id: &str, named: &NamedClient) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let last = answered.iter().rposition(|(id, by)| id == request_id && by == named);
        last.map(|at| answered.remove(at));
    }

    /// Who settled a request: an answer that is on its way may come too late to be the one, so its outcome is waited for, shortly.
    pub(super) async fn settled_by(&self, request_id: &str) -> Option<NamedClient> {
        let _turn = tokio::time::timeout(OUTCOME, self.turn_to_answer(request_id)).await.ok()?;
        self.answered_by(request_id)
    }

    /// Who answered.
    fn answered_by(&self, request_id: &str) -> Option<NamedClient> {
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.iter().rev().find(|(id, _)| id == request_id).map(|(_, by)| by.clone())
    }

    /// Who answered before the one who is answering now.
    pub(super) fn answered_before(&self, request_id: &str) -> Option<NamedClient> {
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.iter().rev().filter(|(id, _)| id == request_id).nth(1).map(|(_, by)| by.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ClientId, Attendee>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to answer a request; it passes on when this is dropped.
pub(super) struct AnswerTurn<'a> {
    attendance: &'a Attendance,
    request_id: String,
    permit: Option<OwnedMutexGuard<()>>,
}

impl Drop for AnswerTurn<'_> {
    fn drop(&mut self) {
        let mut answering = self.attendance.answering.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.permit.take());
        // Nobody else waits for it, or the map would grow with every request.
        if answering.get(&self.request_id).is_some_and(|request| Arc::strong_count(request) == 1) {
            answering.remove(&self.request_id);
        }
    }
}

fn tell(present: &BTreeMap<ClientId, Attendee>, session_id: &str, but: Option<ClientId>) {
    for (client, attendee) in present {
        if attendee.session_id == session_id && Some(*client) != but {
            attendee.changed.notify_one();
        }
    }
}
