//! An answer of a client to a request for approval, on its way to the loop.
//!
//! Owns what the three scopes of the seed come to. The loop takes the first answer, and says of a later one how it was settled and
//! at which client.

use super::link::SessionLink;
use crate::domain::approval::Decision;
use crate::protocol::Request;
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};
use crate::protocol::patch::{
    HunkDecision, PatchDecideParams, PatchFilesResult, PatchGetParams, PatchGetResult, PatchScope,
};
use crate::protocol::permission::{PermissionGetParams, PermissionGetResult};
use crate::protocol::request::{ApprovalOutcome, ApprovePermissionParams, ApprovePermissionResult};

/// `client.approval_response`, read.
pub(super) struct GivenApproval {
    pub(super) request_id: String,
    pub(super) approved: bool,
    pub(super) scope: PatchScope,
    pub(super) file_path: Option<String>,
    pub(super) hunks: Option<Vec<HunkDecision>>,
    pub(super) digest: Option<String>,
    pub(super) content: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Gives the answer to the loop.
pub(super) async fn give(link: &SessionLink, given: GivenApproval) -> Result<(), DesktopRefusal> {
    if given.scope != PatchScope::All && given.file_path.is_none() {
        return Err(DesktopRefusal::new(
            RefusalCode::BadMessage,
            "An answer for a file or a hunk names its `file_path`; add it.",
        ));
    }
    match given.scope {
        PatchScope::All => as_a_whole(link, given).await,
        PatchScope::File | PatchScope::Hunk => in_part(link, given).await,
    }
}

async fn as_a_whole(link: &SessionLink, given: GivenApproval) -> Result<(), DesktopRefusal> {
    let params = ApprovePermissionParams {
        session_id: Some(link.session_id.clone()),
        tab_id: None,
        request_id: given.request_id.clone(),
        decision: if given.approved { Decision::AllowOnce } else { Decision::Deny },
        option_id: None,
        digest: given.digest,
        rule_update: None,
        content: given.content,
    };
    let answer: ApprovePermissionResult = link.ask(Request::ApprovePermission(params)).await?;
    if answer.outcome == ApprovalOutcome::Recorded {
        return Ok(());
    }
    let by = answer.client;
    let words = by.as_ref().map_or_else(String::new, |by| format!(" by {}", by.name));
    let status = serde_json::to_value(answer.resolution).unwrap_or_default();
    Err(DesktopRefusal::new(
        RefusalCode::Conflict,
        format!("This request was settled before{words}; your answer changes nothing."),
    )
    .with("request_id", given.request_id)
    .with("status", status)
    .with("by", serde_json::to_value(by).unwrap_or_default()))
}

async fn in_part(link: &SessionLink, given: GivenApproval) -> Result<(), DesktopRefusal> {
    let session_id = Some(link.session_id.clone());
    let wanted =
        PermissionGetParams { session_id: session_id.clone(), tab_id: None, request_id: given.request_id };
    let found: PermissionGetResult = link.ask(Request::PermissionGet(wanted)).await?;
    let Some(patch_id) = found.permission.patch_id else {
        return Err(DesktopRefusal::new(
            RefusalCode::Unsupported,
            "This request can only be answered as a whole; answer with scope `all`.",
        ));
    };
    let hunks = match (given.scope, given.hunks) {
        (PatchScope::Hunk, None) => {
            let wanted =
                PatchGetParams { patch_id: patch_id.clone(), session_id: session_id.clone(), tab_id: None };
            let patch = link.ask::<PatchGetResult>(Request::PatchGet(wanted)).await?.patch;
            let file = patch.files.into_iter().find(|file| Some(&file.file_path) == given.file_path.as_ref());
            let mut hunks = file.map(|file| file.hunks).unwrap_or_default();
            // Ruling 10: without a name it is the only one.
            let (Some(hunk), true) = (hunks.pop(), hunks.is_empty()) else {
                return Err(DesktopRefusal::new(
                    RefusalCode::BadMessage,
                    "The file has more than one hunk, or none; name those you mean in `hunks`.",
                ));
            };
            let only = HunkDecision { id: hunk.id, accepted: given.approved, reason: None, content: None };
            Some(vec![only])
        }
        (PatchScope::All | PatchScope::File | PatchScope::Hunk, hunks) => hunks,
    };
    let params = PatchDecideParams {
        patch_id,
        session_id,
        tab_id: None,
        scope: given.scope,
        accepted: given.approved,
        file_path: given.file_path,
        root: None,
        hunks,
        digest: given.digest,
    };
    link.ask::<PatchFilesResult>(Request::PatchDecide(params)).await.map(drop)
}
