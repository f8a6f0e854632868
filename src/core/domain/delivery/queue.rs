//! The queue of a session: prompts that are queued behind a running turn.
//!
//! Owns their order and the pause. Never starts a turn.

use serde::{Deserialize, Serialize};

use crate::domain::context::choice::ContextChoice;

/// Nobody reads what stands behind 256 prompts; past that a prompt is refused and the user is told.
const LIMIT: usize = 256;

/// Bytes of text that may wait: the whole queue is written again whenever it changes.
const BYTES: usize = 8 << 20;

/// One prompt that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedPrompt {
    /// Id of the prompt, the client's.
    pub message_id: String,
    /// Its text.
    pub text: String,
    /// Its attachments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachment_ids: Vec<String>,
    /// What its user wants with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextChoice>,
}

/// Why the queue did not do what it was asked. Nothing changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueRefusal {
    /// 256 prompts or 8 MiB of text wait already.
    Full,
    /// No prompt in the queue has this message id.
    UnknownPrompt,
}

/// The queue of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptQueue {
    items: Vec<QueuedPrompt>,
    paused: bool,
}

impl PromptQueue {
    /// The prompts that wait, in order.
    pub fn items(&self) -> &[QueuedPrompt] {
        &self.items
    }

    /// Whether the queue holds its prompts back.
    pub fn paused(&self) -> bool {
        self.paused
    }

    /// Puts a prompt at the end.
    pub fn push(&mut self, prompt: QueuedPrompt) -> Result<(), QueueRefusal> {
        let bytes: usize = self.items.iter().map(|item| item.text.len()).sum();
        if self.items.len() >= LIMIT || bytes + prompt.text.len() > BYTES {
            return Err(QueueRefusal::Full);
        }
        self.items.push(prompt);
        Ok(())
    }

    /// Changes the text of a prompt.
    pub fn edit(&mut self, message_id: &str, text: String) -> Result<(), QueueRefusal> {
        let at = self.position(message_id)?;
        let others: usize =
            self.items.iter().map(|item| item.text.len()).sum::<usize>() - self.items[at].text.len();
        if others + text.len() > BYTES {
            return Err(QueueRefusal::Full);
        }
        self.items[at].text = text;
        Ok(())
    }

    /// Moves a prompt before another one, or to the end. Before itself it stays where it is.
    pub fn move_before(&mut self, message_id: &str, before: Option<&str>) -> Result<(), QueueRefusal> {
        let from = self.position(message_id)?;
        let to = match before {
            Some(before) => self.position(before)?,
            None => self.items.len(),
        };
        let prompt = self.items.remove(from);
        // Everything behind the prompt moved up by one when it was taken out.
        self.items.insert(if from < to { to - 1 } else { to }, prompt);
        Ok(())
    }

    /// Takes a prompt out.
    pub fn remove(&mut self, message_id: &str) -> Result<QueuedPrompt, QueueRefusal> {
        let at = self.position(message_id)?;
        Ok(self.items.remove(at))
    }

    /// The next prompt to run; `None` when the queue is empty or paused.
    pub fn pop(&mut self) -> Option<QueuedPrompt> {
        if self.paused || self.items.is_empty() { None } else { Some(self.items.remove(0)) }
    }

    /// Holds the prompts back until `resume`.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Lets them go on.
    pub fn resume(&mut self) {
        self.paused = false;
    }

    fn position(&self, message_id: &str) -> Result<usize, QueueRefusal> {
        let found = self.items.iter().position(|item| item.message_id == message_id);
        found.ok_or(QueueRefusal::UnknownPrompt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(id: &str) -> QueuedPrompt {
        QueuedPrompt {
            message_id: id.into(),
            text: format!("text of {id}"),
            attachment_ids: Vec::new(),
            context: None,
        }
    }

    fn queue(ids: &[&str]) -> PromptQueue {
        let mut queue = PromptQueue::default();
        for id in ids {
            queue.push(prompt(id)).unwrap();
        }
        queue
    }

    fn ids(queue: &PromptQueue) -> Vec<&str> {
        queue.items().iter().map(|item| item.message_id.as_str()).collect()
    }

    #[test]
    fn prompts_run_in_order_and_a_paused_queue_gives_none() {
        let mut queue = queue(&["a", "b"]);
        queue.pause();
        assert_eq!(queue.pop(), None);
        queue.resume();
        assert_eq!(queue.pop(), Some(prompt("a")));
        assert_eq!(queue.pop(), Some(prompt("b")));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn a_prompt_moves_before_another_or_to_the_end() {
        for (what, before, expected) in [
            ("a", Some("c"), ["b", "a", "c"]),
            ("c", Some("a"), ["c", "a", "b"]),
            ("a", None, ["b", "c", "a"]),
            ("c", None, ["a", "b", "c"]),
            ("b", Some("b"), ["a", "b", "c"]),
            ("b", Some("c"), ["a", "b", "c"]),
        ] {
            let mut queue = queue(&["a", "b", "c"]);
            assert_eq!(queue.move_before(what, before), Ok(()));
            assert_eq!(ids(&queue), expected, "{what} before {before:?}");
        }
    }

    #[test]
    fn an_unknown_id_is_refused_and_changes_nothing() {
        let mut given = queue(&["a", "b"]);
        assert_eq!(given.edit("x", String::new()), Err(QueueRefusal::UnknownPrompt));
        assert_eq!(given.move_before("x", None), Err(QueueRefusal::UnknownPrompt));
        assert_eq!(given.move_before("a", Some("x")), Err(QueueRefusal::UnknownPrompt));
        assert_eq!(given.remove("x"), Err(QueueRefusal::UnknownPrompt));
        assert_eq!(given, queue(&["a", "b"]));
    }

    #[test]
    fn edit_and_remove_touch_one_prompt() {
        let mut queue = queue(&["a", "b", "c"]);
        queue.edit("b", "new".into()).unwrap();
        assert_eq!(queue.remove("a"), Ok(prompt("a")));
        assert_eq!(queue.items()[0].text, "new");
        assert_eq!(ids(&queue), ["b", "c"]);
    }

    #[test]
    fn the_prompt_past_the_bound_is_refused_and_the_queue_survives_a_restart() {
        let mut queue = PromptQueue::default();
        for n in 0..LIMIT {
            queue.push(prompt(&n.to_string())).unwrap();
        }
        assert_eq!(queue.push(prompt("more")), Err(QueueRefusal::Full));
        queue.pause();
        let text = serde_json::to_string(&queue).unwrap();
        assert_eq!(serde_json::from_str::<PromptQueue>(&text).unwrap(), queue);
    }
}
