//! Who is connected to which session.
//!
//! Owns what one client is told of another's coming and going. Who answered what is the loop's, and in the journal.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::app::ClientId;
use crate::domain::approval::NamedClient;

/// See the module.
#[derive(Default)]
pub(super) struct Attendance {
    present: Mutex<BTreeMap<ClientId, Attendee>>,
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
