//! What is decided of an edit, change by change, as `git add -p` asks.
//!
//! Owns which change is on the screen and what a typed word decides of it and of what is left. Pure: `hunks` asks and sends.

use crate::domain::approval::{Action, Permission};
use crate::domain::edits::patch;
use crate::protocol::patch::{HunkDecision, PatchHunkState, ProposedPatch};

/// What may be typed, and what it does.
const KEYS: [(&str, &str); 9] = [
    ("y", "Make this change"),
    ("n", "Leave it out"),
    ("a", "Make this and all further changes of the file"),
    ("d", "Leave out this and all further changes of the file"),
    ("q", "Leave out this and everything that is left"),
    ("e", "Edit this change, and make it as edited"),
    ("j", "Leave it undecided for now, and show the next one that is"),
    ("k", "Go back to the change before"),
    ("?", "Show this list"),
];

/// An edit of which some changes are decided.
pub(super) struct HunkReview {
    pub(super) permission: Permission,
    pub(super) patch: ProposedPatch,
    /// A place for each change, in the order of the edit.
    decided: Vec<Option<HunkDecision>>,
    /// The change on the screen.
    at: usize,
    /// What an editor made of it that could not be taken: where it goes on.
    draft: Option<String>,
}

/// What follows a word.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// Another change is on the screen, or all are decided.
    Taken,
    /// The list of keys is wanted.
    Help,
    /// The change is to be edited.
    Edit,
    /// There is no change there to go to.
    Nowhere,
    /// It is no answer.
    NoAnswer,
}

impl HunkReview {
    pub(super) fn new(permission: Permission, patch: ProposedPatch) -> Self {
        let count = patch.files.iter().map(|file| file.hunks.len()).sum();
        Self { permission, patch, decided: (0..count).map(|_| None).collect(), at: 0, draft: None }
    }

    fn hunks(&self) -> impl Iterator<Item = (usize, &PatchHunkState)> {
        let files = self.patch.files.iter().enumerate();
        files.flat_map(|(file, of)| of.hunks.iter().map(move |hunk| (file, hunk)))
    }

    pub(super) fn count(&self) -> usize {
        self.decided.len()
    }

    pub(super) fn is_decided(&self) -> bool {
        self.decided.iter().all(Option::is_some)
    }

    /// The decisions, once all are taken.
    pub(super) fn decisions(self) -> (Permission, ProposedPatch, Vec<HunkDecision>) {
        (self.permission, self.patch, self.decided.into_iter().flatten().collect())
    }

    /// The change on the screen, and the place of its file.
    fn shown(&self) -> Option<(usize, &PatchHunkState)> {
        self.hunks().nth(self.at)
    }

    fn take(&mut self, at: usize, accepted: bool) {
        let id = self.hunks().nth(at).map(|(_, hunk)| hunk.id.clone());
        if let (Some(id), Some(place)) = (id, self.decided.get_mut(at)) {
            *place = Some(HunkDecision { id, accepted, reason: None, content: None });
        }
    }

    /// On to the next change without a decision, from the first one again behind the last.
    fn go_on(&mut self) {
        let count = self.count();
        let mut following = (self.at + 1..count).chain(0..=self.at);
        if let Some(next) = following.find(|at| self.decided.get(*at).is_some_and(Option::is_none)) {
            self.at = next;
        }
        self.draft = None;
    }

    pub(super) fn typed(&mut self, word: &str) -> Typed {
        let Some((file, _)) = self.shown() else { return Typed::NoAnswer };
        let (accepted, and_more): (bool, fn(usize, usize) -> bool) = match word {
            "y" | "yes" => (true, |_, _| false),
            "n" | "no" => (false, |_, _| false),
            "a" => (true, |now, then| now == then),
            "d" => (false, |now, then| now == then),
            "q" => (false, |_, _| true),
            "e" => return Typed::Edit,
            "?" => return Typed::Help,
            "j" if self.decided.iter().filter(|one| one.is_none()).count() < 2 => return Typed::Nowhere,
            "k" if self.at == 0 => return Typed::Nowhere,
            "j" => {
                self.go_on();
                return Typed::Taken;
            }
            "k" => {
                (self.at, self.draft) = (self.at - 1, None);
                return Typed::Taken;
            }
            _ => return Typed::NoAnswer,
        };
        self.take(self.at, accepted);
        let files: Vec<usize> = self.hunks().map(|(file, _)| file).collect();
        for (at, then) in files.into_iter().enumerate().skip(self.at + 1) {
            // What was decided by itself stays.
            if and_more(file, then) && self.decided.get(at).is_some_and(Option::is_none) {
                self.take(at, accepted);
            }
        }
        if word == "q" {
            let left: Vec<usize> = (0..self.count()).filter(|at| self.decided[*at].is_none()).collect();
            left.into_iter().for_each(|at| self.take(at, false));
        }
        self.go_on();
        Typed::Taken
    }

