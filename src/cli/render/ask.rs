//! What is asked of the user, and what can be answered.
//!
//! Owns the text of a request and the key of each answer. Nothing of what is asked is cut here, since an allowing answer covers
//! all of it.

use serde_json::Value;

use super::super::terminal::{Tone, marked, marked_diff, visible_code, visible_line};
use super::{RenderPiece, Renderer};
use crate::domain::approval::{
    Action, ChangeKind, ChosenRule, Decision, FileChange, OfferedRule, Permission, PermissionOption,
    PermissionOptionKind, RuleHolder, RuleScope,
};

/// What is said of a request whose engine does not tell all of what it would do.
const UNKNOWN: &str = "The agent did not tell exactly what it would do, so it can be allowed once only.";

/// Columns of the name of who keeps a rule.
const KEEPER: usize = 60;

/// One answer, and the key for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Choice {
    /// What is typed.
    pub key: String,
    /// What it decides.
    pub decision: Decision,
    /// The engine's id of it; `None` for a denial that the engine did not offer.
    pub option_id: Option<String>,
    /// What it is called, and which rule it saves; safe to show.
    pub label: String,
}

/// What can be answered, in the engine's own words: `y` for the narrowest that allows, `n` for the first that denies, `a` for the
/// first that saves a rule, and numbers for the rest. A denial is always there.
pub(in crate::cli) fn choices(permission: &Permission) -> Vec<Choice> {
    let (mut taken, mut number) = (Vec::new(), 0);
    let mut choices: Vec<Choice> = Vec::new();
    for option in &permission.options {
        let (decision, letter) = match option.kind {
            PermissionOptionKind::AllowOnce => (Decision::AllowOnce, "y"),
            PermissionOptionKind::AllowRule => (Decision::AllowRule, "a"),
            PermissionOptionKind::Deny => (Decision::Deny, "n"),
        };
        let key = if taken.contains(&letter) {
            number += 1;
            number.to_string()
        } else {
            taken.push(letter);
            letter.to_owned()
        };
        choices.push(Choice {
            key,
            decision,
            option_id: Some(option.option_id.clone()),
            label: label(option),
        });
    }
    if !taken.contains(&"n") {
        choices.push(Choice {
            key: "n".to_owned(),
            decision: Decision::Deny,
            option_id: None,
            label: "Deny".to_owned(),
        });
    }
    choices
}

/// The engine's own label, and what it saves.
fn label(option: &PermissionOption) -> String {
    let label = marked(&option.label);
    match &option.rule {
        Some(rule) => format!("{label} — {}", saves(rule, &label)),
        None => label.into_owned(),
    }
}

/// Which rule is saved and where it holds.
fn saves(rule: &OfferedRule, label: &str) -> String {
    let place = match rule.scope {
        Some(RuleScope::Workspace) => "for this workspace and later sessions",
        Some(RuleScope::Session) => "for this session",
        None => return kept_by_agent(rule, label),
    };
    let place = match rule.holder {
        RuleHolder::Agent => return kept_by_agent(rule, label),
        RuleHolder::Engine => format!("kept by the engine{}, {place}", lies(rule.kept_in.as_deref())),
        RuleHolder::Server => place.to_owned(),
    };
    let pattern = marked(&rule.pattern);
    if label.contains(&*pattern) {
        format!("a rule, {place}")
    } else {
        format!("saves the rule `{pattern}`, {place}")
    }
}

/// A rule that an agent keeps is named by what its option says; a long label is cut, and the rule is not.
fn kept_by_agent(rule: &OfferedRule, label: &str) -> String {
    let pattern = marked(&rule.pattern);
    if label.contains(&*pattern) {
        "a rule that the agent keeps".to_owned()
    } else {
        format!("a rule that the agent keeps: `{pattern}`")
    }
}

/// In which file of the workspace a rule is kept, where that is known.
fn lies(kept_in: Option<&str>) -> String {
    kept_in.map(|path| format!(" in {}", visible_code(path))).unwrap_or_default()
}

