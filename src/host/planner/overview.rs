//! "what does this project do?": what the project says of itself, and what lies at its top.
//!
//! Owns which file speaks for a project. Says nothing of its own.

use serde_json::json;

use super::{list, places};
use crate::host::counted;
use crate::host::retrieval;
use crate::host::tools::search;
use crate::host::turn::args;
use crate::host::turn_output::TurnOutput;

/// Lines of the file that are shown.
const LINES: u64 = 30;

/// Bytes of them.
const READ_LIMIT: usize = 16 * 1024;

/// Names of the file, in lower case, best first.
const NAMES: [&str; 4] = ["readme.md", "readme.rst", "readme.txt", "readme"];

/// Names of the folder that are looked at.
const LISTED: usize = 2_000;

/// Shows the beginning of the read-me and the names at the top; without a read-me it searches.
pub(super) async fn overview(voice: &mut TurnOutput<'_>, question: &str) -> bool {
    let view = voice.port().workspace();
    let found = search(move |cancel| {
        let names = retrieval::list_dir(&view, "", LISTED, cancel)?;
        let named = NAMES.iter().find_map(|wanted| {
            names.iter().find(|(name, folder)| !folder && name.to_lowercase() == **wanted)
        });
        match named {
            Some((name, _)) => {
                retrieval::read_lines(&view, name, 1, Some(LINES), READ_LIMIT, cancel).map(Some)
            }
            None => Ok(None),
        }
    })
    .await;
    let Ok(Some(read)) = found else {
        return places::find(voice, question).await;
    };
    let call = voice.tool_started("read_file", args(&[("path", json!(read.path))])).await;
    voice.tool_ended(&call, Ok(json!({ "summary": counted(read.total_lines, "line") }))).await;
    voice
        .lines(&format!(
            "`{}:1` says of it ({} of {}):\n\n{}\n",
            read.path,
            read.end_line,
            counted(read.total_lines, "line"),
            places::fenced(&read.path, read.text.trim_end())
        ))
        .await;
    list(voice, "").await
}
