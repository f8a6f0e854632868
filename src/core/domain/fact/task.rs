//! News of the tasks that an engine works on side by side.
//!
//! Owns the order in which statuses take precedence. Never joins news to a task: the reducer does.

use serde::{Deserialize, Serialize};

use super::decision::Confirmed;

/// News of a task. Ids are keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskNews {
    /// The task; `None` when the event names none.
    pub id: Option<String>,
    /// The task that it belongs to.
    pub parent: Option<String>,
    /// What it does.
    pub title: Option<String>,
    /// What to call it while nothing says what it does.
    pub label: Option<String>,
    /// How it stands.
    pub status: Option<TaskStatus>,
    /// The status is how it stood at some time, not what happened now.
    pub snapshot: bool,
    /// It begins, or begins again.
    pub again: bool,
    /// Which attempt.
    pub attempt: Option<u64>,
    /// The engine was asked to stop.
    pub stop_requested: bool,
    /// What the task was answered.
    pub answered: Option<Confirmed>,
}

/// How a task stands, in the order of precedence (R003-47), weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TaskStatus {
    /// It waits.
    Queued,
    /// It is done.
    Completed,
    /// It runs.
    Running,
    /// It failed.
    Failed,
    /// It failed because it was stopped. On the wire that is a task that failed.
    Cancelled,
}
