//! `bb/patch/*`: the edits of a session hunk by hunk, and decisions on them.
//!
//! Owns which decision a request means and when all of an edit is decided. An edit that is accepted or rejected whole is a plain
//! answer to its request for permission; of any other the accepted part is written here (`patches`).

use std::collections::VecDeque;

use crate::app::client::ClientId;
use crate::app::edits::untrusted;
use crate::app::inbox::Reply;
use crate::app::patches::{PatchWrite, WriteStep};
use crate::app::ports::PatchText;
use crate::app::record::{Ask, Settler};
use crate::app::state::App;
use crate::domain::approval::{
    Decided, Decision, HunkState, HunkWay, NotDecided, NotEdited, PermissionAsk, PermissionStatus, Proposal,
    ProposedFile,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::shown::{Kind, reveal, show};
use crate::protocol::patch::*;
use crate::protocol::request::ApprovePermissionParams;

use super::approvals::Settling;
use super::diffs::FileOfPatch;
use super::shown_patch::{patch_outcomes, summary, whole};

impl App {
    pub(in crate::app) fn patch_list(
        &mut self,
        params: &PatchListParams,
    ) -> Result<PatchListResult, CodedError> {
        let session_id = params.session_id.clone().unwrap_or_default();
        self.load(&session_id)?;
        let asks = self.asks_of(&session_id)?;
        Ok(PatchListResult {
            patches: asks.into_iter().filter_map(|ask| summary(&self.as_known(&session_id, ask))).collect(),
        })
    }

    pub(in crate::app) fn patch_get(
        &mut self,
        params: &PatchGetParams,
    ) -> Result<PatchGetResult, CodedError> {
        let session_id = params.session_id.clone().unwrap_or_default();
        let ask = self.ask_of_patch(&session_id, &params.patch_id)?;
        let ask = self.as_known(&session_id, ask);
        whole(session_id, &ask).map(|patch| PatchGetResult { patch }).ok_or_else(unknown_patch)
    }

    /// Checked in this order: params, session, patch, trust (accepting only), digest, what was decided before.
    pub(in crate::app) fn patch_decide(
        &mut self,
        client: ClientId,
        params: PatchDecideParams,
        reply: Reply<PatchFilesResult>,
    ) {
        let session_id = params.session_id.clone().unwrap_or_default();
        let ask = match self.decided_ask(client, &session_id, &params) {
            Ok(ask) => ask,
            Err(error) => return reply.refuse(error),
        };
        let Some(proposal) = &ask.proposal else { return reply.refuse(unknown_patch()) };
        let (all, none, decided) = (proposal.is_all(), proposal.is_none(), proposal.is_decided());
        // An engine that writes itself must not write over what it has not seen.
        let compares = all && decided && self.traits_of(&session_id).sessions.is_elsewhere();
        if (!all && !none && decided) || compares {
            let left = (0..proposal.files.len())
                .filter(|index| proposal.files[*index].has(HunkState::Accepted))
                .collect();
            let named = self.clients.get(client).and_then(|client| client.named.clone());
            let ask = Ask { answered: Some(PermissionStatus::Allowed), sent: true, client: named, ..ask };
            self.keep_decision(&session_id, ask.clone());
            let step = match compares {
                true => WriteStep::Compare { digest: params.digest },
                false => WriteStep::Write,
            };
            let by_engine = !compares && self.takes_hunks(&session_id);
            let (ask, way) = (Box::new(ask), HunkWay::In);
            let write = PatchWrite { client, session_id, ask, way, step, left, reply };
            return if by_engine { self.leave_to_engine(write) } else { self.write_next(write) };
        }
        self.keep_decision(&session_id, ask.clone());
        if decided {
            return self.answer_as_a_whole(client, &session_id, &ask, params.digest, reply);
        }
        reply.answer(patch_outcomes(&ask));
    }

    /// All of an edit was accepted, or all of it rejected: from here on it is an answer like any other, with its checks and its
    /// way to the engine.
    pub(in crate::app) fn answer_as_a_whole(
        &mut self,
        client: ClientId,
        session_id: &str,
        ask: &Ask,
        digest: Option<String>,
        reply: Reply<PatchFilesResult>,
    ) {
        let all = ask.proposal.as_ref().is_some_and(Proposal::is_all);
        let (given, _) = Reply::new();
        let answer = ApprovePermissionParams {
            session_id: Some(session_id.to_owned()),
            tab_id: None,
            request_id: ask.permission.request_id.clone(),
            decision: if all { Decision::AllowOnce } else { Decision::Deny },
            option_id: None,
            rule_update: None,
            digest,
            content: None,
        };
        self.approve_as_shown(client, answer, given);
        let patch_id = ask.permission.patch_id.clone().unwrap_or_default();
        match self.ask_of_patch(session_id, &patch_id) {
            Ok(ask) => self.answer_once_made(session_id, ask, reply),
            Err(error) => reply.refuse(error),
        }
    }

    /// Checked in this order: params, session, patch, trust, folder.
    pub(in crate::app) fn patch_revert(
        &mut self,
        client: ClientId,
        params: &PatchRevertParams,
        reply: Reply<PatchFilesResult>,
    ) {
        let session_id = params.session_id.clone().unwrap_or_default();
        match self.reverted_ask(client, &session_id, params) {
            Ok((ask, left)) => {
                let ask = Box::new(ask);
                let (way, step) = (HunkWay::Out, WriteStep::Write);
                self.write_next(PatchWrite { client, session_id, ask, way, step, left, reply });
            }
            Err(error) => reply.refuse(error),
        }
    }

    /// The settled request, and which files of it have something to take back.
    fn reverted_ask(
        &mut self,
        client: ClientId,
        session_id: &str,
        params: &PatchRevertParams,
    ) -> Result<(Ask, VecDeque<usize>), CodedError> {
        let mut ask = self.ask_of_patch(session_id, &params.patch_id)?;
        if !self.clients.trusts(client) {
            return Err(untrusted());
        }
        self.same_root(session_id, &ask.root, ask.root_name.as_deref())?;
        let is_settled = ask.status == PermissionStatus::Allowed && ask.answered.is_none();
        let Some(proposal) = ask.proposal.as_mut() else { return Err(unknown_patch()) };
        let named = |file: &ProposedFile| match &params.file_path {
            Some(path) => file.file_path == *path && file.root == params.root,
            None => true,
        };
        let mut left = VecDeque::new();
        for (index, file) in proposal.files.iter_mut().enumerate().filter(|(_, file)| named(file)) {
            if is_settled {
                file.was_left_to_engine();
            }
            if file.has(HunkState::Applied) {
                left.push_back(index);
            }
        }
        if left.is_empty() {
            return Err(CodedError::new(
                ErrorCode::Conflict,
                "Nothing of this edit stands in the files, so there is nothing to take back.",
            ));
        }
        Ok((ask, left))
    }

    /// The request with the decision taken; nothing is kept yet.
    fn decided_ask(
        &mut self,
        client: ClientId,
        session_id: &str,
        params: &PatchDecideParams,
    ) -> Result<Ask, CodedError> {
        let decisions = decisions(params)?;
        self.load(session_id)?;
        let waiting = self.waiting_patch(session_id, &params.patch_id);
        let Some(mut ask) = waiting else {
            // One that is settled is known, and its decision stands.
            self.ask_of_patch(session_id, &params.patch_id)?;
            return Err(decided_before());
        };
        let accepts = decisions.iter().any(|decision| decision.accepted);
        let kind = if accepts { Decision::AllowOnce } else { Decision::Deny };
        if let Some(option) = PermissionAsk::choose(&ask.permission.options, None, kind) {
            self.may_choose(client, session_id, &ask, &option, params.digest.as_deref())?;
        } else if accepts {
            return Err(unknown_patch());
        }
        if ask.answered.is_some() && ask.sent {
            return Err(decided_before());
        }
        let Some(proposal) = ask.proposal.as_mut() else { return Err(unknown_patch()) };
        take(proposal, decisions, params.root.as_deref())?;
        if proposal.is_in_part() {
            let is_paused = self.is_paused(session_id);
            may_be_in_part(proposal, is_paused)?;
        }
        Ok(ask)
    }

    fn keep_decision(&mut self, session_id: &str, ask: Ask) {
        self.note_ask(session_id, &ask);
        if let Some(live) = self.live_mut(session_id) {
            live.asks.insert(ask.permission.request_id.clone(), ask);
        }
        self.flush(session_id);
    }

    /// Settles an edit of which a part was written: the engine hears no, and what was made.
    pub(in crate::app) fn settle_part(&mut self, session_id: &str, request_id: &str, option_id: String) {
        let (status, by) = (PermissionStatus::Denied, Settler::User);
        let settling = Settling { status, option_id, rule: None, content: None, by };
        self.settle_with(session_id, request_id, settling);
        self.flush(session_id);
    }

    /// The session of a patch that is named without one.
    pub(in crate::app) fn session_of_patch(&mut self, patch_id: &str) -> Result<String, CodedError> {
        let has = |ask: &Ask| ask.permission.patch_id.as_deref() == Some(patch_id);
        let in_memory = self
            .sessions
            .iter()
            .find(|(_, session)| session.live.as_ref().is_some_and(|live| live.asks.values().any(has)));
        if let Some((session_id, _)) = in_memory {
            return Ok(session_id.clone());
        }
        self.flush_all();
        let found = self.journal()?.session_of_patch(patch_id).ok().flatten();
        found.filter(|session_id| self.known(session_id).is_ok()).ok_or_else(unknown_patch)
    }

    fn waiting_patch(&mut self, session_id: &str, patch_id: &str) -> Option<Ask> {
        let asks = &self.live_mut(session_id)?.asks;
        asks.values().find(|ask| ask.permission.patch_id.as_deref() == Some(patch_id)).cloned()
    }

    fn ask_of_patch(&mut self, session_id: &str, patch_id: &str) -> Result<Ask, CodedError> {
        self.load(session_id)?;
        if let Some(ask) = self.waiting_patch(session_id, patch_id) {
            return Ok(ask);
        }
        let asks = self.asks_of(session_id)?.into_iter().rev();
        let mut of_patch = asks.filter(|ask| ask.permission.patch_id.as_deref() == Some(patch_id));
        of_patch.next().ok_or_else(unknown_patch)
    }

    /// The diff of one file of an edit, as it was proposed or as the user edited it.
    pub(super) fn proposed_text(
        &mut self,
        session_id: &str,
        patch_id: &str,
        of: FileOfPatch<'_>,
    ) -> Option<PatchText> {
        let ask = self.ask_of_patch(session_id, patch_id).ok()?;
        let is_it = |file: &&ProposedFile| {
            file.file_path == of.path && (of.root.is_none() || file.root.as_deref() == of.root)
        };
        let file = ask.proposal.as_ref()?.files.iter().find(is_it)?;
        let diff = file.hunks.iter().map(|hunk| hunk.diff.as_str()).collect();
        Some(PatchText { diff, file_path: file.file_path.clone(), base_hash: None })
    }

    /// Every request of a session with an edit that can be decided by hunk, oldest first.
    pub(in crate::app) fn asks_of(&mut self, session_id: &str) -> Result<Vec<Ask>, CodedError> {
        self.flush(session_id);
        let rows = self.journal()?.asks(session_id).map_err(|error| super::journal_failed(&error))?;
        let asks = rows.iter().filter_map(|row| serde_json::from_slice::<Ask>(&row.record).ok());
        let asks: Vec<Ask> = asks.filter(|ask| ask.proposal.is_some()).collect();
        Ok(asks)
    }
}

/// What a decision names.
enum Meant<'a> {
    All,
    File(&'a str),
    Hunk(&'a str),
    OnlyHunkOf(&'a str),
}

/// One decision of a request.
struct OneDecision<'a> {
    meant: Meant<'a>,
    accepted: bool,
    reason: Option<&'a str>,
    /// What is made in place of a hunk that is accepted.
    content: Option<&'a str>,
}

/// The decisions of a request, in order.
fn decisions(params: &PatchDecideParams) -> Result<Vec<OneDecision<'_>>, CodedError> {
    let one = |meant| OneDecision { meant, accepted: params.accepted, reason: None, content: None };
    let file = || {
        params.file_path.as_deref().ok_or_else(|| {
            CodedError::new(ErrorCode::InvalidParams, "A decision on a file needs the path of the file.")
        })
    };
    match params.scope {
        PatchScope::All => Ok(vec![one(Meant::All)]),
        PatchScope::File => Ok(vec![one(Meant::File(file()?))]),
        PatchScope::Hunk => match params.hunks.as_deref().filter(|hunks| !hunks.is_empty()) {
            Some(hunks) => Ok(hunks
                .iter()
                .map(|hunk| OneDecision {
                    meant: Meant::Hunk(hunk.id.as_str()),
                    accepted: hunk.accepted,
                    reason: hunk.reason.as_deref(),
                    content: hunk.content.as_deref().filter(|_| hunk.accepted),
                })
                .collect()),
            None => Ok(vec![one(Meant::OnlyHunkOf(file()?))]),
        },
    }
}

/// Takes decisions, in order, into an edit.
fn take(
    proposal: &mut Proposal,
    decisions: Vec<OneDecision<'_>>,
    root: Option<&str>,
) -> Result<(), CodedError> {
    for OneDecision { meant, accepted, reason, content } in decisions {
        if let (Meant::Hunk(id), Some(content)) = (&meant, content) {
            let revealed = reveal(content).ok_or_else(|| edited_badly("A mark in it cannot be read."))?;
            proposal.edit(id, &revealed).map_err(not_edited)?;
        }
        let taken = match meant {
            Meant::All => proposal.decide(Decided::All, accepted, reason),
            Meant::File(path) => proposal.decide(Decided::File { path, root }, accepted, reason),
            Meant::Hunk(id) => proposal.decide(Decided::Hunk { id }, accepted, reason),
            Meant::OnlyHunkOf(path) => {
                let id = only_hunk(proposal, path, root)?;
                proposal.decide(Decided::Hunk { id: &id }, accepted, reason)
            }
        };
        taken.map_err(|why| match why {
            NotDecided::Unknown => unknown_change(),
            NotDecided::Twice => decided_before(),
        })?;
    }
    Ok(())
}

/// Whether an edit may be made in part.
fn may_be_in_part(proposal: &Proposal, is_paused: bool) -> Result<(), CodedError> {
    if is_paused {
        return Err(CodedError::new(
            ErrorCode::Conflict,
            "The turn waited over a restart, so its edit can only be allowed or denied as a whole.",
        ));
    }
    let Some(file) = proposal.beyond_us() else { return Ok(()) };
    let path = show(&file.file_path, Kind::Code);
    Err(CodedError::new(
        ErrorCode::Conflict,
        format!(
            "`{path}` is no text, so only the engine can write it; leave it out, or accept all of the edit."
        ),
    ))
}

/// The hunk that scope `hunk` means without a name (ruling 10).
fn only_hunk(proposal: &Proposal, path: &str, root: Option<&str>) -> Result<String, CodedError> {
    let file = proposal.files.iter().find(|file| file.file_path == path && file.root.as_deref() == root);
    match file.map(|file| file.hunks.as_slice()) {
        Some([only]) => Ok(only.id.clone()),
        Some(_) => Err(CodedError::new(
            ErrorCode::InvalidParams,
            "The file has several changes, so a decision on one of them must name it.",
        )),
        None => Err(unknown_patch()),
    }
}

fn unknown_patch() -> CodedError {
    CodedError::new(
        ErrorCode::NotFound,
        "There is no edit of this name that can be decided change by change; look at the list of them again.",
    )
}

fn unknown_change() -> CodedError {
    CodedError::new(
        ErrorCode::NotFound,
        "This edit has no such file or change; look at it again and decide on what it has.",
    )
}

fn not_edited(why: NotEdited) -> CodedError {
    match why {
        NotEdited::Unknown => unknown_change(),
        NotEdited::Decided => decided_before(),
        NotEdited::Unreadable(why) => edited_badly(why),
    }
}

fn edited_badly(why: &str) -> CodedError {
    CodedError::new(ErrorCode::InvalidParams, format!("The change cannot be made as it was edited. {why}"))
}

fn decided_before() -> CodedError {
    CodedError::new(ErrorCode::Conflict, "This was decided before; look at how the edit stands.")
}
