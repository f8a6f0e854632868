//! Taking a change back out of a text that went on since.
//!
//! Owns which hunks a change has, how each stands in the text as it is now, and the text without those that are taken back. Three
//! texts are compared line by line: the one before the change, the one after it, and the one that is there now. Where somebody
//! touched the lines of a hunk meanwhile it is a conflict. Never guesses, never reads a file.

use std::ops::Range;

use imara_diff::InternedInput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::changes::{Change, changes};
use super::diff::{CONTEXT, NO_NEWLINE, hunks};
use super::text::hex;

/// How a hunk of a change stands in the text that is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HunkStanding {
    /// Its lines are there as the change left them.
    AsLeft,
    /// Somebody changed its lines since.
    MovedOn,
    /// The lines that were there before it are there again.
    Reverted,
}

/// One hunk of what changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedHunk {
    /// Made of what it changes, so that it stays while its neighbours come and go.
    pub id: String,
    /// First line before, from 1; of none the line before.
    pub old_start: u64,
    /// Lines before, those around it included.
    pub old_lines: u64,
    /// First line after.
    pub new_start: u64,
    /// Lines after.
    pub new_lines: u64,
    /// Its lines with their ` `, `-` or `+`.
    pub content: String,
    /// The stretches of lines that differ.
    stretches: Vec<Change>,
}

/// A hunk in the text that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingHunk {
    /// How it stands.
    pub standing: HunkStanding,
    /// The lines that it put there, from 0; of a deletion the place between two lines. Only as it was left.
    pub at: Option<Range<u32>>,
}

/// A hunk that cannot be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The hunk.
    pub id: String,
    /// First line in the text that is there now, from 1.
    pub line: u64,
    /// What stands there now.
    pub yours: String,
    /// What would stand there.
    pub theirs: String,
}

/// The three texts, compared.
pub struct TakeBack<'a> {
    before: Vec<&'a str>,
    after: Vec<&'a str>,
    now: Vec<&'a str>,
    hunks: Vec<ChangedHunk>,
    /// From what the change left to what is there now.
    since: Vec<Change>,
    /// From what was there before to what is there now.
    against: Vec<Change>,
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn compared(before: &str, after: &str) -> Vec<Change> {
    changes(&InternedInput::new(before, after)).changes
}

/// The hunks of a change of a file: as `unified_diff` writes them, each with its name.
pub(crate) fn changed_hunks(root: Option<&str>, path: &str, before: &str, after: &str) -> Vec<ChangedHunk> {
    let input = InternedInput::new(before, after);
    let found = changes(&input).changes;
    let mut groups: Vec<Vec<Change>> = Vec::new();
    for change in &found {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| change.0.start - last.0.end <= 2 * CONTEXT) => {
                group.push(change.clone());
            }
            Some(_) | None => groups.push(vec![change.clone()]),
        }
    }
    let mut named: Vec<ChangedHunk> = Vec::new();
    for (hunk, stretches) in hunks(&input, &found).into_iter().zip(groups) {
        let mut nth = 0;
        let mut id = hunk_id(root, path, &hunk.content, nth);
        while named.iter().any(|known| known.id == id) {
            nth += 1;
            id = hunk_id(root, path, &hunk.content, nth);
        }
        named.push(ChangedHunk {
            id,
            old_start: hunk.old_start,
            old_lines: hunk.old_lines,
            new_start: hunk.new_start,
            new_lines: hunk.new_lines,
            content: hunk.content,
            stretches,
        });
    }
    named
}

/// Of the file and of the lines that change and stay, and not of their numbers, which others move. A hunk of a proposal is
/// named the same way.
fn hunk_id(root: Option<&str>, path: &str, content: &str, nth: u32) -> String {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    part(root.unwrap_or_default());
    part(path);
    let mut lines = content.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let (mark, mut text) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
        if lines.next_if(|next| next.starts_with(NO_NEWLINE)).is_some() {
            text = text.strip_suffix('\n').unwrap_or(text);
        }
        part(mark);
        part(text);
    }
    hash.update(nth.to_le_bytes());
    hex(&hash.finalize()[..8])
}

impl<'a> TakeBack<'a> {
    /// Compares the text before a change, the text after it, and what is there now.
    pub fn compare(root: Option<&str>, path: &str, before: &'a str, after: &'a str, now: &'a str) -> Self {
        Self {
            hunks: changed_hunks(root, path, before, after),
            since: if after == now { Vec::new() } else { compared(after, now) },
            against: if before == now { Vec::new() } else { compared(before, now) },
            before: lines(before),
            after: lines(after),
            now: lines(now),
        }
    }

    /// The hunks of the change, in the order of the file.
    pub fn hunks(&self) -> &[ChangedHunk] {
        &self.hunks
    }

    /// How a hunk stands.
    pub fn standing(&self, hunk: &ChangedHunk) -> StandingHunk {
        let all = |wanted| hunk.stretches.iter().all(|stretch| self.stretch(stretch) == wanted);
        let standing = if all(HunkStanding::AsLeft) {
            HunkStanding::AsLeft
        } else if all(HunkStanding::Reverted) {
            HunkStanding::Reverted
        } else {
            HunkStanding::MovedOn
        };
        let at = match (standing, hunk.stretches.first(), hunk.stretches.last()) {
            (HunkStanding::AsLeft, Some(first), Some(last)) => {
                Some(self.place(&first.1).start..self.place(&last.1).end)
            }
            (_, _, _) => None,
        };
        StandingHunk { standing, at }
    }

