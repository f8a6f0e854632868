//! `read_file`: lines of a file, the open buffer before the disk.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{RESULT_LIMIT, ToolAnswer, arguments, search};
use crate::host::models::ToolSpec;
use crate::host::proposal::ProposalRefusal;
use crate::host::retrieval;
use crate::host::turn_output::TurnOutput;

pub(super) const NAME: &str = "read_file";

#[derive(Deserialize)]
struct ReadArgs {
    path: String,
    #[serde(default)]
    start_line: Option<u64>,
    #[serde(default)]
    end_line: Option<u64>,
}

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Text of a file of the workspace, as the user's editor shows it. Long files come in pieces: the \
                      first line of the result says which lines it has; ask for the next with start_line."
                .into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "File, relative to the workspace." },
                "start_line": { "type": "integer", "minimum": 1 },
                "end_line": { "type": "integer", "minimum": 1, "description": "Inclusive." }
            },
            "required": ["path"]
        }),
    }
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let ReadArgs { path, start_line, end_line } = arguments(args)?;
    let view = voice.port().workspace();
    let start = start_line.unwrap_or(1);
    let read =
        search(move |cancel| retrieval::read_lines(&view, &path, start, end_line, RESULT_LIMIT, cancel))
            .await?;
    let summary = format!(
        "{}: lines {}-{} of {}{}",
        read.path,
        read.start_line,
        read.end_line,
        read.total_lines,
        if read.truncated { ", cut" } else { "" }
    );
    Ok(ToolAnswer { summary, text: read.text })
}
