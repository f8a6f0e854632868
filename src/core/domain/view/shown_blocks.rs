//! Blocks as clients draw them: every text that names or sums up something is safe to show.
//!
//! Owns which fields of a block are shown text, and how strictly each is read. What was said in the conversation (prompts,
//! answers, reasoning) and what is given back to the server (ids, links, artifacts) stays as it came; so does a permission,
//! which was made safe when it was asked. Called once for each change, behind the reducers, whose own state keeps the text
//! as it came.

use serde_json::{Map, Value};

use super::block::{Block, BlockBody, ToolBlockStatus};
use crate::domain::shown::{Kind, show, show_output, without_unfinished};

impl Block {
    /// The block with its text made safe to show. Must be called once.
    pub(super) fn shown(mut self) -> Self {
        match &mut self.body {
            BlockBody::User { .. }
            | BlockBody::Assistant { .. }
            | BlockBody::Reasoning { .. }
            | BlockBody::Permission { .. } => {}
            BlockBody::TurnStart { engine, model, started_at: _ } => {
                engine.iter_mut().chain(model).for_each(|name| make_safe(name, Kind::Code));
            }
            BlockBody::TurnEnd {
                text,
                cost,
                outcome: _,
                duration_ms: _,
                input_tokens: _,
                output_tokens: _,
                total_tokens: _,
            } => {
                text.iter_mut().for_each(|text| make_safe(text, Kind::Lines));
                cost.iter_mut().for_each(|cost| make_safe(&mut cost.currency, Kind::Code));
            }
            BlockBody::Tool {
                tool_call_id: _,
                name,
                title,
                input,
                diff,
                preview,
                exit_code: _,
                background: _,
                status,
                truncated: _,
                bytes: _,
                result_seq: _,
                artifact: _,
            } => {
                make_safe(name, Kind::Code);
                title.iter_mut().for_each(|title| make_safe(title, Kind::Code));
                input.iter_mut().for_each(value);
                diff.iter_mut().for_each(|diff| make_safe(diff, Kind::Lines));
                preview.iter_mut().for_each(|preview| output(preview, *status));
            }
            BlockBody::Plan { steps } => {
                for step in steps {
                    make_safe(&mut step.text, Kind::Lines);
                    step.status.iter_mut().for_each(|status| make_safe(status, Kind::Sentence));
                    step.files.iter_mut().for_each(|file| make_safe(file, Kind::Code));
                }
            }
            BlockBody::Patch { files, rationale, diff, patch_id: _ } => {
                files.iter_mut().for_each(|file| make_safe(&mut file.file_path, Kind::Code));
                rationale.iter_mut().for_each(|why| make_safe(why, Kind::Lines));
                diff.iter_mut().for_each(|diff| make_safe(diff, Kind::Lines));
            }
            BlockBody::Changes { files, text, prompt_seq: _, of_revert: _, uncovered: _ } => {
                for file in files {
                    make_safe(&mut file.file_path, Kind::Code);
                    file.old_path.iter_mut().for_each(|path| make_safe(path, Kind::Code));
                }
                make_safe(text, Kind::Sentence);
            }
            BlockBody::Command { command, status } => {
                make_safe(command, Kind::Code);
                make_safe(status, Kind::Sentence);
            }
            BlockBody::Task { title, status, task_id: _, parent_id: _ }
            | BlockBody::Checkpoint { title, status, checkpoint_id: _ } => {
                make_safe(title, Kind::Sentence);
                make_safe(status, Kind::Sentence);
            }
            BlockBody::Link { label, uri: _, picture: _ } => make_safe(label, Kind::Sentence),
            BlockBody::Summary { text, success: _, details: _ } => make_safe(text, Kind::Lines),
            BlockBody::Notice { text, login, level: _, retry: _ } => {
                make_safe(text, Kind::Lines);
                // A command that could not be shown as it is typed is not there.
                for method in login.iter_mut().flat_map(|login| &mut login.methods) {
                    make_safe(&mut method.name, Kind::Sentence);
                    method.description.iter_mut().for_each(|text| make_safe(text, Kind::Sentence));
                }
            }
            BlockBody::Unknown { kind, preview } => {
                make_safe(kind, Kind::Code);
                make_safe(preview, Kind::Lines);
            }
        }
        self
    }
}

fn make_safe(text: &mut String, kind: Kind) {
    if let std::borrow::Cow::Owned(shown) = show(text, kind) {
        *text = shown;
    }
}

/// What a call gave keeps its colours. Of one that runs the rest of a colour may still come.
fn output(text: &mut String, status: ToolBlockStatus) {
    if status == ToolBlockStatus::Running {
        text.truncate(without_unfinished(text).len());
    }
    if let std::borrow::Cow::Owned(shown) = show_output(text) {
        *text = shown;
    }
}

/// Every text and name in a value.
fn value(value: &mut Value) {
    match value {
        Value::String(text) => make_safe(text, Kind::Lines),
        Value::Array(items) => items.iter_mut().for_each(self::value),
        Value::Object(map) => {
            map.values_mut().for_each(self::value);
            if map.keys().any(|name| matches!(show(name, Kind::Code), std::borrow::Cow::Owned(_))) {
                let named = std::mem::take(map).into_iter();
                *map = named
                    .map(|(name, value)| (show(&name, Kind::Code).into_owned(), value))
                    .collect::<Map<String, Value>>();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
