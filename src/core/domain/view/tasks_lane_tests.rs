//! The laws of the task tree: parents, orphans, statuses, bounds.

use serde_json::{Value, json};

use super::*;
use crate::domain::dialect::{Dialect, fact};
use crate::domain::event::{EventClass, Origin};
use crate::domain::fact::Fact;
use crate::domain::view::{LaneView, View, ViewLanes, apply_changes};

/// A lane and the tasks that made it.
struct Tree {
    lane: TasksLane,
    view: View,
    seq: u64,
}

impl Tree {
    fn new() -> Self {
        let view = View { epoch: "e".into(), seq: 0, lanes: ViewLanes::default() };
        Self { lane: TasksLane::default(), view, seq: 0 }
    }

    fn of(events: &[Value]) -> Self {
        let mut tree = Self::new();
        events.iter().for_each(|event| tree.hear(event.clone()));
        tree
    }

    fn hear(&mut self, payload: Value) {
        self.seq += 1;
        let event = SessionEvent {
            id: String::new(),
            kind: "task_event".into(),
            turn: Some(1),
            ts: None,
            received_at: None,
            payload: payload.as_object().cloned().unwrap().into(),
            seq: self.seq,
            class: EventClass::TaskEvent,
            pane: std::borrow::Cow::Borrowed(&[]),
            origin: Origin::Engine,
            repaired: false,
            permission: None,
        };
        let mut changes = Vec::new();
        let Fact::Task(news) = fact(Dialect::Breadboard, &event) else { panic!("no task: {event:?}") };
        self.lane.event(&event, &news, &mut changes);
        apply_changes(&mut self.view, &changes);
    }

    fn tasks(&self) -> &LaneView {
        &self.view.lanes.tasks
    }

    /// `id < parent: status`, in the order of the lane.
    fn told(&self) -> Vec<String> {
        let line = |block: &Block| {
            let BlockBody::Task { task_id, parent_id, status, .. } = &block.body else {
                panic!("no task: {block:?}")
            };
            let under = parent_id.as_ref().map(|parent| format!(" < {parent}")).unwrap_or_default();
            format!("{task_id}{under}: {status}")
        };
        self.tasks().blocks.iter().map(line).collect()
    }
}

fn task(id: &str, status: &str) -> Value {
    json!({"kind": "news", "task_id": id, "status": status})
}

fn under(id: &str, parent: &str, status: &str) -> Value {
    json!({"kind": "news", "task_id": id, "parent_task_id": parent, "status": status})
}

#[test]
fn r003_45_tasks_stand_under_the_parents_they_name() {
    let tree = Tree::of(&[task("a", "running"), under("b", "a", "queued"), under("c", "b", "queued")]);
    assert_eq!(tree.told(), ["a: running", "b < a: queued", "c < b: queued"]);
}

#[test]
fn r003_46_r003_48_an_orphan_waits_in_its_group_and_moves_when_its_parent_comes() {
    let mut tree = Tree::of(&[under("b", "a", "running"), under("x", "y", "failed")]);
    assert_eq!(tree.told(), ["orphans: failed", "b < orphans: running", "x < orphans: failed"]);
    tree.hear(task("a", "queued"));
    assert_eq!(tree.told(), ["orphans: failed", "b < a: running", "x < orphans: failed", "a: running"]);
    tree.hear(task("y", "queued"));
    assert_eq!(tree.told(), ["b < a: running", "x < y: failed", "a: running", "y: failed"]);
}

#[test]
fn r003_47_statuses_without_an_order_are_decided_by_the_precedence() {
    let both = |kind: &str, status: &str| {
        Tree::of(&[json!({"kind": kind, "task_id": "a", "status": status})]).told().remove(0)
    };
    assert_eq!(both("subagent_completed", "failed"), "a: failed");
    assert_eq!(both("subagent_failed", "running"), "a: failed");
    assert_eq!(both("subagent_completed", "running"), "a: running");
    assert_eq!(both("subagent_completed", "queued"), "a: completed");
    assert_eq!(both("subagent_spawned", "queued"), "a: running");

    let snapshot = json!({"kind": "snapshot", "task_id": "a", "status": "completed"});
    assert_eq!(Tree::of(&[task("a", "running"), snapshot.clone()]).told(), ["a: running"]);
    assert_eq!(Tree::of(&[task("a", "queued"), snapshot]).told(), ["a: completed"]);
}

#[test]
fn r003_47_between_two_events_of_a_task_the_later_one_decides() {
    let words = ["running", "completed", "running", "queued", "failed"];
    let mut tree = Tree::new();
    for word in words {
        tree.hear(task("a", word));
        assert_eq!(tree.told(), [format!("a: {word}")]);
    }
}

#[test]
fn r003_47_a_task_leaves_failed_by_a_new_attempt_only() {
    let failed = json!({"kind": "subagent_failed", "task_id": "a", "attempt": 1});
    for word in ["running", "completed", "queued"] {
        assert_eq!(Tree::of(&[failed.clone(), task("a", word)]).told(), ["a: failed"], "{word}");
    }
    let spawned = json!({"kind": "subagent_spawned", "task_id": "a"});
    assert_eq!(Tree::of(&[failed.clone(), spawned]).told(), ["a: running"]);
    let second = json!({"kind": "news", "task_id": "a", "attempt": 2, "status": "completed"});
    assert_eq!(Tree::of(&[failed.clone(), second]).told(), ["a: completed"]);
    let same = json!({"kind": "news", "task_id": "a", "attempt": 1, "status": "completed"});
    assert_eq!(Tree::of(&[failed, same]).told(), ["a: failed"]);
}

