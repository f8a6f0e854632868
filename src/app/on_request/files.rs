//! `bb/listFiles`, `bb/readFileSnippet`, `bb/attachment/put`: checked here, done by the workspace edge.

use crate::app::inbox::Reply;
use crate::app::ports::{Attachment, FileJob};
use crate::app::state::App;
use crate::protocol::request::*;
use crate::protocol::{ErrorCode, WireError};

/// Attachments of one session. Each is at most 10 MiB, so this bounds what a session may keep on disk.
const ATTACHMENTS: usize = 256;

impl App {
    pub(in crate::app) fn list_files(&mut self, params: ListFilesParams, reply: Reply) {
        match self.known(&params.session_id) {
            Ok(_) => self.files.submit(FileJob::List { params, reply }, self.overlay.clone()),
            Err(error) => reply.refuse(error),
        }
    }

    pub(in crate::app) fn read_file_snippet(&mut self, params: ReadFileSnippetParams, reply: Reply) {
        match self.known(&params.session_id) {
            Ok(_) => self.files.submit(FileJob::Snippet { params, reply }, self.overlay.clone()),
            Err(error) => reply.refuse(error),
        }
    }

    pub(in crate::app) fn attachment_put(&mut self, params: AttachmentPutParams, reply: Reply) {
        let session = match self.known(&params.session_id) {
            Ok(session) => session,
            Err(error) => return reply.refuse(error),
        };
        if params.uri.is_some() == params.base64.is_some() {
            return reply.refuse(WireError::new(
                ErrorCode::InvalidParams,
                "An attachment needs either a `uri` or `base64`, not both and not neither.",
            ));
        }
        if session.record.attachments.len() >= ATTACHMENTS {
            return reply.refuse(WireError::new(
                ErrorCode::Overloaded,
                format!("This session holds {ATTACHMENTS} attachments already; begin a new one."),
            ));
        }
        let job = FileJob::StoreAttachment {
            session_id: params.session_id,
            name: params.name,
            mime: params.mime,
            uri: params.uri,
            base64: params.base64,
            reply,
        };
        self.files.submit(job, self.overlay.clone());
    }

    pub(in crate::app) fn attachment_stored(
        &mut self,
        session_id: &str,
        attachment: Attachment,
    ) -> Result<AttachmentPutResult, WireError> {
        self.load(session_id)?;
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
