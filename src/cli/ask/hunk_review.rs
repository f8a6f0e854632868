//! What is decided of an edit, change by change, as `git add -p` asks.
//!
//! Owns which change is next and what a typed word decides of it and of what is left. Pure: `hunks` asks and sends.

use crate::domain::approval::{Action, Permission};
use crate::protocol::patch::{HunkDecision, PatchHunkState, ProposedPatch};

/// What may be typed, and what it decides.
const KEYS: [(&str, &str); 5] = [
    ("y", "Make this change"),
    ("n", "Leave it out"),
    ("a", "Make this and all further changes of the file"),
    ("d", "Leave out this and all further changes of the file"),
    ("q", "Leave out this and everything that is left"),
];

/// An edit of which some changes are decided.
pub(super) struct HunkReview {
    pub(super) permission: Permission,
    pub(super) patch: ProposedPatch,
    /// A decision each, in the order of the edit.
    pub(super) decided: Vec<HunkDecision>,
}

/// What follows a word.
pub(super) enum Typed {
    /// It decided something.
    Taken,
    /// It decides nothing.
    NoAnswer,
}

impl HunkReview {
    pub(super) fn new(permission: Permission, patch: ProposedPatch) -> Self {
        Self { permission, patch, decided: Vec::new() }
    }

    fn hunks(&self) -> impl Iterator<Item = (usize, &PatchHunkState)> {
        let files = self.patch.files.iter().enumerate();
        files.flat_map(|(file, of)| of.hunks.iter().map(move |hunk| (file, hunk)))
    }

    /// The change on the screen, and the place of its file. `None`: all are decided.
    pub(super) fn at(&self) -> Option<(usize, &PatchHunkState)> {
        self.hunks().nth(self.decided.len())
    }

    fn take(&mut self, accepted: bool) {
        if let Some(id) = self.at().map(|(_, hunk)| hunk.id.clone()) {
            self.decided.push(HunkDecision { id, accepted, reason: None });
        }
    }

    pub(super) fn typed(&mut self, word: &str) -> Typed {
        let Some((file, _)) = self.at() else { return Typed::NoAnswer };
        let (accepted, and_more): (bool, fn(usize, usize) -> bool) = match word {
            "y" | "yes" => (true, |_, _| false),
            "n" | "no" => (false, |_, _| false),
            "a" => (true, |now, then| now == then),
            "d" => (false, |now, then| now == then),
            "q" => (false, |_, _| true),
            _ => return Typed::NoAnswer,
        };
        self.take(accepted);
        while self.at().is_some_and(|(next, _)| and_more(file, next)) {
            self.take(accepted);
        }
        Typed::Taken
    }

    pub(super) fn accepts(&self) -> bool {
        self.decided.iter().any(|decision| decision.accepted)
    }

    /// The change under its file and its number: a title, and a diff.
    pub(super) fn drawn(&self) -> Option<(String, String)> {
        let (file, hunk) = self.at()?;
        let file = self.patch.files.get(file)?;
        let root = file.root.as_ref().map(|root| format!("{root}: ")).unwrap_or_default();
        let (number, count) = (self.decided.len() + 1, self.hunks().count());
        let title = format!("{root}{}, change {number} of {count}", file.file_path);
        let PatchHunkState { old_start, old_lines, new_start, new_lines, content, label, .. } = hunk;
        let lines = match content.is_empty() {
            true => String::new(),
            false => format!("@@ -{old_start},{old_lines} +{new_start},{new_lines} @@\n{content}"),
        };
        let title = label.as_ref().map_or(title.clone(), |label| format!("{title}: {label}"));
        Some((title, lines))
    }
}

/// Whether an edit has more than one change to decide on.
pub(super) fn has_parts(permission: &Permission) -> bool {
    if let Some(parts) = permission.parts {
        return permission.patch_id.is_some() && parts > 1;
    }
    let Action::Edit { files } = &permission.subject.action else { return false };
    let lines = files.iter().filter_map(|file| file.diff.as_deref()).flat_map(str::lines);
    let hunks = lines.filter(|line| line.starts_with("@@ ")).count();
    permission.patch_id.is_some() && !permission.subject.unknown && hunks > 1
}

/// The question under a change.
pub(super) fn question() -> String {
    let lines: String = KEYS.iter().map(|(key, label)| format!("  {key:>2}  {label}\n")).collect();
    format!("{lines}Make this change? ({}):", keys())
}

/// The keys, for a sentence.
pub(super) fn keys() -> String {
    KEYS.map(|(key, _)| key).join(", ")
}
