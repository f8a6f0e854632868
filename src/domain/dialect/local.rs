//! What the events say that this server makes itself, whatever engine the session is of.
//!
//! Owns the fields of `LocalKind`'s payloads. Never makes such an event.

use std::borrow::Cow;

use serde_json::Value;

use super::limits::{failure, text};
use crate::domain::approval::PermissionStatus;
use crate::domain::dialect::loose::Members;
use crate::domain::event::{EventRef, LocalKind};
use crate::domain::fact::{Answered, Fact, Notice, NoticeLevel, Prompt, TurnEnd, TurnReport};

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
            })
        }
        Some(LocalKind::PermissionSettled) => {
            let status = payload.get("status").cloned().unwrap_or_default();
            let status = serde_json::from_value::<PermissionStatus>(status).ok();
            Fact::Answered(match (text(payload, "requestId"), status) {
                (Some(request_id), Some(status)) => {
                    Answered::Settled { request_id, status, by: text(payload, "resolvedBy") }
                }
                (_, _) => Answered::Unnamed,
            })
        }
        Some(LocalKind::Gap) => {
            let sentence = match (failure(payload), text(payload, "reason")) {
                (Some(said), _) => said.to_owned(),
                (None, Some(reason)) => format!("Some events are missing here: {reason}"),
                (None, None) => "Some events are missing here.".to_owned(),
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
            Fact::Notice(Notice::new(level, text(payload, "text").unwrap_or_default()))
        }
        None => Fact::Unknown,
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
        report: TurnReport::Whole {
            answer: None,
            success: false,
            text: Cow::Borrowed(text.unwrap_or("The turn ended.")),
            told: failed.then_some(NoticeLevel::Error),
            details: None,
        },
    }
}
