//! The answer without a model: what searching finds, and nothing else.
//!
//! Owns the plain sentences that say so, once in a session, and the four things that need no model: ranked places, an outline, a listing, an
//! exact replacement. Never invents an answer; where nothing is found it says what was searched.

mod change;
mod explain;
mod intent;
mod overview;
mod places;

use super::counted;
use super::proposal::ProposalRefusal;
use super::request::{AnsweredAsk, NoModel, TurnRequest};
use super::retrieval;
use super::tools;
use super::turn::args;
use super::turn_output::TurnOutput;
use intent::Intent;
use serde_json::json;

/// What kind of answer this is, first.
pub(super) const WITHOUT_MODEL: &str =
    "No model is configured, so this answer is only what searching the workspace found.\n\n";

/// What helps, last, where it stands in nobody's way. How a model is chosen each client says in its own words, below this sentence.
pub(super) const CHOOSE_MODEL: &str =
    "\nTo get answers from a model, choose one. Until then each answer is what searching finds.\n";

/// Said before the places when a change is wanted that takes a model.
const ONLY_REPLACES: &str = "Nothing was changed or run: without a model the only change is `replace OLD with NEW in FILE`. \
                             What is there about it:\n\n";

/// Names in one listing.
const NAMES: usize = 200;

/// Answers a question; gives whether it did what was asked.
pub(crate) async fn answer(voice: &mut TurnOutput<'_>, request: &TurnRequest) -> bool {
    let first = is_first(request);
    if first {
        voice.lines(WITHOUT_MODEL).await;
    }
    let done = without_model(voice, &request.text).await;
    if first {
        voice.lines(CHOOSE_MODEL).await;
    }
    done
}

/// Goes on with an answer that asked in an earlier process; gives whether it did what was asked.
pub(crate) async fn go_on(
    voice: &mut TurnOutput<'_>,
    request: &TurnRequest,
    call_id: &str,
    before: AnsweredAsk,
) -> bool {
    let done = match intent::read(&request.text) {
        Intent::Replace(wish) => change::go_on(voice, &wish, call_id, before).await,
        // Nothing else asks.
        Intent::List { .. } | Intent::Explain { .. } | Intent::Overview | Intent::Act | Intent::Find => false,
    };
    if is_first(request) {
        voice.lines(CHOOSE_MODEL).await;
    }
    done
}

/// Whether no earlier answer of the session said that there is no model, as far as that is known after a restart.
fn is_first(request: &TurnRequest) -> bool {
    request.no_model == NoModel::Unsaid
        && !request.earlier.iter().any(|turn| turn.past.said.starts_with(WITHOUT_MODEL.trim_end()))
}

async fn without_model(voice: &mut TurnOutput<'_>, question: &str) -> bool {
    if voice.port().workspace().roots.is_empty() {
        voice.lines("No folder is open, so there is nothing to search; open one and ask again.\n").await;
        return false;
    }
    match intent::read(question) {
        Intent::Replace(wish) => change::replace(voice, &wish).await,
        Intent::List { path } => list(voice, &path).await,
        Intent::Explain { what } => explain::explain(voice, &what, question).await,
        Intent::Overview => overview::overview(voice, question).await,
        Intent::Act => {
            voice.lines(ONLY_REPLACES).await;
            places::find(voice, question).await;
            false
        }
        Intent::Find => places::find(voice, question).await,
    }
}

async fn list(voice: &mut TurnOutput<'_>, path: &str) -> bool {
    let call = voice.tool_started("list_files", args(&[("path", json!(path))])).await;
    let view = voice.port().workspace();
    let wanted = path.to_owned();
    match tools::search(move |cancel| retrieval::list_dir(&view, &wanted, NAMES + 1, cancel)).await {
        Ok(mut names) => {
            let more = names.len() > NAMES;
            names.truncate(NAMES);
            voice.tool_ended(&call, Ok(json!({ "summary": counted(names.len() as u64, "name") }))).await;
            let place = if path.is_empty() { "the workspace".to_owned() } else { format!("`{path}`") };
            let head = match names.len() {
                0 => format!("There is nothing in {place}.\n"),
                count if more => format!("The first {count} names in {place}:\n\n"),
                1 => format!("1 name in {place}:\n\n"),
                count => format!("{count} names in {place}:\n\n"),
            };
            voice.lines(&head).await;
            for (name, folder) in names {
                voice.token(format!("- `{name}{}`\n", if folder { "/" } else { "" })).await;
            }
            true
        }
        Err(refusal) => refused(voice, &call, refusal).await,
    }
}

/// Ends a tool and the answer with a refusal.
async fn refused(voice: &mut TurnOutput<'_>, call_id: &str, refusal: ProposalRefusal) -> bool {
    voice.tool_ended(call_id, Err(refusal.message.clone())).await;
    voice.lines(&format!("{}\n", refusal.message)).await;
    false
}
