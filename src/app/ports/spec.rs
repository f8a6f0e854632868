//! The workspace edge's part in a spec that is written and sent (seed 004).

use std::sync::Arc;

use super::Attachment;
use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::domain::coded_error::CodedError;
use crate::domain::spec::images::ImageFault;
use crate::domain::spec::markdown::{Imported, MarkdownFault};
use crate::protocol::create_spec::{CreateSpecAttachImagesResult, CreateSpecImportMarkdownResult};
use crate::protocol::request::SendMessageResult;

/// A job for the files of a spec; reports its `SpecFilesDone`.
#[derive(Debug)]
pub enum SpecJob {
    /// Reads a Markdown file that was picked.
    Import {
        /// Where it is.
        uri: String,
        /// Where the answer goes.
        reply: Reply<CreateSpecImportMarkdownResult>,
    },
    /// Reads images that were picked, for the form to show.
    Preview {
        /// Where they are.
        uris: Vec<String>,
        /// What waits for them.
        pick: Box<ImagePick>,
    },
    /// Keeps the images of a spec that is sent, whole.
    Keep {
        /// Where they are.
        uris: Vec<String>,
        /// What waits for them.
        sending: Box<SpecSending>,
    },
}

/// What became of a `SpecJob`.
#[derive(Debug)]
pub enum SpecFilesDone {
    /// Of `Import`.
    Imported {
        /// The text, or why there is none.
        outcome: Result<Imported, MarkdownFault>,
        /// Where the answer goes.
        reply: Reply<CreateSpecImportMarkdownResult>,
    },
    /// Of `Preview`.
    Previewed {
        /// All of them, in order, or the first fault.
        outcome: Result<Vec<Preview>, ImageFault>,
        /// What waits for them.
        pick: Box<ImagePick>,
    },
    /// Of `Keep`.
    Kept {
        /// All of them, in order.
        outcome: Result<Vec<Attachment>, CodedError>,
        /// What waits for them.
        sending: Box<SpecSending>,
    },
}

/// An image as the form shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// As it was asked for.
    pub uri: String,
    /// Name of its file.
    pub name: String,
    /// The image, or a small picture of it.
    pub data_url: String,
}

/// A pick of images whose files are read.
#[derive(Debug)]
pub struct ImagePick {
    /// How many; they take places for as long as this is held, also when the job gets lost.
    pub places: Arc<usize>,
    /// Whether others were left out because of the cap.
    pub capped: bool,
    /// How many were left out because the form has them.
    pub duplicates: usize,
    /// Where the answer goes.
    pub reply: Reply<CreateSpecAttachImagesResult>,
}

/// A spec on its way to a session.
#[derive(Debug)]
pub struct SpecSending {
    /// Who sends it.
    pub client: ClientId,
    /// Where it goes; `None`: to a new session.
    pub session_id: Option<String>,
    /// What is sent.
    pub prompt: SpecPrompt,
    /// Where the answer goes.
    pub reply: Reply<SendMessageResult>,
}

/// What is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecPrompt {
    /// The description, trimmed.
    pub text: String,
    /// The client's id of the prompt.
    pub message_id: Option<String>,
    /// Its images.
    pub images: Vec<Attachment>,
}
