//! Params and results of `bb/createSpec/*` (seed 004): what a form for a new spec says and is told.
//!
//! The results are the payloads of seed 004's messages; what is more than there is optional. A file that cannot be taken is a
//! result with `error`, as there; a request that is wrong, or a spec that cannot be sent, is an error of the protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::spec::Draft;

/// Result of `bb/createSpec/ready`. The payload of `create-spec/init`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSpecInit {
    /// What was written and neither submitted nor discarded, also by an earlier window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Draft>,
    /// Whether the description takes the focus.
    pub should_focus_primary_field: bool,
}

/// Params of `bb/createSpec/autosave`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreateSpecAutosaveParams {
    /// What stands in the form; at most 1 MiB.
    pub description: String,
}

/// Result of `bb/createSpec/autosave`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSpecAutosaveResult {
    /// Since when the draft is as it is, in milliseconds since the Unix epoch; absent when there is nothing to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<i64>,
}

/// Params of `bb/createSpec/submit`. The prompt goes to the session named, else to the active one if that takes prompts, else
/// to a new one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSpecSubmitParams {
    /// The prompt; trimmed, it is not empty.
    pub description: String,
    /// URIs that `bb/createSpec/attachImages` gave, at most 5.
    pub image_uris: Vec<String>,
    /// Id of the session.
    pub session_id: Option<String>,
    /// Id of the tab whose session is meant.
    pub tab_id: Option<String>,
    /// Id of the prompt, so that sending it again is safe.
    pub message_id: Option<String>,
}

/// Params of `bb/createSpec/closeAttempt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSpecCloseAttemptParams {
    /// Whether the form thinks that it holds something that was not submitted. A `false` is not believed.
    pub has_dirty_changes: bool,
    /// What stands in the form, where the last save may still be on its way; it is kept.
    pub description: Option<String>,
}

/// Result of `bb/createSpec/closeAttempt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSpecCloseAttemptResult {
    /// `true`: close. `false`: ask the user first; whatever the answer, the draft stays until `bb/createSpec/discard`.
    pub should_close: bool,
}

/// Params of `bb/createSpec/importMarkdown`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreateSpecImportMarkdownParams {
    /// `file:` URI that the user picked; it may lie outside the workspace.
    pub uri: String,
}

/// Result of `bb/createSpec/importMarkdown`. The payload of `create-spec/import-markdown:result`:
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CreateSpecImportMarkdownResult {
    /// The text.
    Imported(ImportedMarkdown),
    /// Nothing.
    Refused(CreateSpecFault),
}

/// Text for the form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedMarkdown {
    /// The file, decoded; may be empty.
    pub content: String,
    /// What to tell the user about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Why nothing was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreateSpecFault {
    /// One sentence for the user.
    pub error: String,
}

/// Params of `bb/createSpec/attachImages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSpecAttachImagesParams {
    /// `file:` URIs that the user picked.
    pub uris: Vec<String>,
    /// How many images the form has; more than 5 counts as 5.
    pub current_count: u64,
    /// Which they are. With it an image that is there already is not given again.
    pub current_uris: Option<Vec<String>>,
}

/// Result of `bb/createSpec/attachImages`. The payload of `create-spec/attach-images:result`:
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CreateSpecAttachImagesResult {
    /// Images to append.
    Attached(AttachedImages),
    /// None: the first file that cannot be taken stops them all.
    Refused(CreateSpecFault),
}

/// Images to append to the form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttachedImages {
    /// In the order in which they were picked.
    pub images: Vec<SpecImage>,
    /// True when some were left out because five is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<bool>,
    /// How many were left out because they are there already, or were picked twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
}

/// One image of a spec.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpecImage {
    /// The same whenever this image is given again.
    pub id: String,
    /// As it was picked; what `bb/createSpec/submit` takes.
    pub uri: String,
    /// Name of the file.
    pub name: String,
    /// `data:image/…;base64,…`: the file itself up to 256 KiB, else a thumbnail of at most 512 pixels, or, for a
    /// drawing, a sheet that says what it is. For `<img>` only.
    pub data_url: String,
}

impl CreateSpecFault {
    /// Of one sentence.
    pub fn new(error: &str) -> Self {
        Self { error: error.to_owned() }
    }
}