/// What became of a request that was allowed with a rule.
pub(in crate::cli) fn kept(rule: &ChosenRule) -> String {
    let keeper = match (&rule.kept_by, rule.holder) {
        (Some(keeper), _) => visible_line(keeper, KEEPER),
        (None, RuleHolder::Server) => "the server".to_owned(),
        (None, RuleHolder::Engine) => "the engine".to_owned(),
        (None, RuleHolder::Agent) => "the agent".to_owned(),
    };
    let place = match rule.scope {
        Some(RuleScope::Session) => " for this session",
        Some(RuleScope::Workspace) => " for this workspace",
        None => "",
    };
    let back = if rule.holder == RuleHolder::Server { "" } else { "; take it back there" };
    format!("allowed, and kept by {keeper}{}{place}{back}.", lies(rule.kept_in.as_deref()))
}

impl Renderer {
    /// What is asked: the title, then the change, the command, the arguments or the question, then what can be answered.
    pub(in crate::cli) fn permission(&mut self, permission: &Permission) -> Vec<RenderPiece> {
        let (err, subject) = (self.seen.err, &permission.subject);
        let mut lines = err.paint(Tone::Warn, &format!("Permission needed: {}", marked(&permission.title)));
        if let Some(reason) = &subject.reason {
            lines.push_str(&indented("why: ", &marked(reason)));
        }
        match &subject.action {
            Action::Edit { files } => files.iter().for_each(|file| self.file(&mut lines, file)),
            Action::Command { command, cwd, env } => {
                lines.push_str(&indented("command: ", &marked(command)));
                lines.push_str(&indented("in: ", &marked(cwd)));
                for (name, value) in env.iter().flatten() {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    lines.push_str(&indented("with: ", &marked(&format!("{name}={value}"))));
                }
            }
            Action::Tool { name, server, input } => {
                lines.push_str(&indented("tool: ", &marked(name)));
                if let Some(server) = server {
                    lines.push_str(&indented("of the server: ", &marked(server)));
                }
                match input {
                    Some(Value::Object(fields)) => {
                        for (name, value) in fields {
                            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                            lines.push_str(&indented(&format!("{name}: "), &marked(&value)));
                        }
                    }
                    Some(other) => lines.push_str(&indented("with: ", &marked(&other.to_string()))),
                    None => {}
                }
            }
            Action::Question { text, input } => {
                if marked(text) != marked(&permission.title) {
                    lines.push_str(&indented("question: ", &marked(text)));
                }
                if let Some(url) = input.as_ref().and_then(|form| form.url.as_deref()) {
                    lines.push_str(&indented("address: ", &marked(url)));
                }
            }
        }
        if subject.truncated {
            lines.push_str(&indented("", "This is not all of it."));
        }
        if subject.unknown {
            lines.push_str(&indented("", UNKNOWN));
        }
        let mut pieces = Vec::new();
        self.part(&mut pieces);
        self.note(&mut pieces, lines);
        pieces
    }

    /// One change of an edit that is decided change by change.
    pub(in crate::cli) fn change(&mut self, title: &str, diff: &str) -> Vec<RenderPiece> {
        let err = self.seen.err;
        let mut lines = err.paint(Tone::Warn, &marked(title));
        lines.push('\n');
        lines.push_str(marked_diff(err, diff).trim_end_matches('\n'));
        let mut pieces = Vec::new();
        self.part(&mut pieces);
        self.note(&mut pieces, lines);
        pieces
    }

    fn file(&self, lines: &mut String, file: &FileChange) {
        let what = match file.change {
            ChangeKind::Modify => "change: ",
            ChangeKind::Create => "new file: ",
            ChangeKind::Delete => "delete: ",
            ChangeKind::Rename => "rename: ",
        };
        let root = file.root.as_ref().map(|root| format!("{root}: ")).unwrap_or_default();
        let from = file.old_path.as_ref().map(|old| format!("{old} → ")).unwrap_or_default();
        let counts = match (file.added, file.removed) {
            (Some(added), Some(removed)) => format!(" (+{added} −{removed})"),
            (Some(added), None) => format!(" (+{added})"),
            (None, _) => String::new(),
        };
        lines.push_str(&indented(
            what,
            &format!("{}{counts}", marked(&format!("{root}{from}{}", file.file_path))),
        ));
        if let Some(diff) = &file.diff
            && (!self.seen.one_screen || self.shown_diff.as_ref() != Some(diff))
        {
            lines.push('\n');
            lines.push_str(marked_diff(self.seen.err, diff).trim_end_matches('\n'));
        }
    }
}

/// `text`, safe to show, after a label, its further lines under its first, so that no line of it can pass for one of ours.
fn indented(label: &str, text: &str) -> String {
    format!("\n  {label}{}", text.trim_end().replace('\n', "\n  | "))
}
