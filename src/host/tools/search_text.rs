//! `search_text`: lines that contain a text or match an expression.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ToolAnswer, arguments, search, shown};
use crate::host::counted;
use crate::host::models::ToolSpec;
use crate::host::proposal::ProposalRefusal;
use crate::host::retrieval::{self, TextQuery};
use crate::host::turn_output::TurnOutput;

pub(super) const NAME: &str = "search_text";

/// Lines in one answer.
const LIMIT: usize = 100;

#[derive(Deserialize)]
struct TextArgs {
    pattern: String,
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    case_sensitive: Option<bool>,
    #[serde(default)]
    path_glob: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Lines of the workspace that contain a text, as `path:line: text`. Ignored files are left out."
                .into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string" },
                "regex": { "type": "boolean", "description": "Whether pattern is a regular expression. Default false." },
                "case_sensitive": { "type": "boolean" },
                "path_glob": { "type": "string", "description": "Only files that match, for instance `src/**/*.rs`." }
            },
            "required": ["pattern"]
        }),
    }
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let TextArgs { pattern, regex, case_sensitive, path_glob } = arguments(args)?;
    let view = voice.port().workspace();
    let query = TextQuery { pattern, regex, case_sensitive, path_glob };
    let mut hits = search(move |cancel| retrieval::search_text(&view, &query, LIMIT + 1, cancel)).await?;
    let more = hits.len() > LIMIT;
    hits.truncate(LIMIT);
    let text = hits
        .iter()
        .map(|hit| format!("{}:{}: {}\n", shown(hit.root.as_deref(), &hit.path), hit.line, hit.text))
        .collect();
    let summary = if more {
        format!("The first {LIMIT} lines:")
    } else {
        format!("{}:", counted(hits.len() as u64, "line"))
    };
    Ok(ToolAnswer::new(summary, text))
}
