//! What the BreadBoard engine writes for a screen beside a call and its result, and the tool as an object.
//!
//! Owns the shapes of `display`, of `tool` where it is no name, and of a reference to an artifact. Never decides what is shown.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::domain::cut;
use crate::domain::dialect::loose::{Inside, Plain, Words};

/// Diffs of one result.
const DIFF: usize = 64 * 1024;

/// What the engine would draw.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Display<'a> {
    #[serde(borrow)]
    title: Plain<'a>,
    #[serde(borrow)]
    summary: Words<'a>,
    detail: Option<Box<RawValue>>,
    diff_blocks: Option<Box<RawValue>>,
    #[serde(borrow)]
    detail_artifact: Inside<ArtifactRef<'a>>,
}

/// Where the whole of something lies.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ArtifactRef<'a> {
    #[serde(borrow)]
    pub(super) path: Plain<'a>,
    preview: Inside<ArtifactPreview>,
}

/// Its beginning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ArtifactPreview {
    lines: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DiffBlock<'a> {
    #[serde(borrow)]
    unified: Words<'a>,
}

/// A tool by its name alone, or as an object with its arguments or its output.
#[derive(Debug, Default)]
pub(super) struct ToolSaid<'a> {
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) status: Option<Cow<'a, str>>,
    pub(super) arguments: Option<Box<RawValue>>,
    pub(super) output: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolFields<'a> {
    #[serde(borrow)]
    name: Plain<'a>,
    #[serde(borrow)]
    status: Plain<'a>,
    args: Option<Box<RawValue>>,
    arguments: Option<Box<RawValue>>,
    #[serde(borrow)]
    output: Words<'a>,
}

impl<'a> ToolSaid<'a> {
    /// Reads either.
    pub(super) fn read(raw: &'a RawValue) -> Self {
        if let Ok(Inside(Some(fields))) = serde_json::from_str::<Inside<ToolFields<'_>>>(raw.get()) {
            return Self {
                name: fields.name.text(),
                status: fields.status.text(),
                arguments: fields.args.or(fields.arguments),
                output: fields.output.0.filter(|output| !output.is_empty()),
            };
        }
        let name = serde_json::from_str::<Plain<'_>>(raw.get()).ok().and_then(Plain::text);
        Self { name, ..Self::default() }
    }
}

impl<'a> Display<'a> {
    /// One line.
    pub(super) fn title(&self) -> Option<Cow<'a, str>> {
        self.title.clone().text()
    }

    /// The output, or a line that sums it up, and the lines below it; without any the beginning of its artifact.
    pub(super) fn words(&self, output: Option<Cow<'_, str>>) -> Option<String> {
        let first = output.or_else(|| self.summary.0.clone().filter(|summary| !summary.is_empty()));
        let preview = || self.detail_artifact.0.as_ref()?.preview.0.as_ref()?.lines.as_deref();
        let below = self.detail.as_deref().or_else(preview).and_then(joined);
        let said: Vec<Cow<'_, str>> = [first, below.map(Cow::Owned)].into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("\n"))
    }

    /// Its differences, one below the other.
    pub(super) fn diff(&self) -> Option<String> {
        let blocks = self.diff_blocks.as_deref()?.get();
        let blocks = serde_json::from_str::<Vec<Inside<DiffBlock<'_>>>>(blocks).ok()?;
        let mut whole = String::new();
        for unified in blocks.into_iter().filter_map(|block| block.0?.unified.0) {
            if !whole.is_empty() && !whole.ends_with('\n') {
                whole.push('\n');
            }
            whole.push_str(cut::start_of(&unified, DIFF.saturating_sub(whole.len())));
        }
        (!whole.is_empty()).then_some(whole)
    }

    /// Where all of it lies.
    pub(super) fn artifact(&self) -> Option<String> {
        self.detail_artifact.0.as_ref()?.path.clone().text().map(Cow::into_owned)
    }
}

/// A text, or one as a list of its lines.
fn joined(raw: &RawValue) -> Option<String> {
    let text = serde_json::from_str::<String>(raw.get());
    let text = text.or_else(|_| serde_json::from_str::<Vec<String>>(raw.get()).map(|lines| lines.join("\n")));
    text.ok().filter(|text| !text.is_empty())
}
