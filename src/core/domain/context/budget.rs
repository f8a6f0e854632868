//! How much context goes with a prompt, and what is left out when there is more.
//!
//! Owns the order: things are kept by `ContextKind`, what the user named first and the list of open files last. What does not
//! fit is cut to its beginning, else told as a link, else left out; each of that is said in a sentence.

use super::item::{ContextItem, ContextKind};
use crate::domain::cut::start_of;

/// Bytes of one prompt's context: a small model has room for it beside an answer, and no prompt becomes slow by it.
pub const CONTEXT_BYTES: usize = 64 * 1024;

/// Bytes of one thing of it.
pub(crate) const ITEM_BYTES: usize = 32 * 1024;

/// Below this a beginning says nothing.
const LEAST: usize = 1024;

/// Things that a sentence names.
const NAMED: usize = 3;

/// What is kept within `most` bytes, in order of importance, and what is said of the rest.
pub fn fit(mut items: Vec<ContextItem>, most: usize) -> (Vec<ContextItem>, Option<String>) {
    items.sort_by_key(|item| item.kind);
    let mut room = most;
    let mut kept = Vec::new();
    let (mut cut, mut dropped) = (Vec::new(), Vec::new());
    for mut item in items {
        let allowed = room.min(ITEM_BYTES);
        match item.text.take() {
            None => kept.push(item),
            Some(text) if text.len() <= allowed => {
                room -= text.len();
                item.text = Some(text);
                kept.push(item);
            }
            Some(text) if allowed >= LEAST => {
                let short = beginning(&text, allowed);
                room = room.saturating_sub(short.len());
                cut.push(item.label.clone());
                item.text = Some(short);
                item.is_part = true;
                kept.push(item);
            }
            Some(_) if item.uri.is_some() && item.kind != ContextKind::Selection => {
                cut.push(item.label.clone());
                kept.push(item);
            }
            Some(_) => dropped.push(item.label),
        }
    }
    let said = [said("Only the beginning of", &cut), said("Nothing of", &dropped)];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (kept, (!said.is_empty()).then(|| said.join(" ")))
}

/// Whole lines of at most `most` bytes, and a last line that says that there is more.
fn beginning(text: &str, most: usize) -> String {
    const MORE: &str = "⋯\n";
    let start = start_of(text, most.saturating_sub(MORE.len()));
    let start = start.rfind('\n').map_or(start, |end| &start[..=end]);
    let gap = if start.ends_with('\n') { "" } else { "\n" };
    let mut short = format!("{start}{gap}{MORE}");
    short.truncate(short.len().min(most));
    short
}

fn said(what: &str, labels: &[String]) -> Option<String> {
    let first: Vec<String> = labels.iter().take(NAMED).map(|label| format!("`{label}`")).collect();
    let more = match labels.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!first.is_empty()).then(|| {
        let names = first.join(", ");
        format!(
            "{what} {names}{more} went with the prompt, since its context may have {} KiB.",
            CONTEXT_BYTES / 1024
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::item::tests::item;
    use super::*;

    #[test]
    fn what_was_named_is_kept_and_what_is_open_goes_first() {
        let long = "a line\n".repeat(200);
        let items = vec![
            item(ContextKind::Git, "git", Some(&long)),
            item(ContextKind::File, "a.rs", Some(&long)),
            item(ContextKind::Selection, "a.rs:1-2", Some("marked\n")),
            item(ContextKind::OpenEditors, "2 files", None),
        ];
        let (kept, note) = fit(items, 1_500);
        let kept: Vec<(ContextKind, usize)> = kept.iter().map(|item| (item.kind, item.bytes())).collect();
        assert_eq!(
            kept,
            [
                (ContextKind::File, 1_400),
                (ContextKind::Selection, 7),
                (ContextKind::Git, 0),
                (ContextKind::OpenEditors, 0),
            ]
        );
        assert_eq!(
            note.as_deref(),
            Some("Only the beginning of `git` went with the prompt, since its context may have 64 KiB.")
        );
    }

    #[test]
    fn a_long_thing_is_cut_at_a_line_and_says_so() {
        let (kept, _) = fit(vec![item(ContextKind::File, "a.rs", Some(&"0123456789\n".repeat(400)))], 2_000);
        let text = kept[0].text.clone().unwrap_or_default();
        assert!(text.ends_with("0123456789\n⋯\n") && text.len() <= 2_000 && kept[0].is_part);
        assert_eq!(fit(Vec::new(), 10), (Vec::new(), None));
    }

    proptest! {
        #[test]
        fn the_budget_is_never_exceeded(sizes in prop::collection::vec(0..5_000_usize, 0..12), most in 0..9_000_usize) {
            let items = sizes.iter().map(|size| item(ContextKind::File, "é", Some(&"é\n".repeat(*size / 3)))).collect();
            let (kept, _) = fit(items, most);
            prop_assert!(kept.iter().map(ContextItem::bytes).sum::<usize>() <= most);
        }
    }
}