    fn stretch(&self, (old, new): &Change) -> HunkStanding {
        if untouched(new, &self.since) {
            HunkStanding::AsLeft
        } else if untouched(old, &self.against) {
            HunkStanding::Reverted
        } else {
            HunkStanding::MovedOn
        }
    }

    /// Where lines of the text after the change, which nobody touched since, are now.
    fn place(&self, new: &Range<u32>) -> Range<u32> {
        let mut moved = 0_i64;
        for (was, is) in &self.since {
            // What touches an empty range is not passed over; of a line put right before a range the range moves.
            if was.end <= new.start {
                moved += i64::from(is.end - is.start) - i64::from(was.end - was.start);
            }
        }
        let shift = |line: u32| u32::try_from(i64::from(line) + moved).unwrap_or_default();
        shift(new.start)..shift(new.end)
    }

    /// The text that is there now without these hunks. What is reverted already stays so.
    ///
    /// # Errors
    /// Each hunk whose lines somebody touched since, with both sides.
    pub fn without(&self, taken: impl Fn(&ChangedHunk) -> bool) -> Result<String, Vec<Clash>> {
        let taken: Vec<&ChangedHunk> = self.hunks.iter().filter(|hunk| taken(hunk)).collect();
        let is_clash = |hunk: &&&ChangedHunk| {
            hunk.stretches.iter().any(|stretch| self.stretch(stretch) == HunkStanding::MovedOn)
        };
        let clashes: Vec<Clash> = taken.iter().filter(is_clash).map(|hunk| self.clash(hunk)).collect();
        if clashes.is_empty() { Ok(self.rewritten(taken.into_iter())) } else { Err(clashes) }
    }

    /// The text that is there now without as much of the change as still stands in it.
    pub fn without_what_stands(&self) -> String {
        self.rewritten(self.hunks.iter())
    }

    fn rewritten<'h>(&self, taken: impl Iterator<Item = &'h ChangedHunk>) -> String {
        let mut text = String::new();
        let mut done = 0;
        for (old, new) in taken.flat_map(|hunk| &hunk.stretches) {
            if self.stretch(&(old.clone(), new.clone())) != HunkStanding::AsLeft {
                continue;
            }
            let place = self.place(new);
            self.copy(done..place.start, &mut text);
            for line in &self.before[old.start as usize..old.end as usize] {
                text.push_str(line);
            }
            done = place.end;
            // The last line of a file may have no end; in the middle of one it needs it.
            if !text.is_empty() && !text.ends_with('\n') && (done as usize) < self.now.len() {
                text.push_str(if self.after.iter().any(|line| line.ends_with("\r\n")) {
                    "\r\n"
                } else {
                    "\n"
                });
            }
        }
        self.copy(done..self.now.len() as u32, &mut text);
        text
    }

    fn copy(&self, range: Range<u32>, into: &mut String) {
        let range = range.start as usize..(range.end as usize).min(self.now.len());
        into.extend(self.now.get(range).unwrap_or_default().iter().copied());
    }

    fn clash(&self, hunk: &ChangedHunk) -> Clash {
        let ends = |side: fn(&Change) -> &Range<u32>| {
            let first = hunk.stretches.first().map_or(0, |stretch| side(stretch).start);
            first..hunk.stretches.last().map_or(0, |stretch| side(stretch).end)
        };
        let (old, new) = (ends(|stretch| &stretch.0), ends(|stretch| &stretch.1));
        let place = self.about(&new);
        let text = |lines: &[&str], range: Range<u32>| {
            let range = range.start as usize..(range.end as usize).min(lines.len());
            lines.get(range).unwrap_or_default().concat()
        };
        Clash {
            id: hunk.id.clone(),
            line: u64::from(place.start) + 1,
            yours: text(&self.now, place),
            theirs: text(&self.before, old),
        }
    }

    /// What stands now where these lines were, with whatever took their place.
    fn about(&self, new: &Range<u32>) -> Range<u32> {
        let mut place = new.clone();
        let (mut from, mut to) = (None::<u32>, None::<u32>);
        let mut moved = 0_i64;
        for (was, is) in &self.since {
            if touches(was, new) {
                from = from.or(Some(if was.start <= new.start {
                    is.start
                } else {
                    u32::try_from(i64::from(new.start) + moved).unwrap_or_default()
                }));
                let behind = new.end.saturating_sub(was.end);
                to = Some(is.end + behind);
            }
            if was.end <= new.start {
                moved += i64::from(is.end - is.start) - i64::from(was.end - was.start);
            }
        }
        if let (Some(from), Some(to)) = (from, to) {
            place = from..to.max(from);
        }
        place
    }
}

fn untouched(range: &Range<u32>, changes: &[Change]) -> bool {
    !changes.iter().any(|(was, _)| touches(was, range))
}

/// Whether a change of these lines is one of those. Lines that were put right before or behind a stretch are not in it; of a
/// stretch without lines, and so without an inside, they are.
fn touches(was: &Range<u32>, range: &Range<u32>) -> bool {
    if range.is_empty() {
        return was.start <= range.start && range.start <= was.end;
    }
    if was.is_empty() {
        return range.start < was.start && was.start < range.end;
    }
    was.start < range.end && range.start < was.end
}

#[cfg(test)]
#[path = "take_back_tests.rs"]
mod tests;
