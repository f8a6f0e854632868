//! `plan`: the steps of a larger task, as the user sees them while they are done.
//!
//! A later plan of a turn takes the place of the one before. It is shown as a plan and not as a call.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ToolAnswer, arguments};
use crate::domain::dialect::desktop::message::{PlanStep, PlanStepStatus, ServerMessage};
use crate::host::models::ToolSpec;
use crate::host::proposal::ProposalRefusal;
use crate::host::turn_output::TurnOutput;

/// Its name for a model.
pub(crate) const NAME: &str = "plan";

/// Steps that somebody reads.
const STEPS: usize = 50;

#[derive(Deserialize)]
struct PlanArgs {
    steps: Vec<PlannedStep>,
    #[serde(default)]
    rationale: String,
}

#[derive(Deserialize)]
struct PlannedStep {
    description: String,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    status: Option<PlanStepStatus>,
}

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Shows the user the steps of a larger task, before the first of them, again when they change, and with each that \
                      is done. The plan stays with you. Not for a task of one step.".into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "steps": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "description": { "type": "string", "description": "One line." },
                            "files": { "type": "array", "items": { "type": "string" } },
                            "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] }
                        },
                        "required": ["description"]
                    }
                },
                "rationale": { "type": "string", "description": "Why these steps." }
            },
            "required": ["steps"]
        }),
    }
}

/// The plan that a call showed, in words: where a conversation goes on from a summary, it stands behind it.
pub(crate) fn in_words(arguments: &Value) -> Option<String> {
    let PlanArgs { steps, .. } = serde_json::from_value(arguments.clone()).ok()?;
    let line = |(number, step): (usize, PlannedStep)| {
        let mark = match step.status {
            Some(PlanStepStatus::Completed) => "[x]",
            Some(PlanStepStatus::InProgress) => "[>]",
            Some(PlanStepStatus::Pending) | None => "[ ]",
        };
        format!("{number}. {mark} {}", step.description)
    };
    let lines: Vec<String> = (1..).zip(steps).take(STEPS).map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let PlanArgs { steps, rationale } = arguments(args)?;
    if steps.is_empty() || steps.len() > STEPS {
        return Err(ProposalRefusal {
            code: "invalid_params".to_owned(),
            message: format!("A plan has one step to {STEPS} steps; this one has {}.", steps.len()),
        });
    }
    let summary = format!("The user sees the plan of {} steps.", steps.len());
    let steps = (1..).zip(steps).map(|(step_number, step)| PlanStep {
        step_number,
        description: step.description,
        files_involved: step.files,
        status: step.status,
    });
    voice.say(ServerMessage::Plan { steps: steps.collect(), rationale }).await;
    Ok(ToolAnswer::new(summary, String::new()))
}
