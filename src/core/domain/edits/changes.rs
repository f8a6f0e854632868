//! Which lines of two texts differ, in bounded time.
//!
//! Owns the choice of the way: most pairs of texts are compared whole; pairs that would take seconds that way are first cut
//! at the lines that both have once, and what is still too much is given as replaced. Never writes a diff: `diff` does.

use std::collections::BTreeMap;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Token};

/// Pairs of lines (one of each text) that may be weighed. The histogram algorithm looks at most pairs only in bad cases,
/// such as two texts of which every second line differs, at some 4 ns each: this is a fifth of a second. Texts of up to
/// 7,000 changed lines are always compared whole.
pub(crate) const PAIRS: u64 = 50_000_000;

/// The same for one stretch between two anchors, so that the first bad one does not use up what all of them may.
const PAIRS_OF_A_STRETCH: u64 = PAIRS / 8;

/// A stretch of lines before, and what stands there after.
pub type Change = (Range<u32>, Range<u32>);

/// What differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// In order, never touching each other.
    pub changes: Vec<Change>,
    /// Pairs of lines that could have been weighed: the measure of the work, never more than `PAIRS`.
    pub pairs: u64,
}

/// Compares two texts line by line.
pub fn changes(input: &InternedInput<&str>) -> Changes {
    let (lead, trail) = ends(&input.before, &input.after);
    let before = &input.before[lead..input.before.len() - trail];
    let after = &input.after[lead..input.after.len() - trail];
    let whole = pairs(before, after);
    if whole <= PAIRS {
        let mut diff = Diff::compute(Algorithm::Histogram, input);
        diff.postprocess_lines(input);
        return Changes {
            changes: diff.hunks().map(|hunk| (hunk.before, hunk.after)).collect(),
            pairs: whole,
        };
    }
    let mut found = FoundLines { changes: Vec::new(), pairs: 0 };
    let (mut from_before, mut from_after) = (0, 0);
    for (at_before, at_after) in anchors(before, after, input.interner.num_tokens() as usize) {
        found.stretch(
            &before[from_before..at_before],
            &after[from_after..at_after],
            lead + from_before,
            lead + from_after,
        );
        (from_before, from_after) = (at_before + 1, at_after + 1);
    }
    found.stretch(&before[from_before..], &after[from_after..], lead + from_before, lead + from_after);
    Changes { changes: found.changes, pairs: found.pairs }
}

struct FoundLines {
    changes: Vec<Change>,
    pairs: u64,
}

impl FoundLines {
    /// Compares the lines between two anchors, which begin at these lines of the texts.
    fn stretch(&mut self, before: &[Token], after: &[Token], at_before: usize, at_after: usize) {
        let (lead, trail) = ends(before, after);
        let (before, after) = (&before[lead..before.len() - trail], &after[lead..after.len() - trail]);
        let (at_before, at_after) = (at_before + lead, at_after + lead);
        let pairs = pairs(before, after);
        if pairs == 0 || pairs > PAIRS_OF_A_STRETCH || self.pairs + pairs > PAIRS {
            self.push(at_before..at_before + before.len(), at_after..at_after + after.len());
            return;
        }
        self.pairs += pairs;
        // The algorithm makes a table of all tokens there are, so each stretch counts its own.
        let mut names = BTreeMap::new();
        let mut name = |tokens: &[Token]| -> Vec<Token> {
            let named = tokens.iter().map(|token| {
                let next = names.len() as u32;
                Token(*names.entry(token.0).or_insert(next))
            });
            named.collect()
        };
        let (before, after) = (name(before), name(after));
        let mut diff = Diff::default();
        diff.compute_with(Algorithm::Histogram, &before, &after, names.len() as u32);
        for hunk in diff.hunks() {
            self.push(
                at_before + hunk.before.start as usize..at_before + hunk.before.end as usize,
                at_after + hunk.after.start as usize..at_after + hunk.after.end as usize,
            );
        }
    }

    /// Lines are counted in 32 bits by the library already.
    fn push(&mut self, before: Range<usize>, after: Range<usize>) {
        if before.is_empty() && after.is_empty() {
            return;
        }
        let (before, after) = (before.start as u32..before.end as u32, after.start as u32..after.end as u32);
        match self.changes.last_mut() {
            Some((last_before, last_after))
                if last_before.end == before.start && last_after.end == after.start =>
            {
                last_before.end = before.end;
                last_after.end = after.end;
            }
            Some(_) | None => self.changes.push((before, after)),
        }
    }
}

fn pairs(before: &[Token], after: &[Token]) -> u64 {
    before.len() as u64 * after.len() as u64
}

/// How many lines are the same at the start, and of the rest at the end.
fn ends(before: &[Token], after: &[Token]) -> (usize, usize) {
    let lead = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let rest = before[lead..].iter().rev().zip(after[lead..].iter().rev());
    (lead, rest.take_while(|(before, after)| before == after).count())
}

