//! `propose_patch`: a change of one or several files, which the user decides about.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ToolAnswer, arguments};
use crate::domain::edits::apply::TextEdit;
use crate::host::counted;
use crate::host::models::ToolSpec;
use crate::host::proposal::{
    AppliedFile, Outcome, Proposal, ProposalRefusal, ProposedChange, StuckChange, propose,
};
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

/// A file of a patch, and the one way in which it changes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct FileArgs {
    file_path: String,
    edits: Option<Vec<ProposedEdit>>,
    diff: Option<String>,
    new_content: Option<String>,
    delete: bool,
    rename_to: Option<String>,
}

#[derive(Deserialize)]
struct PatchArgs {
    #[serde(flatten)]
    only: FileArgs,
    #[serde(default)]
    files: Vec<FileArgs>,
    #[serde(default)]
    rationale: String,
    #[serde(default)]
    acceptance_criteria: Vec<String>,
}

pub(super) fn spec() -> ToolSpec {
    let of_file = json!({
        "file_path": { "type": "string", "description": "File, relative to the workspace." },
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": { "old_text": { "type": "string" }, "new_text": { "type": "string" } },
                "required": ["old_text", "new_text"]
            }
        },
        "diff": { "type": "string" },
        "new_content": { "type": "string" },
        "delete": { "type": "boolean", "description": "True: the file is deleted." },
        "rename_to": { "type": "string", "description": "The new path; `edits` may come with it." }
    });
    let mut properties = of_file.clone();
    if let Some(properties) = properties.as_object_mut() {
        let rationale = json!({ "type": "string", "description": "Why, in one sentence for the user." });
        properties.insert("rationale".to_owned(), rationale);
        properties.insert(
            "acceptance_criteria".to_owned(),
            json!({
                "type": "array",
                "items": { "type": "string" },
                "description": "How the user can check the change."
            }),
        );
        properties.insert(
            "files".to_owned(),
            json!({
                "type": "array",
                "items": { "type": "object", "properties": of_file, "required": ["file_path"] },
                "description": "Several files that change together, instead of `file_path`."
            }),
        );
    }
    ToolSpec {
        name: NAME.into(),
        description: "Proposes a change to the user, who may take or leave each part of it, and applies what is allowed. For \
                      each file give exactly one of `edits` (best: each old_text must occur exactly once in the file), `diff` \
                      (unified), `new_content` (for new files), `delete` and `rename_to`. Files that belong together go into \
                      `files`, in one call. Read the files first.".into(),
        parameters: json!({ "type": "object", "properties": properties, "required": ["rationale"] }),
    }
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
    before: Option<AnsweredAsk>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let PatchArgs { only, files, rationale, acceptance_criteria } = arguments(args)?;
    let files = match (only.file_path.is_empty(), files.is_empty()) {
        (false, true) => vec![only],
        (true, false) => files,
        (_, _) => return Err(invalid("Give either `file_path` or `files`.")),
    };
    let files = files.into_iter().map(FileArgs::wish).collect::<Result<Vec<_>, _>>()?;
    match propose(voice, Proposal { files, rationale, acceptance_criteria }, before).await? {
        Outcome::Applied { files, warnings } => {
            let done: Vec<String> = files.iter().map(sentence).collect();
            Ok(ToolAnswer::new(done.join("\n"), warnings.join("\n")))
        }
        Outcome::Stuck(stuck) => Ok(ToolAnswer::new(what_stands(&stuck), stuck.warnings.join("\n"))),
        Outcome::InPart(note) => Ok(ToolAnswer::new("The user decided change by change.".to_owned(), note)),
        Outcome::Denied => Err(ProposalRefusal {
            code: "denied".to_owned(),
            message: "The user denied this change; nothing was written. Do not propose it again unchanged."
                .to_owned(),
        }),
    }
}

fn invalid(message: &str) -> ProposalRefusal {
    ProposalRefusal { code: "invalid_params".to_owned(), message: message.to_owned() }
}

/// File by file, how a change stands that was neither made whole nor taken back whole.
fn what_stands(stuck: &StuckChange) -> String {
    let (path, ProposalRefusal { code, message }) = &stuck.at;
    let stopped = format!("{path} was left as it is, and so were the files after it: {message} ({code})");
    let standing = stuck
        .standing
        .iter()
        .map(|(file, why)| format!("{} It could not be taken back: {why}", sentence(file)));
    let back = stuck.taken_back.iter().map(|path| format!("{path} holds again what it held before."));
    std::iter::once(stopped).chain(standing).chain(back).collect::<Vec<_>>().join("\n")
}

/// What was done to a file.
fn sentence(file: &AppliedFile) -> String {
    let AppliedFile { path, old_path, hash, saved, added, removed } = file;
    let lines = format!("{} added, {removed} removed", counted(*added as u64, "line"));
    let saved = if *saved { "" } else { NOT_SAVED };
    match (old_path, hash) {
        (None, None) => format!("Deleted {path}."),
        (Some(old), _) if *added == 0 && *removed == 0 => format!("Renamed {old} to {path}.{saved}"),
        (Some(old), _) => format!("Renamed {old} to {path}: {lines}.{saved}"),
        (None, Some(hash)) => format!("Applied to {path}: {lines}. Its content is now {hash}.{saved}"),
    }
}

impl FileArgs {
    /// The file, and the one way in which it changes.
    fn wish(self) -> Result<(String, ProposedChange), ProposalRefusal> {
        let Self { file_path, edits, diff, new_content, delete, rename_to } = self;
        let edits: Vec<TextEdit> = edits
            .unwrap_or_default()
            .into_iter()
            .map(|edit| TextEdit { old_text: edit.old_text, new_text: edit.new_text })
            .collect();
        let change = match (edits.is_empty(), diff, new_content, delete, rename_to) {
            (false, None, None, false, None) => ProposedChange::Edits(edits),
            (true, Some(diff), None, false, None) => ProposedChange::Diff(diff),
            (true, None, Some(text), false, None) => ProposedChange::NewContent(text),
            (true, None, None, true, None) => ProposedChange::Delete,
            (_, None, None, false, Some(to)) => ProposedChange::Rename { to, edits },
            _ => {
                return Err(invalid(
                    "Give exactly one of `edits`, `diff`, `new_content`, `delete` and `rename_to` for each file.",
                ));
            }
        };
        Ok((file_path, change))
    }
}
