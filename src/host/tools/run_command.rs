//! `run_command`: a command in the workspace, which the user decides about.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{RESULT_LIMIT, ToolAnswer, arguments, background, cut};
use crate::domain::background::Background;
use crate::domain::dialect::desktop::message::ServerMessage;
use crate::domain::edits::text::content_hash;
use crate::domain::steps::EffectAsked;
use crate::host::models::ToolSpec;
use crate::host::ports::{Answer, BackgroundStart, WorkspaceView};
use crate::host::proposal::ProposalRefusal;
use crate::host::request::AnsweredAsk;
use crate::host::retrieval;
use crate::host::turn_output::TurnOutput;

pub(super) const NAME: &str = "run_command";

/// Longest command line, so that the user can read what is asked.
const COMMAND_LIMIT: usize = 8 * 1024;

#[derive(Deserialize)]
struct CommandArgs {
    command: String,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    reason: String,
    /// It goes on while the model does something else.
    #[serde(default)]
    background: bool,
    /// It goes on after the turn too.
    #[serde(default)]
    keep: bool,
}

impl CommandArgs {
    fn background(&self) -> Option<Background> {
        match (self.background, self.keep) {
            (_, true) => Some(Background::Kept),
            (true, false) => Some(Background::Turn),
            (false, false) => None,
        }
    }
}

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Asks the user to let a shell command run in the workspace; gives its exit code and output. Not for \
                      reading or changing files, which have tools of their own.".into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "command": { "type": "string" },
                "cwd": { "type": "string", "description": "Folder, relative to the workspace. Default: its root." },
                "reason": { "type": "string", "description": "Why, in one sentence for the user." },
                "background": { "type": "boolean", "description": "Start it and go on while it runs: a server, a watcher, a long build. \
                                command_output reads what it prints and waits for it, stop_command ends it. It ends with the turn." },
                "keep": { "type": "boolean", "description": "In the background, and not ended with the turn. Only where the user \
                          wants it to go on running." }
            },
            "required": ["command", "reason"]
        }),
    }
}

pub(super) async fn run(
    voice: &mut TurnOutput<'_>,
    args: Map<String, Value>,
    before: Option<AnsweredAsk>,
) -> Result<ToolAnswer, ProposalRefusal> {
    let args: CommandArgs = arguments(args)?;
    let background = args.background();
    let CommandArgs { command, cwd, reason, .. } = args;
    let port = voice.port();
    if before.as_ref().is_some_and(|before| before.answer != Answer::Allowed) {
        return Err(denied());
    }
    let view = port.workspace();
    if !view.trusted {
        return Err(ProposalRefusal::untrusted());
    }
    if command.trim().is_empty() || command.len() > COMMAND_LIMIT || command.contains('\0') {
        return Err(ProposalRefusal {
            code: "invalid_params".to_owned(),
            message: "The command is empty or longer than 8 KiB; give one short command line.".to_owned(),
        });
    }
    let cwd = match cwd.filter(|cwd| !matches!(cwd.as_str(), "" | "." | "./")) {
        Some(cwd) => beneath_first_root(&view, &cwd)?,
        None => ".".to_owned(),
    };
    let effect = EffectAsked::Command {
        hash: content_hash(command.as_bytes()),
        command: command.clone(),
        cwd: cwd.clone(),
        background,
    };
    let request_id = match before {
        Some(before) if before.effect == effect => before.request_id,
        Some(_) => {
            return Err(ProposalRefusal {
                code: "conflict".to_owned(),
                message: "The command cannot be made again as it was shown, as when it holds a secret, so it did not run; ask for it again."
                    .to_owned(),
            });
        }
        None => {
            let request_id = port.fresh_id();
            voice.step_asked(&request_id, effect).await;
            voice
                .say(ServerMessage::CommandRequestApproval {
                    request_id: request_id.clone(),
                    command_id: port.fresh_id(),
                    command: command.clone(),
                    working_directory: cwd.clone(),
                    environment: BTreeMap::new(),
                    requires_approval: true,
                    reason,
                    call_id: voice.call_id(),
                    background,
                })
                .await;
            if port.answer(&request_id).await != Answer::Allowed {
                return Err(denied());
            }
            request_id
        }
    };
    // Trust may have gone while the question was open.
    if !port.workspace().trusted {
        return Err(ProposalRefusal::untrusted());
    }
    voice.step_performing(&request_id).await;
    if let (Some(lasts), Some(call)) = (background, voice.call()) {
        return background::start(voice, BackgroundStart { call, command, cwd, lasts }).await;
    }
    let ran = port
        .run_command(command, cwd, voice.call_id())
        .await
        .map_err(|error| ProposalRefusal { code: error.code, message: error.message })?;
    let summary = format!("The command ended with exit code {}.", ran.exit_code);
    // Half of the room each, so that a long stdout does not hide what went wrong.
    let (stdout, stderr) = (tail(&ran.stdout), tail(&ran.stderr));
    Ok(ToolAnswer::new(summary, format!("stdout:\n{stdout}\nstderr:\n{stderr}\n")))
}

fn denied() -> ProposalRefusal {
    ProposalRefusal {
        code: "denied".to_owned(),
        message: "The user denied this command; it did not run. Do not ask for it again unchanged."
            .to_owned(),
    }
}

/// Commands run beneath the first root; what the user is shown must be where it runs.
fn beneath_first_root(view: &WorkspaceView, cwd: &str) -> Result<String, ProposalRefusal> {
    let (root, beneath) = retrieval::resolve(view, cwd)?;
    if view.roots.first() != Some(root) {
        return Err(ProposalRefusal {
            code: "unsupported".to_owned(),
            message: "Commands run only in the first workspace folder; choose a folder in it.".to_owned(),
        });
    }
    Ok(if beneath.is_empty() { ".".to_owned() } else { beneath })
}

/// The end of an output says how it went; its beginning is cut.
fn tail(text: &str) -> String {
    let room = RESULT_LIMIT / 2 - 256;
    if text.len() <= room {
        return text.to_owned();
    }
    let kept = &text[text.ceil_char_boundary(text.len() - room)..];
    cut(&format!("[… {} bytes before]\n{kept}", text.len() - kept.len()), RESULT_LIMIT / 2)
}
