//! `search_symbols`: definitions by name.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ToolAnswer, arguments, search, shown};
use crate::host::counted;
use crate::host::models::ToolSpec;
use crate::host::proposal::ProposalRefusal;
use crate::host::retrieval;
use crate::host::turn_output::TurnOutput;

pub(super) const NAME: &str = "search_symbols";

/// Definitions in one answer.
const LIMIT: usize = 50;

#[derive(Deserialize)]
struct SymbolsArgs {
    name: String,
}

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Where functions, types, classes and constants with a name like this are defined, as \
                      `path:line: kind signature`."
            .into(),
        parameters: json!({
            "type": "object",
            "properties": { "name": { "type": "string" } },
            "required": ["name"]
        }),
    }
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let SymbolsArgs { name } = arguments(args)?;
    let view = voice.port().workspace();
    let found = search(move |cancel| retrieval::search_symbols(&view, &name, LIMIT, cancel)).await?;
    let text = found
        .iter()
        .map(|(root, path, symbol)| {
            let place = shown(root.as_deref(), path);
            format!("{place}:{}: {} {}\n", symbol.start_line, symbol.kind.as_str(), symbol.signature.trim())
        })
        .collect();
    Ok(ToolAnswer::new(format!("{}:", counted(found.len() as u64, "definition")), text))
}
