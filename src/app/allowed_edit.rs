//! An edit of another engine that is allowed as a whole: first it is looked at whether its files are what was shown.
//!
//! Owns that comparison, for a plain answer to a permission request; a decision hunk by hunk has its own in `patches`. Such an
//! engine writes by itself and knows only what it read, so that what was typed since would be lost. Our own agent compares as it
//! writes. Never settles a request: that is `on_request::approvals`.

use super::client::ClientId;
use super::inbox::Reply;
use super::ports::{PatchJob, PatchPlace};
use super::record::Ask;
use super::state::App;
use crate::domain::approval::{HunkWay, Proposal, ProposedFile};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::shown::{Kind, show};
use crate::protocol::request::{ApprovePermissionParams, ApprovePermissionResult};

/// An answer that waits for what the files of its edit hold.
#[derive(Debug)]
pub struct AllowedEdit {
    /// The client that answered.
    pub(super) client: ClientId,
    pub(super) session_id: String,
    pub(super) request_id: String,
    pub(super) answer: ApprovePermissionParams,
    pub(super) reply: Reply<ApprovePermissionResult>,
}

impl App {
    /// The files to look at before an edit is allowed; none, where its engine compares itself or nothing can be compared.
    pub(super) fn bases_to_compare(&self, session_id: &str, ask: &Ask) -> Vec<PatchPlace> {
        let Some(proposal) = &ask.proposal else { return Vec::new() };
        if !self.traits_of(session_id).sessions.is_elsewhere() || proposal.beyond_us().is_some() {
            return Vec::new();
        }
        self.files_to_look_at(session_id, proposal, |_| true)
    }

    pub(super) fn compare_bases(&mut self, allowed: AllowedEdit, places: Vec<PatchPlace>) {
        let buffers = self.buffers_of_turn(&allowed.session_id);
        self.files.submit(PatchJob::Compare { allowed: Box::new(allowed), places }.into(), buffers);
    }

    /// What the files hold is known, or could not be looked at.
    pub(super) fn bases_compared(
        &mut self,
        allowed: AllowedEdit,
        outcome: Result<Vec<PatchPlace>, CodedError>,
    ) {
        let AllowedEdit { client, session_id, request_id, answer, reply } = allowed;
        let waits = self.live_mut(&session_id).and_then(|live| live.asks.get(&request_id));
        let moved = waits
            .and_then(|ask| ask.proposal.as_ref())
            .map(|proposal| outcome.map(|places| places.iter().find_map(|place| moved_on(proposal, place))));
        let refused = match moved {
            Some(Ok(Some(path))) => not_as_shown(&path),
            Some(Err(error)) => error,
            // One that was settled meanwhile answers so.
            None | Some(Ok(None)) => return self.approve_as_shown(client, answer, reply),
        };
        // A question in a plain editor has nobody who waits for the reply.
        if reply.is_abandoned() {
            self.say_to(client, "error", &refused.message);
        }
        reply.refuse(refused);
    }

    /// Files of an edit, with what is known already of what they hold.
    pub(super) fn files_to_look_at(
        &self,
        session_id: &str,
        proposal: &Proposal,
        wanted: impl Fn(&ProposedFile) -> bool,
    ) -> Vec<PatchPlace> {
        let files = proposal.files.iter().enumerate().filter(|(_, file)| wanted(file));
        let place = |(index, file): (usize, &ProposedFile)| {
            let path = file.place(HunkWay::In).to_owned();
            let open = match file.is_about_the_disk() {
                true => None,
                false => self.open_base(session_id, file.root.as_deref(), &path),
            };
            PatchPlace { index, root: file.root.clone(), path, hash: open.map(|open| open.hash) }
        };
        files.map(place).collect()
    }
}

/// The path of a file that is not what it was when its edit was shown.
fn moved_on(proposal: &Proposal, place: &PatchPlace) -> Option<String> {
    let file = proposal.files.get(place.index)?;
    (!file.is_as_shown(place.hash.as_deref())).then(|| file.file_path.clone())
}

fn not_as_shown(path: &str) -> CodedError {
    CodedError::new(
        ErrorCode::Conflict,
        format!(
            "`{}` changed since this edit was shown, so it was not allowed and nothing was written; decide on its changes one by one, or deny it, so that it is made anew.",
            show(path, Kind::Code)
        ),
    )
}
