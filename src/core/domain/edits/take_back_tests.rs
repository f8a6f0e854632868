//! What taking a change back comes to, also beside later changes.

use proptest::prelude::*;

use super::*;
use crate::domain::approval::{Action, FileChange, Proposal, Subject};

fn all(before: &str, after: &str, now: &str) -> Result<String, Vec<Clash>> {
    TakeBack::compare(None, "a", before, after, now).without(|_| true)
}

fn standings(before: &str, after: &str, now: &str) -> Vec<HunkStanding> {
    let compared = TakeBack::compare(None, "a", before, after, now);
    compared.hunks().iter().map(|hunk| compared.standing(hunk).standing).collect()
}

#[test]
fn what_was_left_as_it_was_made_comes_back_and_what_is_back_stays_so() {
    let (before, after) = ("a\nb\nc\n", "a\nB\nc\nd\n");
    assert_eq!(standings(before, after, after), [HunkStanding::AsLeft]);
    assert_eq!(all(before, after, after).as_deref(), Ok(before));
    assert_eq!(standings(before, after, before), [HunkStanding::Reverted]);
    assert_eq!(all(before, after, before).as_deref(), Ok(before));
}

#[test]
fn a_users_later_lines_stay_where_they_are() {
    // Given a change in the middle, and lines that the user put at both ends and right behind it
    let (before, after) = ("1\n2\n3\n4\n", "1\n2\nthree\n4\n");
    let now = "0\n1\n2\nthree\nmine\n4\n5\n";
    assert_eq!(all(before, after, now).as_deref(), Ok("0\n1\n2\n3\nmine\n4\n5\n"));
    let compared = TakeBack::compare(None, "a", before, after, now);
    assert_eq!(compared.standing(&compared.hunks()[0]).at, Some(3..4));
}

#[test]
fn a_line_that_somebody_changed_is_a_conflict_that_shows_both_sides() {
    let clashes = all("1\n2\n3\n", "1\ntwo\n3\n", "0\n1\nzwei\n3\n").unwrap_err();
    let [clash] = clashes.as_slice() else { panic!("{clashes:?}") };
    assert_eq!((clash.line, clash.yours.as_str(), clash.theirs.as_str()), (3, "zwei\n", "2\n"));
}

#[test]
fn lines_put_where_lines_were_taken_out_are_a_conflict() {
    // Nobody can know on which side of them the old lines belong.
    assert!(all("1\n2\n3\n", "1\n3\n", "1\nmine\n3\n").is_err());
    assert_eq!(all("1\n2\n3\n", "1\n3\n", "1\n3\nmine\n").as_deref(), Ok("1\n2\n3\nmine\n"));
}

#[test]
fn a_last_line_without_an_end_gets_one_when_lines_stand_behind_it() {
    assert_eq!(all("a\nb", "a\nB\n", "a\nB\nc\n").as_deref(), Ok("a\nb\nc\n"));
    assert_eq!(all("a\r\nb", "a\r\nB\r\n", "a\r\nB\r\nc\r\n").as_deref(), Ok("a\r\nb\r\nc\r\n"));
    assert_eq!(all("a\nb", "a\nB", "a\nB").as_deref(), Ok("a\nb"));
}

#[test]
fn a_hunk_has_the_same_name_as_in_the_proposal_of_the_edit() {
    let old: String = (1..40).map(|line| format!("{line}\n")).collect();
    let new = old.replace("\n3\n", "\nthree\n").replace("\n30\n", "\n");
    let change = FileChange::of_texts("src/a.rs", Some(&old), &new);
    let proposal = Proposal::of(&Subject::new(Action::Edit { files: vec![change] })).unwrap();
    let proposed: Vec<String> = proposal.hunks().map(|hunk| hunk.id.clone()).collect();
    let changed: Vec<String> =
        changed_hunks(None, "src/a.rs", &old, &new).into_iter().map(|hunk| hunk.id).collect();
    assert_eq!(changed.len(), 2);
    assert_eq!(changed, proposed);
}

/// A text of places ten lines apart, so that each change of one is a hunk of its own.
fn places(count: usize, line_end: &str, bare: bool, line: &dyn Fn(usize, usize) -> Vec<String>) -> String {
    let mut text = String::new();
    for place in 0..count {
        for at in 0..10 {
            for line in line(place, at) {
                text.push_str(&line);
                text.push_str(line_end);
            }
        }
    }
    if bare {
        text.truncate(text.len().saturating_sub(line_end.len()));
    }
    text
}

/// What happens at a place.
#[derive(Debug, Clone, Copy)]
enum Made {
    Nothing,
    Replaced,
    Inserted,
    Deleted,
}

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![Just(Made::Nothing), Just(Made::Replaced), Just(Made::Inserted), Just(Made::Deleted)]
}