/// Places of lines that both texts have exactly once, as many as stand in the same order in both.
fn anchors(before: &[Token], after: &[Token], tokens: usize) -> Vec<(usize, usize)> {
    const NONE: u32 = u32::MAX;
    const MANY: u32 = u32::MAX - 1;
    let places = |lines: &[Token]| {
        let mut places = vec![NONE; tokens];
        for (at, line) in lines.iter().enumerate() {
            if let Some(place) = places.get_mut(line.0 as usize) {
                *place = if *place == NONE { at as u32 } else { MANY };
            }
        }
        places
    };
    let (once_before, once_after) = (places(before), places(after));
    let is_place = |place: u32| place < MANY;
    let mut pairs: Vec<(u32, u32)> = once_before
        .into_iter()
        .zip(once_after)
        .filter(|(before, after)| is_place(*before) && is_place(*after))
        .collect();
    pairs.sort_unstable();
    // The longest run of pairs whose second places rise: for each length the pair it ends with at the smallest place, and
    // for each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, (_, after)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *after);
        previous.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(index) = next {
        run.push((pairs[index].0 as usize, pairs[index].1 as usize));
        next = previous[index];
    }
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The second text, made of the first and the changes.
    fn replayed(before: &[&str], after: &[&str], changes: &[Change]) -> String {
        let mut text = String::new();
        let mut at = 0;
        for (old, new) in changes {
            text.extend(before[at..old.start as usize].iter().copied());
            text.extend(after[new.start as usize..new.end as usize].iter().copied());
            at = old.end as usize;
        }
        text.extend(before[at..].iter().copied());
        text
    }

    fn compared(before: &str, after: &str) -> Changes {
        let found = changes(&InternedInput::new(before, after));
        let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
        assert_eq!(replayed(&lines(before), &lines(after), &found.changes), after);
        found
    }

    fn lines(count: u64, line: impl Fn(u64) -> String) -> String {
        (0..count).map(|at| line(at) + "\n").collect()
    }

    #[test]
    fn r000_32_every_second_line_of_a_large_file_is_found_with_little_work() {
        let before = lines(30_000, |at| if at % 2 == 0 { format!("{at}") } else { format!("old {at}") });
        let after = lines(30_000, |at| if at % 2 == 0 { format!("{at}") } else { format!("new {at}") });
        let found = compared(&before, &after);
        assert_eq!(found.changes.len(), 15_000);
        assert_eq!(found.pairs, 15_000, "one pair of lines a change");
    }

    #[test]
    fn r000_32_lines_that_repeat_cost_no_more_than_the_bound() {
        let noise = |seed: u64| move |at: u64| ((at + 1).wrapping_mul(seed) >> 40 & 1).to_string();
        let (before, after) =
            (lines(400_000, noise(0x9e37_79b9_7f4a_7c15)), lines(400_000, noise(0xd1b5_4a32_d192_ed03)));
        let found = compared(&before, &after);
        assert!(found.pairs <= PAIRS, "{}", found.pairs);
        let marks = |text: String| text + "here\n";
        let (before, after) =
            (marks(lines(9_000, noise(3))) + &before, marks(lines(9_000, noise(7))) + &after);
        assert!(compared(&before, &after).pairs <= PAIRS);
    }

    #[test]
    fn many_stretches_together_stay_below_the_bound_too() {
        let text = |word: &str| {
            lines(60, |part| {
                format!("part {part}\n{}", lines(2_000, |at| format!("{}", (at + word.len() as u64) % 7)))
            })
        };
        let found = compared(&text("a"), &text("four"));
        assert!(found.pairs > PAIRS / 2 && found.pairs <= PAIRS, "{}", found.pairs);
    }

    #[test]
    fn what_moved_is_removed_and_added() {
        let before = lines(10_000, |at| format!("{at}"));
        let after = lines(10_000, |at| format!("{}", if at < 5_000 { at + 5_000 } else { at - 5_000 }));
        let found = compared(&before, &after);
        assert_eq!(found.changes, vec![(0..5_000, 0..0), (10_000..10_000, 5_000..10_000)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_differs_makes_the_second_text_of_the_first(
            before in prop::collection::vec(0..40_u32, 0..60),
            after in prop::collection::vec(0..40_u32, 0..60),
        ) {
            let as_tokens = |lines: &[u32]| lines.iter().map(|line| Token(*line)).collect::<Vec<_>>();
            let (before, after) = (as_tokens(&before), as_tokens(&after));
            let run = anchors(&before, &after, 40);
            for (at_before, at_after) in &run {
                prop_assert_eq!(before[*at_before], after[*at_after]);
            }
            prop_assert!(run.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            let mut found = FoundLines { changes: Vec::new(), pairs: 0 };
            let (mut from_before, mut from_after) = (0, 0);
            for (at_before, at_after) in run {
                found.stretch(&before[from_before..at_before], &after[from_after..at_after], from_before, from_after);
                (from_before, from_after) = (at_before + 1, at_after + 1);
            }
            found.stretch(&before[from_before..], &after[from_after..], from_before, from_after);
            let text = |tokens: &[Token]| tokens.iter().map(|token| format!("{}\n", token.0)).collect::<Vec<_>>();
            let (before, after) = (text(&before), text(&after));
            let (before, after): (Vec<&str>, Vec<&str>) =
                (before.iter().map(String::as_str).collect(), after.iter().map(String::as_str).collect());
            prop_assert_eq!(replayed(&before, &after, &found.changes), after.concat());
        }
    }
}
