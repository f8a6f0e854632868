//! What went with a prompt beside its words, in one line.
//!
//! Owns the line. What is in it is the event's, and stands whole there.

use super::super::terminal::visible_line;
use crate::domain::context::item::ContextChip;

/// Things that the line names.
const NAMED: usize = 6;
/// Characters of a name.
const NAME: usize = 60;

/// Names and bytes; nothing where nothing went along.
pub(super) fn line(context: &[ContextChip]) -> Option<String> {
    let mut named: Vec<String> = context.iter().take(NAMED).map(name).collect();
    let more = context.len().saturating_sub(NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    (!named.is_empty()).then(|| format!("Went along: {}.", named.join(", ")))
}

fn name(chip: &ContextChip) -> String {
    let label = visible_line(&chip.label, NAME);
    if chip.bytes == 0 { label } else { format!("{label} ({})", size(chip.bytes)) }
}

fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    match bytes {
        1 => "1 byte".to_owned(),
        _ if bytes < KIB => format!("{bytes} bytes"),
        _ => format!("{}.{} KiB", bytes / KIB, (bytes % KIB) * 10 / KIB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::context::item::ContextKind;

    #[test]
    fn names_and_bytes_stand_in_one_line_that_hides_nothing_and_has_an_end() {
        let chip = |label: &str, bytes| ContextChip {
            id: label.to_owned(),
            kind: ContextKind::File,
            label: label.to_owned(),
            uri: None,
            bytes,
        };
        assert_eq!(line(&[]), None);
        assert_eq!(
            line(&[chip("a.rs:1-2", 1), chip("b\n.rs", 0), chip("c", 1023), chip("d", 1600)]).as_deref(),
            Some("Went along: a.rs:1-2 (1 byte), b⏎.rs, c (1023 bytes), d (1.5 KiB).")
        );
        let many: Vec<ContextChip> = (0..9).map(|n| chip(&n.to_string(), 0)).collect();
        assert_eq!(line(&many).as_deref(), Some("Went along: 0, 1, 2, 3, 4, 5, 3 more."));
    }
}
