//! Why a text that is to be replaced does not fit, as the one who wrote it can mend it: where it nearly stands, or where it stands
//! several times.
//!
//! Owns the search for the nearest place, bounded, and the sentences. Never chooses a place.

/// Lines of a file that are compared.
const LINES: usize = 20_000;

/// Places that are named.
const PLACES: usize = 8;

/// Characters of a line in a sentence.
const SHOWN: usize = 120;

/// The text is at none.
pub(super) fn not_found(text: &str, wanted: &str) -> String {
    let said = "old_text does not occur in the file.";
    let wanted: Vec<&str> = wanted.lines().collect();
    let lines: Vec<&str> = text.lines().take(LINES).collect();
    let Some((at, alike)) = nearest(&lines, &wanted) else {
        return said.to_owned();
    };
    let here = &lines[at..(at + wanted.len()).min(lines.len())];
    if here.iter().map(|line| line.trim()).eq(wanted.iter().map(|line| line.trim())) {
        return format!("{said} At line {} it stands with other white space; copy it from there.", at + 1);
    }
    let other = here.iter().zip(&wanted).position(|(line, wanted)| line.trim_end() != wanted.trim_end());
    match other.and_then(|other| Some((at + other + 1, here.get(other)?))) {
        Some((line, found)) => {
            let found: String = found.chars().take(SHOWN).collect();
            let of = wanted.len();
            format!(
                "{said} At line {} {alike} of its {of} lines stand, but line {line} is `{found}`.",
                at + 1
            )
        }
        None => format!("{said} The nearest place is line {}.", at + 1),
    }
}

/// The text is at several places, by their bytes.
pub(super) fn several(text: &str, places: &[usize]) -> String {
    let line = |at: &usize| text[..*at].matches('\n').count() + 1;
    let mut named: Vec<String> = places.iter().take(PLACES).map(|at| line(at).to_string()).collect();
    if places.len() > PLACES {
        named.push("…".to_owned());
    }
    format!(
        "old_text occurs {} times, at the lines {}; give more of its surroundings.",
        places.len(),
        named.join(", ")
    )
}

/// The line where most lines of the wanted ones stand in their order, and how many; `None` where it is none.
fn nearest(lines: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    let says_something = |line: &str| line.trim().len() > 3;
    let alike = |at: usize| {
        let here = lines[at..].iter().zip(wanted);
        here.filter(|(line, wanted)| says_something(wanted) && line.trim() == wanted.trim()).count()
    };
    // A file of the longest kind and a text of the longest kind would be compared for seconds.
    if lines.len().saturating_mul(wanted.len()) > 4_000_000 {
        return None;
    }
    (0..lines.len())
        .map(|at| (at, alike(at)))
        .filter(|(_, alike)| *alike > 0)
        .max_by_key(|(at, alike)| (*alike, std::cmp::Reverse(*at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "fn one() {\n    let a = 1;\n    go(a);\n}\n\nfn two() {\n    let b = 2;\n    go(b);\n}\n";

    #[test]
    fn what_nearly_stands_somewhere_is_told_with_the_line_that_differs() {
        assert_eq!(
            not_found(TEXT, "fn two() {\n    let b = 3;\n    go(b);"),
            "old_text does not occur in the file. At line 6 2 of its 3 lines stand, but line 7 is `    let b = 2;`."
        );
        assert_eq!(
            not_found(TEXT, "fn two() {\n  let b = 2;"),
            "old_text does not occur in the file. At line 6 it stands with other white space; copy it from there."
        );
        assert_eq!(not_found(TEXT, "nowhere"), "old_text does not occur in the file.");
    }

    #[test]
    fn places_are_told_by_their_lines() {
        let places: Vec<usize> = TEXT.match_indices("go(").map(|(at, _)| at).collect();
        assert_eq!(
            several(TEXT, &places),
            "old_text occurs 2 times, at the lines 3, 8; give more of its surroundings."
        );
    }
}
