//! The policy of a workspace over HTTP: what the user lets be done without a question, and what never.
//!
//! Owns the way between the keys and the modes, classes, patterns and lists that judge every command, edit and tool, and that what was
//! set holds in the next start too. A key that nothing would enforce is refused, never kept for show.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;

use super::answer::{JsonBody, OkBody, Placed, RouteAnswer};
use super::host::{DesktopHost, HostedWorkspace};
use super::policy_file;
use crate::domain::policy::command_class::CommandClass;
use crate::domain::policy::file_lists::{self, BadPattern, FileLists};
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
    // One change at a time, so that none is merged into what another one has replaced meanwhile.
    let _turn = workspace.policy.turn.lock().await;
    let before = state(workspace).await?;
    let wanted = merged(body(&before), change)?;
    // First what outlives the host: what was answered to have been set is set after a kill, too.
    let (file, kept) = (workspace.policy.file.clone(), wanted.clone());
    tokio::task::spawn_blocking(move || policy_file::keep(&file, &kept))
        .await
        .map_err(|_| unkept())?
        .map_err(|error| {
            tracing::error!(%error, "a policy could not be written");
            unkept()
        })?;
    let set: ApprovalsState = workspace.ask(Request::ApprovalsSet(params(&wanted, before))).await?;
    Ok(OkBody(body(&set)))
}

fn unkept() -> DesktopRefusal {
    DesktopRefusal::new(
        RefusalCode::Internal,
        "The policy could not be written to the state directory of the host, so nothing of it was changed; look at its disk.",
    )
}

/// What an earlier start of the host was told of each workspace, in force again.
///
/// # Errors
/// One sentence: a file cannot be read, or holds no policy. A host without what was forbidden does not start.
pub(crate) async fn restore_policies(host: &DesktopHost) -> Result<(), String> {
    for workspace in &host.workspaces {
        restore(workspace).await?;
    }
    Ok(())
}

/// That of one workspace. What the command line forbids stays forbidden.
async fn restore(workspace: &HostedWorkspace) -> Result<(), String> {
    let file = &workspace.policy.file;
    let Some(change) = policy_file::read(file)? else { return Ok(()) };
    let wrong = |why: &str| {
        format!(
            "The policy in {} cannot be used: {why} Correct the file, or delete it and set the policy anew.",
            file.display()
        )
    };
    let before = state(workspace).await.map_err(|refusal| wrong(&refusal.message))?;
    let of_flags = body(&before);
    let mut wanted = merged(of_flags.clone(), change).map_err(|refusal| wrong(&refusal.message))?;
    for (list, flags) in [
        (&mut wanted.blocked_commands, of_flags.blocked_commands),
        (&mut wanted.blocked_tools, of_flags.blocked_tools),
    ] {
        let missing: Vec<String> = flags.into_iter().filter(|entry| !list.contains(entry)).collect();
        list.extend(missing);
    }
    let set = workspace.ask::<ApprovalsState>(Request::ApprovalsSet(params(&wanted, before)));
    set.await.map(drop).map_err(|refusal| wrong(&refusal.message))
}

pub(super) async fn state(workspace: &HostedWorkspace) -> Result<ApprovalsState, DesktopRefusal> {
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
        allowed_read_globs: state.files.read.clone(),
        allowed_write_globs: state.files.change.clone(),
        blocked_globs: state.files.never.clone(),
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
        blocked_tools: patterns(StandingAnswer::Never, true),
    }
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
        blocked_tools: change.blocked_tools.unwrap_or(before.blocked_tools),
    };
    let globs = [
        ("allowed_read_globs", &after.allowed_read_globs),
        ("allowed_write_globs", &after.allowed_write_globs),
        ("blocked_globs", &after.blocked_globs),
    ];
    for (key, list) in globs {
        file_lists::check(list).map_err(|BadPattern { pattern, why }| {
            let message = format!("`{pattern}` in `{key}` {why}.");
            DesktopRefusal::new(RefusalCode::BadMessage, message).with("key", key)
        })?;
    }
    if after.command_approval == CommandApproval::Never {
        let words = "This host cannot hold `command_approval` as `never`: what no list names is always asked about; use `prompt`.";
        return Err(DesktopRefusal::new(RefusalCode::Unsupported, words).with("key", "command_approval"));
    }
    if after.command_approval == CommandApproval::Always && after.auto_approve_simple_changes {
        let words = "`command_approval` as `always` asks about everything, changes of files too; set it to `prompt` with `auto_approve_simple_changes`.";
        return Err(
            DesktopRefusal::new(RefusalCode::BadMessage, words).with("key", "auto_approve_simple_changes")
        );
    }
    let lists = [
        ("allowed_commands", &after.allowed_commands),
        ("blocked_commands", &after.blocked_commands),
        ("auto_approve_tools", &after.auto_approve_tools),
        ("blocked_tools", &after.blocked_tools),
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
        if key.ends_with("_commands") && list.iter().any(|entry| entry.trim_start().starts_with(TOOL)) {
            let message =
                format!("`{key}` names commands; name tools in `auto_approve_tools` or `blocked_tools`.");
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
    patterns.retain(|row| row.answer == StandingAnswer::Prompt);
    patterns.extend(rows(&policy.blocked_commands, "", StandingAnswer::Never));
    patterns.extend(rows(&policy.allowed_commands, "", StandingAnswer::Always));
    patterns.extend(rows(&policy.auto_approve_tools, TOOL, StandingAnswer::Always));
    patterns.extend(rows(&policy.blocked_tools, TOOL, StandingAnswer::Never));
    set_class(&mut classes, CommandClass::Network, StandingAnswer::Never, !policy.network_enabled);
    set_class(&mut classes, CommandClass::Build, StandingAnswer::Always, policy.auto_approve_tests);
    let mode = match (policy.command_approval, policy.auto_approve_simple_changes) {
        (CommandApproval::Always, _) => ApprovalMode::Ask,
        (CommandApproval::Prompt | CommandApproval::Never, true) => ApprovalMode::Edits,
        (CommandApproval::Prompt | CommandApproval::Never, false) if mode == ApprovalMode::Reads => mode,
        (CommandApproval::Prompt | CommandApproval::Never, false) => ApprovalMode::Listed,
    };
    let files = FileLists {
        read: policy.allowed_read_globs.clone(),
        change: policy.allowed_write_globs.clone(),
        never: policy.blocked_globs.clone(),
    };
    ApprovalsSetParams {
        mode: Some(mode),
        classes: Some(classes),
        patterns: Some(patterns),
        runner: None,
        files: Some(files),
    }
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