    /// What an editor begins with: the change under a few lines that say what may be done with it.
    pub(super) fn to_edit(&self) -> Option<String> {
        let (title, diff) = self.drawn()?;
        let (header, content) = diff.split_once('\n')?;
        let content = self.draft.as_deref().unwrap_or(content);
        let end = if content.ends_with('\n') { "" } else { "\n" };
        Some(format!(
            "# {title}: {header}\n{content}{end}# ---\n\
             # To keep a line that would go, make its '-' a ' '. To leave out a line that would come, delete it.\n\
             # Lines that begin with a ' ' or a '-' must stay otherwise: they say where the change belongs.\n\
             # Lines that begin with a '#' are left out. Delete all others, and the change is as it was.\n"
        ))
    }

    /// What an editor made of the change on the screen. `Ok(true)`: it is made as edited; `Ok(false)`: it is as it was, and
    /// waits for its answer. An `Err` is one sentence, and the next edit goes on from there.
    pub(super) fn edited(&mut self, text: &str) -> Result<bool, &'static str> {
        let is_left = |line: &&str| !line.starts_with('#');
        let content: String = text.split_inclusive('\n').filter(is_left).collect();
        let Some((_, hunk)) = self.shown() else { return Ok(false) };
        if content.trim().is_empty() {
            self.draft = None;
            return Ok(false);
        }
        let (id, as_shown) = (hunk.id.clone(), hunk_text(hunk));
        let proposed = patch::parse(&as_shown).ok().and_then(|mut files| files.pop()?.hunks.pop());
        let is_other = match proposed.as_ref().map(|proposed| (proposed, proposed.edited(&content))) {
            Some((proposed, Ok(edited))) => edited.lines != proposed.lines,
            Some((_, Err(why))) => {
                self.draft = Some(content);
                return Err(why);
            }
            // The server knows the hunk as its engine wrote it, and decides.
            None => true,
        };
        let content = is_other.then_some(content);
        if let Some(place) = self.decided.get_mut(self.at) {
            *place = Some(HunkDecision { id, accepted: true, reason: None, content });
        }
        self.go_on();
        Ok(true)
    }

    pub(super) fn accepts(&self) -> bool {
        self.decided.iter().flatten().any(|decision| decision.accepted)
    }

    /// The change under its file and its number: a title, and a diff.
    pub(super) fn drawn(&self) -> Option<(String, String)> {
        let (file, hunk) = self.shown()?;
        let file = self.patch.files.get(file)?;
        let root = file.root.as_ref().map(|root| format!("{root}: ")).unwrap_or_default();
        let before = match self.decided.get(self.at)? {
            Some(HunkDecision { content: Some(_), .. }) => " (edited so far, and made so)",
            Some(HunkDecision { accepted: true, .. }) => " (made, so far)",
            Some(_) => " (left out, so far)",
            None => "",
        };
        let title = format!("{root}{}, change {} of {}{before}", file.file_path, self.at + 1, self.count());
        let title = hunk.label.as_ref().map_or(title.clone(), |label| format!("{title}: {label}"));
        Some((title, hunk_text(hunk)))
    }

    /// The keys that do something here.
    fn keys(&self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        let open = self.decided.iter().filter(|one| one.is_none()).count();
        let (is_first, is_last) = (self.at == 0, open < 2);
        KEYS.iter().filter(move |(key, _)| !(*key == "k" && is_first || *key == "j" && is_last))
    }

    /// The question under a change.
    pub(super) fn question(&self) -> String {
        let keys: Vec<&str> = self.keys().map(|(key, _)| *key).collect();
        format!("({}/{}) Make this change [{}]?", self.at + 1, self.count(), keys.join(","))
    }

    /// What each key does.
    pub(super) fn help(&self) -> String {
        let lines: Vec<String> = self.keys().map(|(key, label)| format!("  {key:>2}  {label}")).collect();
        lines.join("\n")
    }
}

fn hunk_text(hunk: &PatchHunkState) -> String {
    let PatchHunkState { old_start, old_lines, new_start, new_lines, content, .. } = hunk;
    if content.is_empty() {
        return String::new();
    }
    format!("@@ -{old_start},{old_lines} +{new_start},{new_lines} @@\n{content}")
}

/// How many changes an edit has to decide on.
pub(super) fn parts(permission: &Permission) -> usize {
    if let Some(parts) = permission.parts {
        return usize::try_from(parts).unwrap_or(usize::MAX);
    }
    let Action::Edit { files } = &permission.subject.action else { return 0 };
    if permission.patch_id.is_none() || permission.subject.unknown {
        return 0;
    }
    let lines = files.iter().filter_map(|file| file.diff.as_deref()).flat_map(str::lines);
    lines.filter(|line| line.starts_with("@@ ")).count()
}

#[cfg(test)]
#[path = "hunk_review_tests.rs"]
mod tests;
