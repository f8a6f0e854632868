//! What the events say that this server makes itself, whatever engine the session is of.
//!
//! Owns the fields of `LocalKind`'s payloads. Never makes such an event.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::limits::{NAME, failure, text};
use crate::domain::approval::PermissionStatus;
use crate::domain::context::item::ContextItem;
use crate::domain::cut;
use crate::domain::dialect::loose::{Members, fitting};
use crate::domain::event::{EventRef, LocalKind};
use crate::domain::fact::{
    Answered, Fact, Notice, NoticeLevel, PrintStream, Prompt, Spent, TerminalEnd, TerminalNews, ToolNews,
    ToolStep, TurnChanges, TurnEnd, TurnOutcome, TurnReport,
};
use crate::domain::fingerprint::key;
use crate::domain::payload::Payload;
use crate::domain::remedy::Remedy;
use crate::domain::sentence::sentence;

pub(super) fn fact(event: EventRef<'_>) -> Fact<'_> {
    let payload = event.payload;
    match LocalKind::of(event.kind) {
        Some(LocalKind::Prompt) => {
            let ids = payload.list("attachmentIds");
            let ids = ids.map(|ids| ids.iter().filter_map(Value::as_str).map(str::to_owned).collect());
            Fact::Prompt(Prompt::Sent {
                text: text(payload, "text").unwrap_or_default(),
                message_id: text(payload, "messageId"),
                attachment_ids: ids.unwrap_or_default(),
                engine: text(payload, "engine"),
                model: text(payload, "model"),
                folders: payload.list("folders").map(|folders| fitting(folders.clone())).unwrap_or_default(),
                has_context: payload.get("hasContext").and_then(Value::as_bool).unwrap_or(false),
            })
        }
        Some(LocalKind::Context) => {
            let items: Vec<ContextItem> =
                payload.list("items").map(|items| fitting(items.clone())).unwrap_or_default();
            Fact::Prompt(Prompt::Context {
                chips: items.iter().map(ContextItem::chip).collect(),
                notes: payload.list("notes").map(|notes| fitting(notes.clone())).unwrap_or_default(),
            })
        }
        Some(LocalKind::PermissionSettled) => {
            let status = payload.get("status").cloned().unwrap_or_default();
            let status = serde_json::from_value::<PermissionStatus>(status).ok();
            Fact::Answered(match (text(payload, "requestId"), status) {
                (Some(request_id), Some(status)) => {
                    let by = text(payload, "resolvedBy");
                    let (chosen, client) = (member(payload, "chosen"), member(payload, "client"));
                    Answered::Settled { request_id, status, by, chosen, client }
                }
                (_, _) => Answered::Unnamed,
            })
        }
        Some(LocalKind::PermissionSaving) => Fact::Answered(match text(payload, "requestId") {
            Some(request_id) => Answered::Saving { request_id, problem: text(payload, "problem") },
            None => Answered::Unnamed,
        }),
        Some(LocalKind::Gap) => {
            let place = |name: &str| payload.get(name).and_then(Value::as_u64);
            // A stretch without an end begins where nothing more is known: whether anything followed is not, either.
            let missing = match (place("from"), place("to")) {
                (Some(_), None) => "Some events may be missing here.",
                (_, _) => "Some events are missing here.",
            };
            let sentence = match (failure(payload), text(payload, "reason")) {
                (Some(said), _) => said.to_owned(),
                (None, Some(reason)) => format!("{missing} {}", sentence(reason)),
                (None, None) => missing.to_owned(),
            };
            Fact::Gap(Notice::new(NoticeLevel::Error, sentence))
        }
        Some(LocalKind::TurnEnd) => Fact::TurnEnded(Box::new(ended(event))),
        Some(LocalKind::AgentExited) => {
            let said = failure(payload).map(str::to_owned);
            let code = payload.get("code").and_then(Value::as_i64);
            Fact::Exited {
                expected: payload.get("expected").and_then(Value::as_bool) == Some(true),
                text: said.unwrap_or_else(|| match code {
                    Some(code) => format!("The agent process ended with code {code}."),
                    None => "The agent process ended.".to_owned(),
                }),
            }
        }
        Some(LocalKind::Notice) => {
            let level = match text(payload, "level") {
                Some("error") => NoticeLevel::Error,
                Some("warning") => NoticeLevel::Warning,
                Some(_) | None => NoticeLevel::Info,
            };
            let notice = Notice::new(level, text(payload, "text").unwrap_or_default());
            Fact::Notice(notice.with(Remedy::of(payload)))
        }
        Some(LocalKind::Command) => Fact::Command {
            command: text(payload, "command").unwrap_or_default(),
            status: text(payload, "status").unwrap_or_default(),
        },
        Some(LocalKind::Terminal) => Fact::Terminal(terminal(event)),
        Some(LocalKind::CommandOutput) => Fact::ToolOutput(printed(event)),
        Some(LocalKind::Changes) => {
            let number = |name: &str| payload.get(name).and_then(Value::as_u64);
            Fact::Changes(TurnChanges {
                prompt_seq: number("promptSeq"),
                of_revert: number("ofRevert"),
                files: payload.list("files").map(|files| fitting(files.clone())).unwrap_or_default(),
                uncovered: number("uncovered").unwrap_or_default(),
                text: text(payload, "text").unwrap_or_default(),
            })
        }
        Some(LocalKind::Earlier) => payload.get("block").map_or(Fact::Unknown, Fact::Earlier),
        None => Fact::Unknown,
    }
}

/// A member that has a shape of ours; `None` where it is not there, or has another one.
fn member<T: DeserializeOwned>(payload: &Payload, name: &str) -> Option<T> {
    payload.get(name).cloned().and_then(|value| serde_json::from_value(value).ok())
}

/// What a command of our own engine printed.
fn printed(event: EventRef<'_>) -> ToolNews<'_> {
    let payload = event.payload;
    let stream = match text(payload, "stream") {
        Some("stderr") => PrintStream::Errors,
        Some(_) | None => PrintStream::Output,
    };
    let words = text(payload, "text").unwrap_or_default().to_owned();
    let is_lost = payload.get("lost").and_then(Value::as_bool) == Some(true);
    ToolNews {
        id: text(payload, "callId").map(key),
        step: if is_lost { ToolStep::Lost { why: words } } else { ToolStep::Printed { stream, text: words } },
        ..ToolNews::default()
    }
}

fn terminal(event: EventRef<'_>) -> TerminalNews<'_> {
    let payload = event.payload;
    let says = |name: &str| payload.get(name).and_then(Value::as_bool) == Some(true);
    TerminalNews {
        id: key(text(payload, "terminalId").unwrap_or_default()),
        began: says("began"),
        printed: Cow::Borrowed(text(payload, "text").unwrap_or_default()),
        skipped: payload.get("skipped").and_then(Value::as_u64).unwrap_or_default(),
        end: says("ended").then(|| TerminalEnd {
            code: payload.get("exitCode").and_then(Value::as_i64),
            signal: text(payload, "signal").map(|signal| cut::line(signal, NAME)),
        }),
    }
}

fn ended(event: EventRef<'_>) -> TurnEnd<'_> {
    let payload = event.payload;
    let reason = text(payload, "reason");
    let failed = reason == Some("failed");
    let text = failure(payload).filter(|_| failed).or(text(payload, "message"));
    TurnEnd {
        reason: Cow::Borrowed(match reason {
            Some("no_end") | None => "end_turn",
            Some(reason) => reason,
        }),
        spent: Spent::default(),
        report: TurnReport::Whole {
            answer: None,
            outcome: match reason {
                Some("failed") => TurnOutcome::Failed,
                Some("cancelled") => TurnOutcome::Stopped,
                Some(_) | None => TurnOutcome::Cut,
            },
            text: Cow::Borrowed(text.unwrap_or("The turn ended.")),
            told: failed.then_some(NoticeLevel::Error),
            remedy: Box::new(Remedy::of(payload)),
            details: None,
        },
    }
}
