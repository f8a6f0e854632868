//! Who is connected to which session, and who answered which request for approval.
//!
//! Owns what one client is told of another. Never settles anything: the loop does, and takes one answer only.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::app::ClientId;
use crate::protocol::desktop::host_message::NamedClient;

/// Answers that are remembered: more than wait in any workspace at a time. Who answered an older one is not told.
const ANSWERS: usize = 512;

/// See the module.
#[derive(Default)]
pub(super) struct Attendance {
    present: Mutex<BTreeMap<ClientId, Attendee>>,
    answered: Mutex<VecDeque<(String, NamedClient)>>,
    /// One answer at a time, so that it is known whose was taken.
    pub(super) answering: tokio::sync::Mutex<()>,
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

    /// Who answered.
    pub(super) fn answered_by(&self, request_id: &str) -> Option<NamedClient> {
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

fn tell(present: &BTreeMap<ClientId, Attendee>, session_id: &str, but: Option<ClientId>) {
    for (client, attendee) in present {
        if attendee.session_id == session_id && Some(*client) != but {
            attendee.changed.notify_one();
        }
    }
}