#[test]
fn r003_47_a_parent_shows_the_strongest_of_itself_and_its_children() {
    let mut tree = Tree::of(&[
        task("a", "completed"),
        under("b", "a", "completed"),
        under("c", "b", "running"),
        under("d", "b", "failed"),
    ]);
    assert_eq!(tree.told(), ["a: failed", "b < a: failed", "c < b: running", "d < b: failed"]);
    tree.hear(json!({"kind": "subagent_spawned", "task_id": "d"}));
    assert_eq!(tree.told(), ["a: running", "b < a: running", "c < b: running", "d < b: running"]);
    tree.hear(task("c", "completed"));
    tree.hear(task("d", "completed"));
    assert_eq!(tree.told(), ["a: completed", "b < a: completed", "c < b: completed", "d < b: completed"]);
}

#[test]
fn a_child_that_changes_its_parent_is_counted_at_the_new_one_only() {
    let mut tree = Tree::of(&[task("a", "completed"), task("b", "completed"), under("c", "a", "failed")]);
    assert_eq!(tree.told(), ["a: failed", "b: completed", "c < a: failed"]);
    tree.hear(under("c", "b", "failed"));
    assert_eq!(tree.told(), ["a: completed", "b: failed", "c < b: failed"]);
}

#[test]
fn a_circle_of_parents_ends_among_the_orphans_and_a_task_is_never_its_own_parent() {
    assert_eq!(Tree::of(&[under("a", "a", "running")]).told(), ["a: running"]);
    let tree = Tree::of(&[under("a", "b", "running"), under("b", "c", "queued"), under("c", "a", "failed")]);
    let orphans = tree.told().iter().filter(|line| line.contains("< orphans")).count();
    assert_eq!((orphans, tree.told().len()), (1, 4), "{:?}", tree.told());
}

#[test]
fn what_names_no_task_changes_nothing() {
    for other in [json!({"kind": "stop_requested"}), json!({"task_id": ""}), json!({"task_id": {"a": 1}})] {
        assert_eq!(Tree::of(&[other]).told(), Vec::<String>::new());
    }
    assert_eq!(Tree::of(&[json!({"task_id": 7, "status": ["x"], "description": 1.5})]).told(), ["7: queued"]);
}

#[test]
fn a_title_is_one_line_and_the_last_description_wins() {
    let title = |events: &[Value]| {
        let BlockBody::Task { title, .. } = Tree::of(events).tasks().blocks[0].body.clone() else {
            panic!("no task")
        };
        title
    };
    let named = json!({"task_id": "a", "description": "\n  Look around\nand more", "subagent_type": "scout"});
    assert_eq!(title(std::slice::from_ref(&named)), "Look around");
    assert_eq!(title(&[named.clone(), json!({"task_id": "a", "subagent_type": "other"})]), "Look around");
    assert_eq!(title(&[named, json!({"task_id": "a", "description": "Look again"})]), "Look again");
    assert_eq!(title(&[json!({"task_id": "a", "subagent_type": "scout"})]), "scout");
    assert_eq!(title(&[json!({"task_id": "a"})]), "a");
    assert_eq!(title(&[json!({"task_id": "a", "description": "x".repeat(5_000)})]).chars().count(), 201);
}

#[test]
fn past_its_bound_the_lane_forgets_ended_leaves_first_and_parents_keep_what_they_showed() {
    let mut tree = Tree::of(&[task("root", "completed"), under("bad", "root", "failed")]);
    for at in 0..TASKS {
        tree.hear(under(&format!("t{at}"), "root", "running"));
    }
    assert!(tree.lane.tasks.len() <= TASKS);
    assert!(!tree.lane.tasks.contains_key("bad") && tree.lane.tasks.contains_key("root"));
    assert_eq!(tree.told()[..2], ["root: failed", "bad < root: failed"]);
    tree.hear(task("root", "completed"));
    assert_eq!(tree.told()[0], "root: failed");
}

#[test]
fn the_lane_is_bounded_whatever_the_tasks_say_of_each_other() {
    let mut tree = Tree::new();
    let long = "x".repeat(5_000);
    // Chains, circles and orphans, all with ids and titles that are too long.
    for at in 0..3_000_u64 {
        let parent = match at % 3 {
            0 => at.saturating_sub(1),
            1 => at + 1,
            _ => at + 1_000_000,
        };
        tree.hear(json!({"task_id": format!("{long}{at}"), "parent_task_id": format!("{long}{parent}"),
            "description": long, "status": "running"}));
        // What stands in the view is the client's matter.
        tree.view.lanes = ViewLanes::default();
    }
    assert!(tree.lane.tasks.len() <= TASKS);
    let bytes = serde_json::to_vec(&tree.lane).unwrap().len();
    assert!(bytes < 3 << 20, "{bytes} bytes");
}

#[test]
fn an_orphan_that_is_forgotten_leaves_its_group_standing() {
    let mut tree = Tree::of(&[under("lost", "nobody", "failed")]);
    for at in 0..TASKS {
        tree.hear(task(&format!("t{at}"), "running"));
    }
    assert!(!tree.lane.tasks.contains_key("lost"));
    assert_eq!(tree.told()[..2], ["orphans: failed", "lost < orphans: failed"]);
}
