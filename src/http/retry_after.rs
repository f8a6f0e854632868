//! `Retry-After` (RFC 9110, section 10.2.3): how long an endpoint asks to be left alone.
//!
//! Owns the reading of both forms. Never waits.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Longest wait that is obeyed. An endpoint that asks for more is asked again after this, since whatever stands at its
/// address must not be able to silence us for days.
const LONGEST: Duration = Duration::from_secs(600);

/// How long the answer asks to wait. `None` where it does not, or in no form of the standard.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Too large for a number is too long.
        value.parse().map_or(LONGEST, Duration::from_secs)
    } else {
        // A date that has passed asks for no wait.
        httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default()
    };
    Some(wait.min(LONGEST))
}

/// The wait in words, rounded up to whole seconds: `20 seconds`.
pub(crate) fn in_words(wait: Duration) -> String {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    match seconds {
        1 => "1 second".to_owned(),
        0..120 => format!("{seconds} seconds"),
        _ => format!("{} minutes", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn seconds_and_dates_are_read_and_nothing_else_is() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, wanted) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("99999", Some(600)),
            ("99999999999999999999999", Some(600)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("Sat, 06 Nov 2094 08:49:00 GMT", Some(600)),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
            assert_eq!(retry_after(&headers, now).map(|wait| wait.as_secs()), wanted, "{value:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn a_wait_is_said_in_seconds_or_minutes() {
        let words = [300, 1_000, 1_001, 119_000, 121_000].map(|ms| in_words(Duration::from_millis(ms)));
        assert_eq!(words, ["1 second", "1 second", "2 seconds", "119 seconds", "3 minutes"]);
    }
}
