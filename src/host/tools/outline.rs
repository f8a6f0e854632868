//! `outline`: the definitions of one file.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ToolAnswer, arguments, search};
use crate::host::counted;
use crate::host::models::ToolSpec;
use crate::host::proposal::ProposalRefusal;
use crate::host::retrieval::{self, Symbol};
use crate::host::turn_output::TurnOutput;

pub(super) const NAME: &str = "outline";

#[derive(Deserialize)]
struct OutlineArgs {
    path: String,
}

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "The definitions of one file in order, as `start-end: kind signature`. Cheaper than reading it."
                .into(),
        parameters: json!({
            "type": "object",
            "properties": { "path": { "type": "string", "description": "File, relative to the workspace." } },
            "required": ["path"]
        }),
    }
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let OutlineArgs { path } = arguments(args)?;
    let view = voice.port().workspace();
    let symbols = search(move |cancel| retrieval::outline(&view, &path, cancel)).await?;
    Ok(ToolAnswer::new(format!("{}:", counted(symbols.len() as u64, "definition")), listed(&symbols)))
}

fn listed(symbols: &[Symbol]) -> String {
    symbols.iter().fold(String::new(), |mut text, symbol| {
        let indent = if symbol.container.is_some() { "  " } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{indent}{}-{}: {} {}",
            symbol.start_line,
            symbol.end_line,
            symbol.kind.as_str(),
            symbol.signature.trim()
        );
        text
    })
}
