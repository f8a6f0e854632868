//! The sockets of sessions: one task a session, which opens its socket again when it breaks.
//!
//! Owns the table of them. Never waits: orders go into a bounded queue, and one that is full is refused in a sentence.

mod open_turn;
mod said;
mod standing;
mod stands_again;
mod talk;
mod task;
mod undecided;
pub(super) mod wake;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use self::task::LinkTask;
use super::DesktopParts;
use super::order::LinkOrder;

/// Orders of one session that wait for its task, which takes each at once but for the time that it sends: a person gives a few.
const ORDERS: usize = 64;

/// The sessions that have a socket, or are to have one.
#[derive(Default)]
pub(super) struct HostLinks {
    of: Mutex<HashMap<String, mpsc::Sender<LinkOrder>>>,
}

/// There is no room for an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoRoom;

impl HostLinks {
    /// Gives an order; begins the task of a session that has none. `made`: the session was made by this process just now.
    pub(super) fn order(
        &self,
        parts: &Arc<DesktopParts>,
        session_id: &str,
        order: LinkOrder,
    ) -> Result<(), NoRoom> {
        let mut links = self.lock();
        links.retain(|_, orders| !orders.is_closed());
        let orders = links.entry(session_id.to_owned()).or_insert_with(|| {
            let (sender, orders) = mpsc::channel(ORDERS);
            let task = LinkTask::new(Arc::clone(parts), session_id.to_owned(), orders, sender.downgrade());
            parts.runtime.spawn(task.run());
            sender
        });
        orders.try_send(order).map_err(|_| NoRoom)
    }

    /// Ends the task of a session.
    pub(super) fn forget(&self, session_id: &str) {
        self.lock().remove(session_id);
    }

    /// No code panics while it holds the lock, and a poisoned one still holds whole values.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<LinkOrder>>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
