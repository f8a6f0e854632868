//! The policy of a workspace over HTTP: the ten keys, as what the user lets be done without a question.
//!
//! Owns the way between the keys and the modes, classes and patterns that judge every command, edit and tool. A key that
//! nothing would enforce is refused, never kept for show.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;

use super::answer::{JsonBody, OkBody, Placed, RouteAnswer};
use super::host::{DesktopHost, HostedWorkspace};
use crate::domain::policy::command_class::CommandClass;
use crate::domain::policy::standing::{ApprovalMode, StandingAnswer, StandingPattern};
use crate::protocol::Request;
use crate::protocol::desktop::body::{CommandApproval, PolicyBody, PolicyChange};
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};
use crate::protocol::permission::{PermissionListParams, PermissionListResult};
use crate::protocol::standing::{ApprovalsSetParams, ApprovalsState};

/// Entries of one list, and characters of one of them.
const ENTRIES: usize = 256;
const ENTRY: usize = 512;

/// What names a tool in a pattern.
const TOOL: &str = "tool:";

pub(super) async fn get(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
) -> RouteAnswer<PolicyBody> {
    Ok(OkBody(body(&state(host.workspace(&id)?).await?)))
}

pub(super) async fn put(
    State(host): State<Arc<DesktopHost>>,
    Placed(id): Placed<String>,
    JsonBody(change): JsonBody<PolicyChange>,
) -> RouteAnswer<PolicyBody> {
    let workspace = host.workspace(&id)?;
    let before = state(workspace).await?;
    let wanted = merged(body(&before), change)?;
    let set: ApprovalsState = workspace.ask(Request::ApprovalsSet(params(&wanted, before))).await?;
    Ok(OkBody(body(&set)))
}

async fn state(workspace: &HostedWorkspace) -> Result<ApprovalsState, DesktopRefusal> {
    let asked = PermissionListParams::default();
    let listed: PermissionListResult = workspace.ask(Request::PermissionList(asked)).await?;
    listed
        .approvals
        .ok_or_else(|| DesktopRefusal::new(RefusalCode::Internal, "The policy could not be read; try again."))
}

fn body(state: &ApprovalsState) -> PolicyBody {
    let patterns = |answer: StandingAnswer, of_tools: bool| {
        let rows = state.patterns.iter().filter(move |row| row.answer == answer);
        rows.filter(move |row| row.pattern.starts_with(TOOL) == of_tools)
            .map(|row| row.pattern.trim_start_matches(TOOL).to_owned())
            .collect()
    };
    let is = |class: CommandClass, answer: StandingAnswer| state.classes.get(&class) == Some(&answer);
    PolicyBody {
        allowed_read_globs: everything(),
        allowed_write_globs: everything(),
        blocked_globs: Vec::new(),
        command_approval: match state.mode {
            ApprovalMode::Ask => CommandApproval::Always,
            ApprovalMode::Reads | ApprovalMode::Edits | ApprovalMode::Listed => CommandApproval::Prompt,
        },
        allowed_commands: patterns(StandingAnswer::Always, false),
        blocked_commands: patterns(StandingAnswer::Never, false),
        network_enabled: !is(CommandClass::Network, StandingAnswer::Never),
        auto_approve_simple_changes: state.mode == ApprovalMode::Edits,
        auto_approve_tests: is(CommandClass::Build, StandingAnswer::Always),
        auto_approve_tools: patterns(StandingAnswer::Always, true),
    }
}

fn everything() -> Vec<String> {
    vec!["**/*".to_owned()]
}

