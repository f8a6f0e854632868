//! The engine's times: ISO 8601 in UTC, to milliseconds since the Unix epoch.
//!
//! Pure. A text that is no such time is no time.

/// Reads `2026-11-20T22:00:03.190421Z`; the fraction may be missing, and `+00:00` means the same as `Z`.
pub fn millis(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")).unwrap_or(text);
    let (date, time) = text.split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.splitn(3, ':').map(number);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let valid = (1..=9_999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !valid || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    let seconds = (days(year, month, day) * 24 + hour) * 3_600 + minute * 60 + second;
    Some(seconds * 1_000 + number(&thousandths)?)
}

fn number(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// Days from the epoch to a day of the Gregorian calendar. The year begins in March, so that the odd day is its last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let before = year * 365 + year / 4 - year / 100 + year / 400;
    before + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::millis;

    #[test]
    fn times_of_the_engine_are_read_and_others_are_none() {
        for (text, wanted) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00.5Z", Some(500)),
            ("2026-11-20T22:00:03.190421Z", Some(1_795_212_003_190)),
            ("2026-11-20T22:00:03+00:00", Some(1_795_212_003_000)),
            ("2026-11-20T22:00:03.190421", Some(1_795_212_003_190)),
            ("2024-02-29T00:00:00Z", Some(1_709_164_800_000)),
            ("2000-03-01T00:00:00Z", Some(951_868_800_000)),
            ("", None),
            ("2026-11-20", None),
            ("2026-13-20T22:00:03Z", None),
            ("2026-11-20T22:00:03+02:00", None),
            ("-1-11-20T22:00:03Z", None),
            ("2026-11-20T22:00:0é.1Z", None),
        ] {
            assert_eq!(millis(text), wanted, "{text}");
        }
    }
}
