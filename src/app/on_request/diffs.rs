//! `bb/openDiff` and `bb/textDocument`: checked here, what lies at the engine fetched, then read by the workspace edge.
//!
//! Owns where a session's files lie and what a patch of it says. Needs no trust: nothing is run or written.

use serde_json::Value;

use crate::app::client::ClientId;
use crate::app::diffs::artifact_name;
use crate::app::inbox::Reply;
use crate::app::ports::{
    Artifact, DiffFor, DiffJob, DiffRoot, DiffSide, DownloadFor, EngineCall, FileJob, Found, PatchText,
    StreamCall,
};
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::diff_uri::DiffDocument;
use crate::domain::edits::reference::Reference;
use crate::domain::policy::path::WorkspacePath;
use crate::domain::shown::reveal;
use crate::domain::view::{Block, Lane, patch_block_id};
use crate::protocol::request::*;

impl App {
    pub(in crate::app) fn open_diff(
        &mut self,
        client: ClientId,
        params: OpenDiffParams,
        reply: Reply<OpenDiffResult>,
    ) {
        let sides = reference(params.before_ref.as_deref(), "git:HEAD")
            .and_then(|before| Ok((before, reference(params.after_ref.as_deref(), "buffer")?)));
        let (before, after) = match sides {
            Ok(sides) => sides,
            Err(error) => return reply.refuse(error),
        };
        let session_id = params.session().to_owned();
        if let Err(error) = self.known(&session_id) {
            return reply.refuse(error);
        }
        // A path of a patch is given back as it was shown.
        let file_path = match params.file_path.contains('⟨') {
            true => reveal(&params.file_path).unwrap_or(params.file_path),
            false => params.file_path,
        };
        match WorkspacePath::parse(&file_path) {
            Ok(path) if !path.is_root() => {
                let of = FileOfPatch { path: path.as_str(), root: params.root.as_deref() };
                let left = self.side(&session_id, before, of);
                match left.and_then(|left| Ok((left, self.side(&session_id, after, of)?))) {
                    Ok((left, right)) => {
                        let root = self.root_of(&session_id, params.root);
                        let purpose = DiffFor::Comparison { right, reply };
                        let job = DiffJob { client, session_id, root, path, left, purpose };
                        self.go_on_with(Box::new(job));
                    }
                    Err(error) => reply.refuse(error),
                }
            }
            Ok(_) => reply.refuse(CodedError::new(
                ErrorCode::NotFound,
                "The folder itself has no text to compare; name a file in it.",
            )),
            Err(refused) => reply.refuse(CodedError::new(
                ErrorCode::PathOutsideWorkspace,
                format!(
                    "The path `{}` {refused}; give one relative to the workspace folder.",
                    short(&file_path)
                ),
            )),
        }
    }

    pub(in crate::app) fn text_document(
        &mut self,
        client: ClientId,
        params: &TextDocumentParams,
        reply: Reply<TextDocumentResult>,
    ) {
        match DiffDocument::parse(&params.uri) {
            Ok(DiffDocument { session_id, root, path, reference }) => match self.known(&session_id) {
                Ok(_) => match self.side(
                    &session_id,
                    reference,
                    FileOfPatch { path: path.as_str(), root: root.as_deref() },
                ) {
                    Ok(left) => {
                        let root = self.root_of(&session_id, root);
                        let purpose = DiffFor::Document { reply };
                        let job = DiffJob { client, session_id, root, path, left, purpose };
                        self.go_on_with(Box::new(job));
                    }
                    Err(error) => reply.refuse(error),
                },
                Err(error) => reply.refuse(error),
            },
            Err(_) => reply.refuse(CodedError::new(
                ErrorCode::InvalidParams,
                format!(
                    "`{}` is not the address of a diff of this server; open the diff again.",
                    short(&params.uri)
                ),
            )),
        }
    }

    /// Downloads what is missing, else hands the job to the workspace edge.
    fn go_on_with(&mut self, mut job: Box<DiffJob>) {
        let Some(artifact_path) = job.wanted_artifact() else {
            let buffers = self.buffers_for(job.client);
            self.files.submit(FileJob::Diff(job), buffers);
            return;
        };
        match self.artifact_home(&job.session_id) {
            Ok(home) => {
                // A folder of its own: both sides of a diff, and the document of a third, may want the same artifact now.
                let to = home.join(self.ambient.fresh_id()).join(artifact_name(&artifact_path));
                let session_id = job.session_id.clone();
                let call = EngineCall::Stream(StreamCall::Download {
                    session_id: session_id.clone(),
                    artifact_path,
                    to,
                    purpose: DownloadFor::Diff(job),
                });
                self.call_engine(&session_id, call);
            }
            Err(error) => job.refuse(error),
        }
    }