/// Merged, and checked whole before anything of it holds.
fn merged(before: PolicyBody, change: PolicyChange) -> Result<PolicyBody, DesktopRefusal> {
    let after = PolicyBody {
        allowed_read_globs: change.allowed_read_globs.unwrap_or(before.allowed_read_globs),
        allowed_write_globs: change.allowed_write_globs.unwrap_or(before.allowed_write_globs),
        blocked_globs: change.blocked_globs.unwrap_or(before.blocked_globs),
        command_approval: change.command_approval.unwrap_or(before.command_approval),
        allowed_commands: change.allowed_commands.unwrap_or(before.allowed_commands),
        blocked_commands: change.blocked_commands.unwrap_or(before.blocked_commands),
        network_enabled: change.network_enabled.unwrap_or(before.network_enabled),
        auto_approve_simple_changes: change
            .auto_approve_simple_changes
            .unwrap_or(before.auto_approve_simple_changes),
        auto_approve_tests: change.auto_approve_tests.unwrap_or(before.auto_approve_tests),
        auto_approve_tools: change.auto_approve_tools.unwrap_or(before.auto_approve_tools),
    };
    let unsupported = |key: &str, why: &str| {
        Err(DesktopRefusal::new(RefusalCode::Unsupported, format!("This host cannot hold `{key}`: {why}."))
            .with("key", key))
    };
    let globs = [
        ("allowed_read_globs", &after.allowed_read_globs, everything()),
        ("allowed_write_globs", &after.allowed_write_globs, everything()),
        ("blocked_globs", &after.blocked_globs, Vec::new()),
    ];
    for (key, given, known) in globs {
        if *given != known {
            return unsupported(key, "it knows no list of files; the folder that it serves is the bound");
        }
    }
    if after.command_approval == CommandApproval::Never {
        return unsupported("command_approval", "what no list names is always asked about; use `prompt`");
    }
    let lists = [
        ("allowed_commands", &after.allowed_commands),
        ("blocked_commands", &after.blocked_commands),
        ("auto_approve_tools", &after.auto_approve_tools),
    ];
    for (key, list) in lists {
        let is_bad = |entry: &String| {
            entry.trim().is_empty() || entry.chars().count() > ENTRY || entry.chars().any(char::is_control)
        };
        if list.len() > ENTRIES || list.iter().any(is_bad) {
            let message =
                format!("`{key}` has at most {ENTRIES} entries of 1 to {ENTRY} characters; correct it.");
            return Err(DesktopRefusal::new(RefusalCode::BadMessage, message).with("key", key));
        }
        if key != "auto_approve_tools" && list.iter().any(|entry| entry.trim_start().starts_with(TOOL)) {
            let message = format!("`{key}` names commands; name tools in `auto_approve_tools`.");
            return Err(DesktopRefusal::new(RefusalCode::BadMessage, message).with("key", key));
        }
    }
    Ok(after)
}

/// What no key names stays as it was.
fn params(policy: &PolicyBody, before: ApprovalsState) -> ApprovalsSetParams {
    let rows = |list: &[String], prefix: &str, answer: StandingAnswer| -> Vec<StandingPattern> {
        let row = |entry: &String| StandingPattern { pattern: format!("{prefix}{}", entry.trim()), answer };
        list.iter().map(row).collect()
    };
    let ApprovalsState { mode, mut classes, mut patterns, .. } = before;
    patterns.retain(|row| match row.answer {
        StandingAnswer::Prompt => true,
        StandingAnswer::Never => row.pattern.starts_with(TOOL),
        StandingAnswer::Always => false,
    });
    patterns.extend(rows(&policy.blocked_commands, "", StandingAnswer::Never));
    patterns.extend(rows(&policy.allowed_commands, "", StandingAnswer::Always));
    patterns.extend(rows(&policy.auto_approve_tools, TOOL, StandingAnswer::Always));
    set_class(&mut classes, CommandClass::Network, StandingAnswer::Never, !policy.network_enabled);
    set_class(&mut classes, CommandClass::Build, StandingAnswer::Always, policy.auto_approve_tests);
    let mode = match (policy.command_approval, policy.auto_approve_simple_changes) {
        (CommandApproval::Always, _) => ApprovalMode::Ask,
        (CommandApproval::Prompt | CommandApproval::Never, true) => ApprovalMode::Edits,
        (CommandApproval::Prompt | CommandApproval::Never, false) if mode == ApprovalMode::Reads => mode,
        (CommandApproval::Prompt | CommandApproval::Never, false) => ApprovalMode::Listed,
    };
    ApprovalsSetParams { mode: Some(mode), classes: Some(classes), patterns: Some(patterns), runner: None }
}

fn set_class(
    classes: &mut BTreeMap<CommandClass, StandingAnswer>,
    class: CommandClass,
    answer: StandingAnswer,
    is_set: bool,
) {
    if is_set {
        classes.insert(class, answer);
    } else if classes.get(&class) == Some(&answer) {
        classes.remove(&class);
    }
}
