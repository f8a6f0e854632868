//! `vector_search`: places that answer a question, by its words and its meaning. Only where the user has a
//! model for it: one that compares meanings, or one that reads passages.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ToolAnswer, arguments, search, shown};
use crate::domain::dialect::desktop::message::RetrieveStage;
use crate::host::counted;
use crate::host::models::ToolSpec;
use crate::host::ports::WorkspaceView;
use crate::host::proposal::ProposalRefusal;
use crate::host::retrieval::{self, Place};
use crate::host::turn_output::TurnOutput;

pub(super) const NAME: &str = "vector_search";

/// Places in one answer: more than a person reads, since a model chooses among them.
const LIMIT: usize = 8;

#[derive(Deserialize)]
struct QuestionArgs {
    question: String,
}

/// The tool, where there is a model for it and it may see the workspace.
pub(super) fn spec(view: &WorkspaceView) -> Option<ToolSpec> {
    let indexes = view.indexes.as_ref().filter(|_| view.trusted)?;
    let root = view.roots.first()?;
    if indexes.reranker().get().is_none() {
        indexes.vectors().of(&root.path)?;
    }
    Some(ToolSpec {
        name: NAME.into(),
        description: "The places of the workspace that answer a question in natural language, best first, each with its lines. Good \
                      where the words that the code uses are not known."
            .into(),
        parameters: json!({
            "type": "object",
            "properties": { "question": { "type": "string" } },
            "required": ["question"]
        }),
    })
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let QuestionArgs { question } = arguments(args)?;
    let view = voice.port().workspace();
    let found =
        search(move |cancel| retrieval::find_places(&view, &question, LIMIT, cancel, &mut |_, _| {})).await?;
    let count = found.places.len() as u64;
    // Its model is told the places, its user who put them in order.
    voice.retrieving(RetrieveStage::Reranking, count, found.ranked()).await;
    let mut text: String = found.places.iter().map(told).collect();
    text.extend(found.told.map(|told| format!("{told}\n")));
    Ok(ToolAnswer::new(format!("{}:", counted(count, "place")), text))
}

fn told(place: &Place) -> String {
    let path = shown(place.root.as_deref(), &place.path);
    let symbol = place.symbol.as_ref().map(|symbol| format!(": {} {}", symbol.kind.as_str(), symbol.name));
    let (start, end) = (place.start_line, place.end_line);
    format!("{path}:{start}-{end}{}\n{}\n\n", symbol.unwrap_or_default(), place.snippet)
}
