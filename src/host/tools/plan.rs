//! `plan`: the steps of a larger task, as the user sees them while they are done.
//!
//! A later plan of a turn takes the place of the one before. It is shown as a plan and not as a call.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ToolAnswer, arguments};
use crate::domain::dialect::desktop::message::{PlanStep, ServerMessage};
use crate::host::models::ToolSpec;
use crate::host::proposal::ProposalRefusal;
use crate::host::turn_output::TurnOutput;

pub(super) const NAME: &str = "plan";

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
}

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Shows the user the steps of a larger task, before the first of them and again when they change. Not for \
                      a task of one step.".into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "steps": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "description": { "type": "string", "description": "One line." },
                            "files": { "type": "array", "items": { "type": "string" } }
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
    });
    voice.say(ServerMessage::Plan { steps: steps.collect(), rationale }).await;
    Ok(ToolAnswer { summary, text: String::new() })
}
