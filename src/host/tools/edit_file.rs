//! `edit_file`: one exact replacement in one file, or a new file, which the user decides about.
//!
//! The way to change a file that models make the fewest mistakes with; it is a patch of one file, and is asked and applied as any.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ToolAnswer, arguments, propose_patch};
use crate::host::models::ToolSpec;
use crate::host::proposal::ProposalRefusal;
use crate::host::request::AnsweredAsk;
use crate::host::turn_output::TurnOutput;

pub(super) const NAME: &str = "edit_file";

#[derive(Deserialize)]
struct EditArgs {
    path: String,
    #[serde(default)]
    old_text: String,
    new_text: String,
    #[serde(default)]
    reason: String,
}

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Replaces one piece of a file by another, exactly, and asks the user. `old_text` must stand in the file once, \
                      so give some lines around what changes, as read_file shows them. Without `old_text` the file is new, or is \
                      written anew. For several changes or files at once, for deleting and renaming, use propose_patch.".into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "File, relative to the workspace." },
                "old_text": { "type": "string", "description": "What stands there now, once." },
                "new_text": { "type": "string", "description": "What comes instead." },
                "reason": { "type": "string", "description": "Why, in one sentence for the user." }
            },
            "required": ["path", "new_text", "reason"]
        }),
    }
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
    before: Option<AnsweredAsk>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let EditArgs { path, old_text, new_text, reason } = arguments(args)?;
    let change = if old_text.is_empty() {
        ("new_content", json!(new_text))
    } else {
        ("edits", json!([{ "old_text": old_text, "new_text": new_text }]))
    };
    let patch = [("file_path", json!(path)), ("rationale", json!(reason)), change];
    let patch = patch.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    propose_patch::run(voice, patch, before).await
}
