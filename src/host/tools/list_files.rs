//! `list_files`: names in a directory.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ToolAnswer, arguments, search};
use crate::host::models::ToolSpec;
use crate::host::proposal::ProposalRefusal;
use crate::host::retrieval;
use crate::host::turn_output::TurnOutput;

pub(super) const NAME: &str = "list_files";

/// Names in one answer.
const LIMIT: usize = 500;

#[derive(Deserialize)]
struct ListArgs {
    #[serde(default)]
    path: String,
}

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Names of the files and folders in one folder of the workspace. Folders end in `/`."
            .into(),
        parameters: json!({
            "type": "object",
            "properties": { "path": { "type": "string", "description": "Folder, relative to the workspace; empty for its root." } },
            "required": []
        }),
    }
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let ListArgs { path } = arguments(args)?;
    let view = voice.port().workspace();
    let mut names = search(move |cancel| retrieval::list_dir(&view, &path, LIMIT + 1, cancel)).await?;
    let more = names.len() > LIMIT;
    names.truncate(LIMIT);
    let text =
        names.iter().map(|(name, folder)| format!("{name}{}\n", if *folder { "/" } else { "" })).collect();
    let summary = if more { format!("The first {LIMIT} names:") } else { format!("{} names:", names.len()) };
    Ok(ToolAnswer::new(summary, text))
}
