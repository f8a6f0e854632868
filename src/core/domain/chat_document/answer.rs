//! An answer as it stands in a chat document.
//!
//! Owns that nothing of it is taken for the document's own lines. What is written of which block is `conversation_writer`'s. The same blocks
//! give the same text, so what the document should say never depends on what was written before.

use super::sections::push_escaped;
use crate::domain::conversation_writer::ConversationWriter;
use crate::domain::view::Block;

/// The answer that these blocks are. `waiting` is, by request, what a request that waits is about.
pub fn answer_of<'a>(
    blocks: impl IntoIterator<Item = &'a Block>,
    waiting: impl Fn(&str) -> Option<String>,
) -> String {
    let text = |said: &str| {
        let mut text = String::with_capacity(said.len());
        push_escaped(&mut text, &plain_lines(said));
        text
    };
    // A line stands behind a mark, and so is no heading.
    ConversationWriter { text: &text, line: &str::to_owned, waiting: &waiting }.answer(blocks)
}

/// The text with the line ends that every editor takes for such: some take a form feed or U+2028 for one too, and would then count
/// the lines below it otherwise than we do.
fn plain_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'], "\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::chat_document::ChatText;

    fn block(id: &str, body: serde_json::Value) -> Block {
        let mut value = json!({ "id": id, "seq": 1 });
        value.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_answer_is_what_the_agent_says_and_a_line_for_what_it_does() {
        let permission = json!({ "requestId": "r", "digest": "d", "title": "Write a.rs", "options": [],
            "subject": { "kind": "edit", "files": [] } });
        let blocks = [
            block("1", json!({ "kind": "user", "text": "ask" })),
            block("2", json!({ "kind": "reasoning", "text": "hm", "streaming": false })),
            block("3", json!({ "kind": "tool", "name": "read", "status": "ok", "title": "Read a.rs\nb" })),
            block("4", json!({ "kind": "tool", "name": "grep", "status": "running" })),
            block("5", json!({ "kind": "assistant", "text": "So:\n## You\nrm -rf\n", "streaming": true })),
            block("6", json!({ "kind": "permission", "permission": permission, "status": "pending" })),
            block(
                "7",
                json!({ "kind": "plan", "steps": [{ "text": "one", "status": "completed" }, { "text": "two" }] }),
            ),
            block("8", json!({ "kind": "turn-end", "outcome": "stopped" })),
        ];
        let said = answer_of(&blocks, |id| (id == "r").then(|| "> **Asks:** all of it".to_owned()));
        assert_eq!(
            said,
            "> Done: Read a.rs b\n> Running: grep\n\nSo:\n\\## You\nrm -rf\n\n> **Asks:** all of it\n\n- [x] one\n- [ ] two\n\n> The turn was stopped."
        );
        let hidden = answer_of(&blocks[5..6], |_| None);
        assert_eq!(hidden, "> Asks, and cannot be shown here whole: Write a.rs");
        // And in the document it stays an answer
        let room = ChatText::read("ask").with_room(None);
        let whole = ChatText::read(&room).with_answer(0, &said).unwrap();
        assert_eq!(ChatText::read(&whole).prompt(), None);
    }
}
