//! `propose_patch`: a change of one file, which the user decides about.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ToolAnswer, arguments};
use crate::domain::edits::apply::TextEdit;
use crate::host::counted;
use crate::host::models::ToolSpec;
use crate::host::proposal::{Outcome, Proposal, ProposalRefusal, ProposedChange, propose};
use crate::host::request::AnsweredAsk;
use crate::host::turn_output::TurnOutput;

pub(super) const NAME: &str = "propose_patch";

/// What the model is told where the disk has the old text still.
const NOT_SAVED: &str = " It is changed in the editor, not saved: commands read the old text from the disk until the user saves it.";

#[derive(Deserialize)]
struct ProposedEdit {
    old_text: String,
    new_text: String,
}

#[derive(Deserialize)]
struct PatchArgs {
    file_path: String,
    #[serde(default)]
    rationale: String,
    #[serde(default)]
    acceptance_criteria: Vec<String>,
    #[serde(default)]
    edits: Option<Vec<ProposedEdit>>,
    #[serde(default)]
    diff: Option<String>,
    #[serde(default)]
    new_content: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME,
        description: "Proposes a change of one file to the user and applies it when allowed. Give exactly one of `edits` \
                      (best: each old_text must occur exactly once in the file), `diff` (unified) or `new_content` (for \
                      new files). Read the file first.",
        parameters: json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "File, relative to the workspace." },
                "rationale": { "type": "string", "description": "Why, in one sentence for the user." },
                "acceptance_criteria": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "How the user can check the change."
                },
                "edits": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": { "old_text": { "type": "string" }, "new_text": { "type": "string" } },
                        "required": ["old_text", "new_text"]
                    }
                },
                "diff": { "type": "string" },
                "new_content": { "type": "string" }
            },
            "required": ["file_path", "rationale"]
        }),
    }
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
    before: Option<AnsweredAsk>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let PatchArgs { file_path, rationale, acceptance_criteria, edits, diff, new_content } = arguments(args)?;
    let change = match (edits.filter(|edits| !edits.is_empty()), diff, new_content) {
        (Some(edits), None, None) => ProposedChange::Edits(
            edits
                .into_iter()
                .map(|edit| TextEdit { old_text: edit.old_text, new_text: edit.new_text })
                .collect(),
        ),
        (None, Some(diff), None) => ProposedChange::Diff(diff),
        (None, None, Some(text)) => ProposedChange::NewContent(text),
        _ => {
            return Err(ProposalRefusal {
                code: "invalid_params".to_owned(),
                message: "Give exactly one of `edits`, `diff` and `new_content`.".to_owned(),
            });
        }
    };
    let proposal = Proposal { path: file_path, rationale, acceptance_criteria, change };
    match propose(voice, proposal, before).await? {
        Outcome::Applied { path, hash, saved, added, removed, warnings } => Ok(ToolAnswer {
            summary: format!(
                "Applied to {path}: {} added, {removed} removed. Its content is now {hash}.{}",
                counted(added as u64, "line"),
                if saved { "" } else { NOT_SAVED }
            ),
            text: warnings.join("\n"),
        }),
        Outcome::InPart(note) => {
            Ok(ToolAnswer { summary: "The user decided change by change.".to_owned(), text: note })
        }
        Outcome::Denied => Err(ProposalRefusal {
            code: "denied".to_owned(),
            message: "The user denied this change; nothing was written. Do not propose it again unchanged."
                .to_owned(),
        }),
    }
}