    /// An artifact came that a diff waits for, or did not.
    pub(in crate::app) fn diff_downloaded(
        &mut self,
        mut job: Box<DiffJob>,
        artifact_path: &str,
        outcome: Result<Artifact, CodedError>,
    ) {
        match outcome {
            Ok(artifact) => {
                let side = job.sides_mut().find(|side| {
                    side.found == Found::Nothing
                        && matches!(&side.reference, Reference::Artifact(path) if path == artifact_path)
                });
                match side {
                    Some(side) => side.found = Found::Downloaded(artifact.path),
                    // Not what was asked for; asking again would never end.
                    None => return job.refuse(CodedError::internal()),
                }
                self.go_on_with(job);
            }
            Err(error) => job.refuse(error),
        }
    }

    /// A session of an engine that works in a folder of its own: paths are relative to that one, never to another.
    fn root_of(&self, session_id: &str, named: Option<String>) -> DiffRoot {
        match self.known(session_id).ok().and_then(|session| session.record.held.as_ref()) {
            None => DiffRoot::Named(named),
            Some(held) => match (&held.workspace, named) {
                (Some(workspace), named) => DiffRoot::At(workspace.clone(), named),
                (None, Some(named)) => DiffRoot::Named(Some(named)),
                (None, None) => DiffRoot::Unknown,
            },
        }
    }

    fn side(
        &mut self,
        session_id: &str,
        reference: Reference,
        of: FileOfPatch<'_>,
    ) -> Result<DiffSide, CodedError> {
        let found = match &reference {
            Reference::Patch(patch_id) => Found::Patch(self.patch(session_id, patch_id, of)?),
            Reference::Disk
            | Reference::Buffer
            | Reference::Git(_)
            | Reference::Checkpoint(_)
            | Reference::Artifact(_) => Found::Nothing,
        };
        Ok(DiffSide { reference, found })
    }

    /// What the journal says of a patch: its block names the event, and the event has the whole diff. An edit that was proposed
    /// without one stands in the ledger.
    fn patch(
        &mut self,
        session_id: &str,
        patch_id: &str,
        of: FileOfPatch<'_>,
    ) -> Result<PatchText, CodedError> {
        self.load(session_id)?;
        let id = patch_block_id(patch_id);
        let changed = self
            .live_mut(session_id)
            .and_then(|live| live.dirty.get(Lane::Chat, &id).map(|(_, block)| block.seq));
        let seq = match changed {
            Some(seq) => Some(seq),
            None => {
                let row = self.journal()?.block(session_id, Lane::Chat, &id);
                let row = row.map_err(|error| super::journal_failed(&error))?;
                row.and_then(|row| serde_json::from_slice::<Block>(&row.block?).ok()).map(|block| block.seq)
            }
        };
        let unknown = || {
            CodedError::new(
                ErrorCode::NotFound,
                format!("The session has no patch `{}`; choose one that it proposed.", short(patch_id)),
            )
        };
        let Some(seq) = seq else {
            return self.proposed_text(session_id, patch_id, of).ok_or_else(unknown);
        };
        let params = EventBodyParams { session_id: Some(session_id.to_owned()), tab_id: None, seq };
        let event: Value =
            serde_json::from_str(self.event_body(&params)?.event.get()).map_err(|_| unknown())?;
        let text = |name: &str| event["payload"].get(name).and_then(Value::as_str).map(str::to_owned);
        let diff = text("diff").filter(|_| text("patch_id").as_deref() == Some(patch_id));
        Ok(PatchText {
            diff: diff.ok_or_else(unknown)?,
            file_path: text("file_path").unwrap_or_default(),
            base_hash: text("base_hash"),
        })
    }
}

/// Which file of a patch is meant.
#[derive(Clone, Copy)]
pub(super) struct FileOfPatch<'a> {
    pub(super) path: &'a str,
    /// Name of its folder, where several are open.
    pub(super) root: Option<&'a str>,
}

fn reference(given: Option<&str>, default: &str) -> Result<Reference, CodedError> {
    let text = given.unwrap_or(default);
    Reference::parse(text).map_err(|refused| {
        CodedError::new(
            ErrorCode::InvalidParams,
            format!("The ref `{}` {refused}; give one of those.", short(text)),
        )
    })
}

/// A client's text cut to what fits in a sentence.
fn short(text: &str) -> String {
    let mut cut: String = text.chars().take(120).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}