/// Line 5 of each place, after what was made there.
fn line(made: Made, place: usize, at: usize) -> Vec<String> {
    let own = format!("{place}.{at}");
    match (at, made) {
        (5, Made::Replaced) => vec![format!("new {own}")],
        (5, Made::Inserted) => vec![own.clone(), format!("more {own}")],
        (5, Made::Deleted) => vec![],
        (_, _) => vec![own],
    }
}

proptest! {
    /// Applied and taken back is what it was before; a user's edits of other lines stay in it, and what is kept stays.
    #[test]
    fn taken_back_is_what_it_was_with_the_users_own_edits_and_what_is_kept(
        turns in proptest::collection::vec((made(), any::<bool>(), any::<bool>()), 1..8),
        line_end in prop_oneof![Just("\n"), Just("\r\n")],
        bare in any::<bool>(),
    ) {
        // Given what the turn made, where the user edited since (line 1 of a place), and what is kept
        let mine = |edited: bool, place: usize, at: usize, lines: Vec<String>| match (at, edited) {
            (1, true) => vec![format!("mine {place}")],
            (_, _) => lines,
        };
        let text = |at: &dyn Fn(usize, usize) -> Vec<String>| places(turns.len(), line_end, bare, at);
        let before = text(&|place, at| line(Made::Nothing, place, at));
        let after = text(&|place, at| line(turns[place].0, place, at));
        let now = text(&|place, at| mine(turns[place].1, place, at, line(turns[place].0, place, at)));
        let compared = TakeBack::compare(None, "a", &before, &after, &now);
        let hunk_places: Vec<usize> = (0..turns.len()).filter(|place| !matches!(turns[*place].0, Made::Nothing)).collect();
        prop_assert_eq!(compared.hunks().len(), hunk_places.len());
        let place_of = |id: &str| hunk_places[compared.hunks().iter().position(|hunk| hunk.id == id).unwrap()];
        // When what is not kept is taken back
        let back = compared.without(|hunk| !turns[place_of(&hunk.id)].2);
        // Then the file is what it was, with the user's lines and what is kept
        let wanted = text(&|place, at| {
            let (what, edited, kept) = turns[place];
            mine(edited, place, at, line(if kept { what } else { Made::Nothing }, place, at))
        });
        prop_assert_eq!(back, Ok(wanted.clone()));
        // And it can be put in again: taking the taking back back gives what was there
        let again = TakeBack::compare(None, "a", &now, &wanted, &wanted).without(|_| true);
        prop_assert_eq!(again, Ok(now.clone()));
    }

    /// Whatever the user makes of the lines of a hunk, it is a conflict, and nothing is written.
    #[test]
    fn an_overlap_is_always_a_conflict(
        turns in proptest::collection::vec(made(), 1..6),
        which in any::<prop::sample::Index>(),
        bare in any::<bool>(),
    ) {
        let changed: Vec<usize> = (0..turns.len()).filter(|place| !matches!(turns[*place], Made::Nothing)).collect();
        prop_assume!(!changed.is_empty());
        let hit = changed[which.index(changed.len())];
        let text = |at: &dyn Fn(usize, usize) -> Vec<String>| places(turns.len(), "\n", bare, at);
        let before = text(&|place, at| line(Made::Nothing, place, at));
        let after = text(&|place, at| line(turns[place], place, at));
        let now = text(&|place, at| {
            let lines = line(turns[place], place, at);
            match (at, place == hit, turns[place]) {
                (5, true, Made::Deleted) => vec!["mine instead".to_owned()],
                (5, true, _) => lines.into_iter().map(|line| format!("{line} mine")).collect(),
                (_, _, _) => lines,
            }
        });
        let clashes = TakeBack::compare(None, "a", &before, &after, &now).without(|_| true).unwrap_err();
        prop_assert_eq!(clashes.len(), 1);
        prop_assert!(clashes[0].yours.contains("mine"), "{clashes:?}");
    }

    /// Three texts of any kind are compared without a panic, and nothing of now is lost but the lines that were taken back.
    #[test]
    fn any_three_texts_come_to_a_text_or_a_conflict(
        before in "[ab\r\n]{0,24}", after in "[ab\r\n]{0,24}", now in "[abc\r\n]{0,24}",
    ) {
        let compared = TakeBack::compare(None, "a", &before, &after, &now);
        match compared.without(|_| true) {
            Ok(text) => {
                let count = |text: &str| text.matches('c').count();
                prop_assert_eq!(count(&text), count(&now), "a line of the user's is gone: {:?}", text);
            }
            Err(clashes) => prop_assert!(!clashes.is_empty()),
        }
        let _ = compared.without_what_stands();
        if now == after {
            prop_assert_eq!(compared.without(|_| true), Ok(before));
        }
    }
}
