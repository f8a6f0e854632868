//! `read_file`: lines of a file, the open buffer before the disk.

use std::sync::atomic::AtomicBool;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{RESULT_LIMIT, ToolAnswer, arguments, search};
use crate::host::models::{Image, ToolSpec};
use crate::host::pictures;
use crate::host::ports::WorkspaceView;
use crate::host::proposal::{ProposalRefusal, blocking};
use crate::host::retrieval;
use crate::host::turn_output::TurnOutput;
use crate::host::wished_file::read_disk;

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
        description: "Text of a file of the workspace, as the user's editor shows it; an image is shown to models that see. Long files come in pieces: the \
                      first line of the result says which lines it has; ask for the next with start_line.".into(),
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
    let (looked, named) = (view.clone(), path.clone());
    let read =
        search(move |cancel| retrieval::read_lines(&looked, &named, start, end_line, RESULT_LIMIT, cancel))
            .await;
    let read = match read {
        Err(refusal) if refusal.code == "not_text" => {
            let summary = format!("{path}: the image is shown.");
            let unseen = format!("{path} is an image. {}", pictures::ASK_THE_USER);
            let image = blocking(move |cancel| picture(&view, &path, cancel)).await?.ok_or(refusal)?;
            if !voice.sees() {
                voice.notice_once(pictures::UNSEEN.to_owned()).await;
                return Err(ProposalRefusal { code: "not_text".to_owned(), message: unseen });
            }
            voice.shows(image);
            return Ok(ToolAnswer::new(summary, String::new()));
        }
        read => read?,
    };
    let summary = format!(
        "{}: lines {}-{} of {}{}",
        read.path,
        read.start_line,
        read.end_line,
        read.total_lines,
        if read.truncated { ", cut" } else { "" }
    );
    Ok(ToolAnswer::new(summary, read.text))
}

/// The file as an image that models take, if it is one. Blocking.
fn picture(view: &WorkspaceView, path: &str, cancel: &AtomicBool) -> Result<Option<Image>, ProposalRefusal> {
    let (root, beneath) = retrieval::resolve(view, path)?;
    Ok(read_disk(root, &beneath, cancel)?.and_then(|bytes| pictures::image(&bytes)))
}
