//! A table of an answer with its columns below each other.
//!
//! Owns what a table is, how wide its columns are and where their text stands. Never draws the text of a cell, and makes nothing of a
//! table that has no room: its lines then stay as the answer has them.

use unicode_width::UnicodeWidthChar;

/// Where the text of a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnSide {
    Left,
    Middle,
    Right,
}

/// The table that this block is, on lines of at most `most` cells; `None`: it is none, or has no room. `draw` draws the text of a cell.
pub(super) fn aligned(block: &str, most: usize, draw: impl Fn(&str) -> String) -> Option<String> {
    let mut lines = block.lines();
    let head = cells(lines.next()?)?;
    let sides: Vec<ColumnSide> =
        cells(lines.next()?)?.iter().map(|cell| side(cell)).collect::<Option<_>>()?;
    if sides.len() != head.len() {
        return None;
    }
    let drawn = |row: Vec<String>| row.iter().map(|cell| draw(cell)).collect::<Vec<String>>();
    let mut rows = vec![drawn(head)];
    for line in lines {
        rows.push(drawn(cells(line).filter(|row| row.len() <= sides.len())?));
    }
    let wide = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max();
    let widths: Vec<usize> = (0..sides.len()).map(|column| wide(column).unwrap_or(0).max(3)).collect();
    if widths.iter().map(|wide| wide + 3).sum::<usize>() + 1 > most {
        return None;
    }
    let columns = || sides.iter().zip(&widths);
    let mut text: Vec<String> = rows
        .iter()
        .map(|row| {
            let texts = row.iter().map(String::as_str).chain(std::iter::repeat(""));
            let padded = columns().zip(texts).map(|((side, wide), text)| padded(text, *wide, *side));
            format!("| {} |", padded.collect::<Vec<_>>().join(" | "))
        })
        .collect();
    let rule: Vec<String> = columns().map(|(side, wide)| rule(*side, *wide)).collect();
    text.insert(1, format!("|{}|", rule.join("|")));
    Some(text.join("\n"))
}

/// The cells of a row: what stands between bars that are not escaped. `None`: it is no row.
fn cells(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    let line = line.strip_prefix('|')?;
    let mut row = vec![String::new()];
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('|')) => {
                letters.next();
                row.last_mut()?.push('|');
            }
            // The bar at the end begins no cell.
            ('|', None) => return Some(trimmed(row)),
            ('|', Some(_)) => row.push(String::new()),
            (letter, _) => row.last_mut()?.push(letter),
        }
    }
    None
}

fn trimmed(row: Vec<String>) -> Vec<String> {
    row.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// What the second row says of a column: dashes, with a colon at the side where its text stands.
fn side(cell: &str) -> Option<ColumnSide> {
    let dashes = cell.trim_matches(':');
    let is_rule =
        !dashes.is_empty() && dashes.chars().all(|letter| letter == '-') && cell.len() <= dashes.len() + 2;
    is_rule.then_some(match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => ColumnSide::Middle,
        (false, true) => ColumnSide::Right,
        (_, false) => ColumnSide::Left,
    })
}

fn rule(side: ColumnSide, wide: usize) -> String {
    let (left, right) = match side {
        ColumnSide::Left => ('-', '-'),
        ColumnSide::Middle => (':', ':'),
        ColumnSide::Right => ('-', ':'),
    };
    format!("{left}{}{right}", "-".repeat(wide))
}

fn padded(text: &str, wide: usize, side: ColumnSide) -> String {
    let room = wide.saturating_sub(width(text));
    let left = match side {
        ColumnSide::Left => 0,
        ColumnSide::Middle => room / 2,
        ColumnSide::Right => room,
    };
    format!("{}{text}{}", " ".repeat(left), " ".repeat(room - left))
}

/// Cells of a terminal; colours take none.
fn width(text: &str) -> usize {
    let mut letters = text.chars();
    let mut cells = 0;
    while let Some(letter) = letters.next() {
        if letter == '\x1b' {
            letters.by_ref().find(|end| *end == 'm');
        } else {
            cells += letter.width().unwrap_or(0);
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(block: &str, most: usize) -> Option<String> {
        aligned(block, most, |cell| cell.replace("*b*", "\x1b[3mb\x1b[0m"))
    }

    #[test]
    fn columns_stand_below_each_other_whatever_their_letters_and_colours() {
        let block = "|Name|Größe|x|\n|:--|--:|:-:|\n|漢字|12|*b*|\n|a \\| b|3,000||\n|last|";
        let wanted = "| Name  | Größe |  x  |\n|-------|------:|:---:|\n| 漢字  |    12 |  \x1b[3mb\x1b[0m  |\n\
                      | a | b | 3,000 |     |\n| last  |       |     |";
        assert_eq!(of(block, 80).as_deref(), Some(wanted));
    }

    #[test]
    fn what_is_no_table_or_has_no_room_is_left_as_it_is() {
        assert_eq!(of("| a long cell | b |\n|---|---|\n| 1 | 2 |", 20), None);
        for none in [
            "",
            "| a |",
            "a | b\n--- | ---",
            "| a | b |\n|---|\n",
            "| a |\n| b |",
            "| a |\n|---|\nmore words",
            "| a |\n|---|\n| 1 | 2 |",
            "| a |\n|:-:x|",
        ] {
            assert_eq!(of(none, 80), None, "{none:?}");
        }
    }
}
