//! The tasks lane: the tree of tasks that `task_event`s tell of.
//!
//! Owns parents, orphans and statuses (R003-45 to R003-48, ruling 5). Between two events of one task the later one decides;
//! the precedence failed > running > completed > queued decides where there is no order, and what a parent shows of its
//! children. Never shows nodes of the conversation tree, which are no tasks: `conversation_tree` has one group of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, Lane};
use crate::domain::cut;
use crate::domain::event::SessionEvent;
use crate::domain::fact::{TaskNews, TaskStatus};

/// Tasks that can still change. When one more comes, an eighth of them is forgotten here, ended leaves first, oldest first;
/// their blocks stay as they are, and what they were still counts for their parents.
const TASKS: usize = 2_000;
const FORGOTTEN_AT_ONCE: usize = TASKS / 8;
/// One line.
const TITLE: usize = 200;
/// The id of the group of those whose parent nobody knows.
const ORPHANS: &str = "orphans";
const ORPHANS_BLOCK: &str = "tasks-orphans";

/// The tasks that can still change, by id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TasksLane {
    tasks: BTreeMap<String, TaskEntry>,
    /// Ids by the parent that they name, known or not.
    children: BTreeMap<String, Vec<String>>,
    /// `seq` and shown status of the group of orphans, while it is there.
    group: Option<(u64, TaskStatus)>,
    /// How many tasks are under the group.
    orphans: usize,
    /// What orphans showed that are forgotten; their blocks still stand under the group, so it stays.
    forgotten: Option<TaskStatus>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TaskEntry {
    seq: u64,
    turn: Option<u64>,
    title: String,
    /// The parent that it names.
    parent: Option<String>,
    /// Where it stands in the lane.
    under: Under,
    status: TaskStatus,
    /// Highest attempt that was said.
    attempt: Option<u64>,
    /// What children showed that are forgotten.
    forgotten: Option<TaskStatus>,
    /// What its block shows: its own status and its children's.
    shown: TaskStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Under {
    Root,
    Parent,
    Orphans,
}

impl TasksLane {
    /// Takes in what one event says of its task. `false`: it names no task, and nothing changed.
    pub(super) fn event(&mut self, event: &SessionEvent, news: &TaskNews, changes: &mut Vec<Change>) -> bool {
        let Some(id) = news.id.clone() else { return false };
        let is_new = !self.tasks.contains_key(&id);
        if is_new {
            self.make_room();
            let task = TaskEntry {
                seq: event.seq,
                turn: event.turn,
                title: cut::line(&id, TITLE),
                parent: None,
                under: Under::Root,
                status: TaskStatus::Queued,
                attempt: None,
                forgotten: None,
                shown: TaskStatus::Queued,
            };
            self.tasks.insert(id.clone(), task);
        }
        if let Some(task) = self.tasks.get_mut(&id) {
            let label = news.label.as_ref().filter(|_| is_new);
            if let Some(name) = news.title.as_ref().or(label) {
                let line = name.lines().map(str::trim).find(|line| !line.is_empty());
                task.title = cut::line(line.unwrap_or(&id), TITLE);
            }
            task.hear(news);
        }
        let left = news.parent.clone().and_then(|parent| self.name_parent(&id, parent));
        let adopted = if is_new { self.adopt(&id) } else { Vec::new() };
        self.show(&id, event, changes);
        if let Some(left) = left {
            self.roll_up(Some(left), changes);
        }
        for child in adopted {
            self.put(&child, changes);
        }
        self.show_group(event, changes);
        true
    }

    /// The task says who its parent is; gives the one that it leaves. One that is its own ancestor has no place in a tree
    /// and stays an orphan.
    fn name_parent(&mut self, id: &str, parent: String) -> Option<String> {
        let before = self.tasks.get(id).and_then(|task| task.parent.clone());
        if before.as_ref() == Some(&parent) || parent == id {
            return None;
        }
        if let Some(before) = &before {
            self.unlink(before, id);
        }
        let under = self.place_under(id, &parent);
        self.children.entry(parent.clone()).or_default().push(id.to_owned());
        if let Some(task) = self.tasks.get_mut(id) {
            task.parent = Some(parent);
        }
        self.set_under(id, under);
        before
    }

    fn place_under(&self, id: &str, parent: &str) -> Under {
        if !self.tasks.contains_key(parent) {
            return Under::Orphans;
        }
        let mut at = Some(parent);
        while let Some(ancestor) = at {
            if ancestor == id {
                return Under::Orphans;
            }
            at = self.parent_in_tree(ancestor);
        }
        Under::Parent
    }

    fn parent_in_tree(&self, id: &str) -> Option<&str> {
        let task = self.tasks.get(id).filter(|task| task.under == Under::Parent)?;
        task.parent.as_deref()
    }

    fn set_under(&mut self, id: &str, under: Under) {
        let Some(task) = self.tasks.get_mut(id) else { return };
        let was = std::mem::replace(&mut task.under, under);
        self.orphans =
            self.orphans + usize::from(under == Under::Orphans) - usize::from(was == Under::Orphans);
    }

    /// A task that others have named as their parent is here: they move under it (R003-48).
    fn adopt(&mut self, id: &str) -> Vec<String> {
        let waiting = self.children.get(id).cloned().unwrap_or_default();
        let mut adopted = Vec::new();
        for child in waiting {
            if self.place_under(&child, id) == Under::Parent {
                self.set_under(&child, Under::Parent);
                adopted.push(child);
            }
        }
        adopted
    }

    /// Puts the task, then every ancestor that shows another status because of it.
    fn show(&mut self, id: &str, event: &SessionEvent, changes: &mut Vec<Change>) {
        let status = self.rolled_up(id);
        if let Some(task) = self.tasks.get_mut(id) {
            task.shown = status;
        }
        // A group stands before what it holds.
        if self.group.is_none() {
            self.show_group(event, changes);
        }
        self.put(id, changes);
        self.roll_up(self.parent_in_tree(id).map(str::to_owned), changes);
    }

    fn roll_up(&mut self, from: Option<String>, changes: &mut Vec<Change>) {
        let mut at = from;
        while let Some(id) = at {
            let status = self.rolled_up(&id);
            let Some(task) = self.tasks.get_mut(&id) else { return };
            if task.shown == status {
                return;
            }
            task.shown = status;
            self.put(&id, changes);
            at = self.parent_in_tree(&id).map(str::to_owned);
        }
    }

    /// The strongest of a task's own status and what its children show.
    fn rolled_up(&self, id: &str) -> TaskStatus {
        let Some(task) = self.tasks.get(id) else { return TaskStatus::Queued };
        let children = self.children_in_tree(id).map(|child| child.shown);
        children.chain(task.forgotten).fold(task.status, TaskStatus::max)
    }

    fn children_in_tree(&self, id: &str) -> impl Iterator<Item = &TaskEntry> {
        let named = self.children.get(id).into_iter().flatten();
        named.filter_map(|child| self.tasks.get(child)).filter(|child| child.under == Under::Parent)
    }

    /// The group is there as long as it holds somebody, and shows the strongest of what they show.
    fn show_group(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        if self.orphans == 0 && self.forgotten.is_none() {
            if self.group.take().is_some() {
                changes.push(Change::remove(Lane::Tasks, ORPHANS_BLOCK));
            }
            return;
        }
        let orphans = self.tasks.values().filter(|task| task.under == Under::Orphans);
        let status = orphans.map(|task| task.shown).chain(self.forgotten).max().unwrap_or(TaskStatus::Queued);
        let seq = match self.group {
            Some((_, shown)) if shown == status => return,
            Some((seq, _)) => seq,
            None => event.seq,
        };
        self.group = Some((seq, status));
        let body = BlockBody::Task {
            task_id: ORPHANS.to_owned(),
            parent_id: None,
            title: "Tasks whose parent is not known".to_owned(),
            status: word(status).to_owned(),
        };
        changes.push(Change::put(Lane::Tasks, Block { id: ORPHANS_BLOCK.to_owned(), turn: None, seq, body }));
    }

    fn put(&self, id: &str, changes: &mut Vec<Change>) {
        let Some(task) = self.tasks.get(id) else { return };
        let parent_id = match task.under {
            Under::Root => None,
            Under::Parent => task.parent.clone(),
            Under::Orphans => Some(ORPHANS.to_owned()),
        };
        let body = BlockBody::Task {
            task_id: id.to_owned(),
            parent_id,
            title: task.told_title(),
            status: word(task.shown).to_owned(),
        };
        changes.push(Change::put(
            Lane::Tasks,
            Block { id: format!("task-{id}"), turn: task.turn, seq: task.seq, body },
        ));
    }

    fn make_room(&mut self) {
        if self.tasks.len() < TASKS {
            return;
        }
        let mut leaves: Vec<(bool, u64, String)> = self
            .tasks
            .iter()
            .filter(|(id, _)| self.children_in_tree(id).next().is_none())
            .map(|(id, task)| (task.goes_on(), task.seq, id.clone()))
            .collect();
        leaves.sort_unstable();
        for (_, _, id) in leaves.into_iter().take(FORGOTTEN_AT_ONCE) {
            let Some(task) = self.tasks.get(&id) else { continue };
            if task.under == Under::Orphans {
                self.forgotten = self.forgotten.max(Some(task.shown));
            }
            self.set_under(&id, Under::Root);
            let Some(task) = self.tasks.remove(&id) else { continue };
            let Some(parent) = task.parent else { continue };
            self.unlink(&parent, &id);
            if let Some(parent) = self.tasks.get_mut(&parent) {
                parent.forgotten = parent.forgotten.max(Some(task.shown));
            }
        }
    }

    fn unlink(&mut self, parent: &str, id: &str) {
        if let Some(siblings) = self.children.get_mut(parent) {
            siblings.retain(|sibling| sibling != id);
            if siblings.is_empty() {
                self.children.remove(parent);
            }
        }
    }
}

impl TaskEntry {
    /// The status that an event says. Two in one event have no order, nor has a snapshot; else the later event decides,
    /// but that a task leaves `failed` by a new attempt only, also where it was cancelled.
    fn hear(&mut self, news: &TaskNews) {
        let again =
            news.again || (news.attempt.is_some() && self.attempt.is_some() && news.attempt > self.attempt);
        self.attempt = self.attempt.max(news.attempt);
        let Some(said) = news.status else { return };
        self.status = match self.status {
            _ if news.snapshot => self.status.max(said),
            TaskStatus::Cancelled | TaskStatus::Failed if !again => self.status,
            TaskStatus::Queued
            | TaskStatus::Completed
            | TaskStatus::Running
            | TaskStatus::Cancelled
            | TaskStatus::Failed => said,
        };
    }

    fn goes_on(&self) -> bool {
        match self.shown {
            TaskStatus::Queued | TaskStatus::Running => true,
            TaskStatus::Completed | TaskStatus::Cancelled | TaskStatus::Failed => false,
        }
    }

    /// What the four words do not tell apart: that somebody stopped it.
    fn told_title(&self) -> String {
        match self.status {
            TaskStatus::Cancelled => format!("{} (cancelled)", self.title),
            TaskStatus::Queued | TaskStatus::Completed | TaskStatus::Running | TaskStatus::Failed => {
                self.title.clone()
            }
        }
    }
}

/// The seed's four words. A task that was stopped did not do what it was for.
fn word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Queued => "queued",
        TaskStatus::Completed => "completed",
        TaskStatus::Running => "running",
        TaskStatus::Cancelled | TaskStatus::Failed => "failed",
    }
}

#[cfg(test)]
#[path = "tasks_lane_tests.rs"]
mod tests;
