//! Commands in the background: `command_output` and `stop_command`, and what `run_command` says of one that was started.
//!
//! Owns what the model is told of them. That they may run was asked before; who runs and ends them is the engine's.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{CallEnd, RESULT_LIMIT, ToolAnswer, arguments};
use crate::domain::background::Background;
use crate::host::models::ToolSpec;
use crate::host::ports::{BackgroundNews, BackgroundStart, BackgroundState, NewsWait};
use crate::host::proposal::ProposalRefusal;
use crate::host::turn_output::TurnOutput;

pub(super) const OUTPUT: &str = "command_output";
pub(super) const STOP: &str = "stop_command";

/// Seconds that one call waits at most. The model can call again, and the user can stop the turn meanwhile.
const LONGEST_WAIT: u64 = 300;

/// Seconds that are waited for a text where nothing else is said.
const WAIT_FOR_TEXT: u64 = 30;

#[derive(Deserialize)]
struct OutputArgs {
    id: String,
    #[serde(default)]
    wait_seconds: Option<u64>,
    #[serde(default)]
    wait_for: Option<String>,
}

#[derive(Deserialize)]
struct StopArgs {
    id: String,
}

pub(super) fn output_spec() -> ToolSpec {
    ToolSpec {
        name: OUTPUT.into(),
        description: "What a command in the background printed since you read it last, and whether it still runs. With wait_seconds \
                      it waits until the command ends; with wait_for, until that text stands in what you have not read yet.".into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "description": "As run_command told it." },
                "wait_seconds": { "type": "integer", "description": "At most this long; up to 300. Default: not at all, or 30 \
                                  with wait_for." },
                "wait_for": { "type": "string", "description": "Such as `listening on`." }
            },
            "required": ["id"]
        }),
    }
}

pub(super) fn stop_spec() -> ToolSpec {
    ToolSpec {
        name: STOP.into(),
        description: "Stops a command in the background, with everything that it started, and gives what it printed last.".into(),
        parameters: json!({
            "type": "object",
            "properties": { "id": { "type": "string", "description": "As run_command told it." } },
            "required": ["id"]
        }),
    }
}

/// Starts a command that was allowed.
pub(super) async fn start(
    voice: &mut TurnOutput<'_>,
    start: BackgroundStart,
) -> Result<ToolAnswer, ProposalRefusal> {
    let (call, lasts) = (start.call.clone(), start.lasts);
    let id = call.call_id.clone();
    // From here on whoever runs it says its end, also where the turn is stopped meanwhile.
    voice.goes_on_apart(&id);
    let news = match voice.port().start_command(start).await {
        Ok(news) => news,
        Err(error) => {
            voice.did_not_go_on(call);
            return Err(ProposalRefusal { code: error.code, message: error.message });
        }
    };
    if news.state != BackgroundState::Running {
        return Ok(ToolAnswer { end: CallEnd::Later, ..told(&news) });
    }
    let until = match lasts {
        Background::Turn => "It ends with this turn.",
        Background::Kept => "It goes on after this turn, until you or the user stop it.",
    };
    let summary = format!("It runs in the background with the id {id}. {until}");
    Ok(ToolAnswer { summary, text: printed(&news), end: CallEnd::Later })
}

/// What is new of one.
pub(super) async fn output(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let OutputArgs { id, wait_seconds, wait_for } = arguments(args)?;
    let until = wait_for.filter(|text| !text.is_empty());
    let seconds = wait_seconds.unwrap_or(if until.is_some() { WAIT_FOR_TEXT } else { 0 });
    let wait = NewsWait { time: Duration::from_secs(seconds.min(LONGEST_WAIT)), until };
    let news = voice.port().command_news(&id, wait).await;
    news.as_ref().map(told).ok_or_else(|| unknown(&id))
}

/// Stops one.
pub(super) async fn stop(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let StopArgs { id } = arguments(args)?;
    let news = voice.port().stop_command(&id).await;
    news.as_ref().map(told).ok_or_else(|| unknown(&id))
}

fn told(news: &BackgroundNews) -> ToolAnswer {
    let summary = match &news.state {
        BackgroundState::Running => "It runs.".to_owned(),
        BackgroundState::Ended(code) => format!("It ended with exit code {code}."),
        BackgroundState::Stopped(why) => format!("It was stopped {why}."),
        BackgroundState::Failed(error) => format!("Error ({}): {}", error.code, error.message),
    };
    ToolAnswer::new(summary, printed(news))
}

/// The newest of what it printed, as much as a result holds.
fn printed(news: &BackgroundNews) -> String {
    let BackgroundNews { printed, skipped, .. } = news;
    let room = RESULT_LIMIT - 256;
    let from = printed.ceil_char_boundary(printed.len().saturating_sub(room));
    match skipped + from as u64 {
        0 if printed.is_empty() => "It printed nothing new.".to_owned(),
        0 => printed.clone(),
        before => format!("[… {before} bytes before]\n{}", &printed[from..]),
    }
}

fn unknown(id: &str) -> ProposalRefusal {
    ProposalRefusal {
        code: "not_found".to_owned(),
        message: format!(
            "There is no command `{id}` in the background: commands end with their turn or with the server, and old ones are \
             forgotten. Start it again if it is still needed."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(printed: &str, skipped: u64, state: BackgroundState) -> BackgroundNews {
        BackgroundNews { printed: printed.to_owned(), skipped, state }
    }

    #[test]
    fn a_model_reads_how_it_stands_and_the_newest_of_what_it_printed() {
        let running = told(&news("", 0, BackgroundState::Running));
        assert_eq!(
            (running.summary.as_str(), running.text.as_str()),
            ("It runs.", "It printed nothing new.")
        );
        let stopped = told(&news("last\n", 7, BackgroundState::Stopped("by the user")));
        assert_eq!(
            (stopped.summary.as_str(), stopped.text.as_str()),
            ("It was stopped by the user.", "[… 7 bytes before]\nlast\n")
        );
        let long = told(&news(&"é".repeat(RESULT_LIMIT), 0, BackgroundState::Ended(0)));
        assert!(long.text.len() <= RESULT_LIMIT && long.text.ends_with('é'), "{}", long.text.len());
    }
}
