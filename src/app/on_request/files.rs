//! `bb/listFiles`, `bb/readFileSnippet`, `bb/attachment/put`: checked here, done by the workspace edge.

use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::app::ports::{Attachment, EngineCall, FileJob, StreamCall};
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::protocol::request::*;

/// Attachments of one session. Each is at most 10 MiB, so this bounds what a session may keep on disk.
const ATTACHMENTS: usize = 256;

/// Who reads the files of a session.
enum FilePlace {
    /// The workspace edge, in the root of this name; the first without one.
    Here(Option<String>),
    /// The engine, in the folder where it works.
    AtEngine,
}

impl App {
    pub(in crate::app) fn list_files(
        &mut self,
        client: ClientId,
        mut params: ListFilesParams,
        reply: Reply<ListFilesResult>,
    ) {
        match self.place_of(params.session(), params.root.as_deref()) {
            Ok(FilePlace::Here(root)) => {
                params.root = root;
                let buffers = self.buffers_for(client);
                self.files.submit(FileJob::List { params, reply }, buffers);
            }
            Ok(FilePlace::AtEngine) => {
                let session_id = params.session().to_owned();
                self.call_engine(&session_id, EngineCall::Stream(StreamCall::ListFiles { params, reply }));
            }
            Err(error) => reply.refuse(error),
        }
    }

    pub(in crate::app) fn read_file_snippet(
        &mut self,
        client: ClientId,
        mut params: ReadFileSnippetParams,
        reply: Reply<ReadFileSnippetResult>,
    ) {
        match self.place_of(params.session(), params.root.as_deref()) {
            Ok(FilePlace::Here(root)) => {
                params.root = root;
                let buffers = self.buffers_for(client);
                self.files.submit(FileJob::Snippet { params, reply }, buffers);
            }
            Ok(FilePlace::AtEngine) => {
                let session_id = params.session().to_owned();
                self.call_engine(&session_id, EngineCall::Stream(StreamCall::ReadFile { params, reply }));
            }
            Err(error) => reply.refuse(error),
        }
    }

    /// Where the files of a session are. What is named wins; a session of an engine has its own folder, which is one of
    /// ours or is read through the engine, and never the first one that happens to be open.
    fn place_of(&self, session_id: &str, named: Option<&str>) -> Result<FilePlace, CodedError> {
        let record = &self.known(session_id)?.record;
        let (Some(held), None) = (&record.held, named) else {
            return Ok(FilePlace::Here(named.map(str::to_owned)));
        };
        let folder = held.workspace.as_ref().and_then(|workspace| {
            self.workspace.folders.iter().find(|folder| folder.path.as_ref() == Some(workspace))
        });
        match folder {
            Some(folder) => Ok(FilePlace::Here(Some(folder.name.clone()))),
            None if self.is_at_engine(record) => Ok(FilePlace::AtEngine),
            None => Err(CodedError::new(
                ErrorCode::NotFound,
                "The folder of this session is not open and its engine no longer has it; open the folder, or name a `root`.",
            )),
        }
    }

    pub(in crate::app) fn attachment_put(
        &mut self,
        client: ClientId,
        params: AttachmentPutParams,
        reply: Reply<AttachmentPutResult>,
    ) {
        if let Err(error) = self.known(params.session()) {
            return reply.refuse(error);
        }
        if params.uri.is_some() == params.base64.is_some() {
            return reply.refuse(CodedError::new(
                ErrorCode::InvalidParams,
                "An attachment needs either a `uri` or `base64`, not both and not neither.",
            ));
        }
        if let Err(error) = self.has_room_for_attachment(params.session()) {
            return reply.refuse(error);
        }
        let job = FileJob::StoreAttachment {
            session_id: params.session().to_owned(),
            name: params.name,
            mime: params.mime,
            uri: params.uri,
            base64: params.base64,
            reply,
        };
        let buffers = self.buffers_for(client);
        self.files.submit(job, buffers);
    }

    /// Whether a session may hold one more attachment.
    pub(in crate::app) fn has_room_for_attachment(&self, session_id: &str) -> Result<(), CodedError> {
        if self.known(session_id)?.record.attachments.len() < ATTACHMENTS {
            return Ok(());
        }
        Err(CodedError::new(
            ErrorCode::Overloaded,
            format!("This session holds {ATTACHMENTS} attachments already; begin a new one."),
        ))
    }

    pub(in crate::app) fn attachment_stored(
        &mut self,
        session_id: &str,
        attachment: Attachment,
    ) -> Result<AttachmentPutResult, CodedError> {
        self.load(session_id)?;
        self.hold(session_id)?;
        let result = AttachmentPutResult {
            attachment_id: attachment.id.clone(),
            bytes: attachment.bytes,
            mime: attachment.mime.clone(),
        };
        let attachments = &mut self.record_mut(session_id)?.attachments;
        attachments.retain(|old| old.id != attachment.id);
        attachments.push(attachment);
        self.flush(session_id);
        Ok(result)
    }
}
