//! The times of engines: RFC 3339 in UTC, to milliseconds since the Unix epoch.
//!
//! Pure. A text that is no such time is no time.

use std::time::UNIX_EPOCH;

/// Reads `2026-11-20T22:00:03.190421Z`. The fraction and the `Z` may be missing, and `+00:00` means the same as `Z`.
pub(super) fn millis(text: &str) -> Option<i64> {
    let text = text.strip_suffix("+00:00").unwrap_or(text);
    let time = humantime::parse_rfc3339_weak(text).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
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
