//! How a turn went that ended well, in one line: how long it took and what it spent.
//!
//! Never says that a turn ended badly: that is a sentence of its own.

use super::super::terminal::visible_line;
use crate::domain::view::BlockBody;

/// Characters of a currency.
const CURRENCY: usize = 12;

/// The line; `None` where the turn did not end well, or nothing is known but that it did.
pub(super) fn line(end: &BlockBody) -> Option<String> {
    let BlockBody::TurnEnd {
        outcome: crate::domain::fact::TurnOutcome::Done,
        duration_ms,
        input_tokens,
        output_tokens,
        total_tokens,
        cost,
        ..
    } = end
    else {
        return None;
    };
    let mut parts = Vec::new();
    parts.extend(duration_ms.map(lasted));
    parts.extend(match (input_tokens, output_tokens, total_tokens) {
        (Some(read), Some(written), _) => Some(format!("{read} tokens read, {written} written")),
        (_, _, Some(all)) => Some(format!("{all} tokens")),
        (Some(read), None, None) => Some(format!("{read} tokens read")),
        (None, Some(written), None) => Some(format!("{written} tokens written")),
        (None, None, None) => None,
    });
    parts.extend(cost.as_ref().map(|cost| {
        let currency = visible_line(&cost.currency, CURRENCY);
        format!("{} {currency}", cost.amount_in_words())
    }));
    (!parts.is_empty()).then(|| format!("done: {}", parts.join(" · ")))
}

fn lasted(milliseconds: u64) -> String {
    let tenths = milliseconds / 100;
    match tenths / 10 {
        seconds @ 0..10 => format!("{seconds}.{} s", tenths % 10),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fact::{Cost, TurnOutcome};

    fn end(outcome: TurnOutcome, duration_ms: Option<u64>, tokens: [Option<u64>; 3]) -> BlockBody {
        let [input_tokens, output_tokens, total_tokens] = tokens;
        let cost =
            duration_ms.map(|_| Cost { amount: 0.250_000_000_000_01, currency: "EUR\u{1b}".to_owned() });
        BlockBody::TurnEnd {
            outcome,
            text: None,
            duration_ms,
            input_tokens,
            output_tokens,
            total_tokens,
            cost,
        }
    }

    #[test]
    fn a_turn_that_ended_well_says_how_long_it_took_and_what_it_spent() {
        let done = |duration, tokens| line(&end(TurnOutcome::Done, duration, tokens));
        assert_eq!(
            done(Some(1_250), [Some(12), Some(3), Some(15)]).as_deref(),
            Some("done: 1.2 s · 12 tokens read, 3 written · 0.25 EUR⟨U+001B⟩")
        );
        assert_eq!(
            done(Some(61_999), [None, None, Some(7)]).as_deref(),
            Some("done: 1 min 1 s · 7 tokens · 0.25 EUR⟨U+001B⟩")
        );
        assert_eq!(done(None, [None, None, None]), None);
        assert_eq!(line(&end(TurnOutcome::Cut, Some(5), [None, None, None])), None);
    }
}
