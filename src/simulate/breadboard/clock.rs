//! The time of day as the engine writes it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time since 1970.
pub(super) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// ISO 8601 in UTC with microseconds, from the time since 1970.
pub(super) fn iso(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let micros = since_epoch.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day of a day number since 1970, by counting four-hundred-year cycles that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (cycle, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = cycle * 400 + year + u64::from(month <= 2);
    (year, month, of_year - (153 * shifted_month + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_utc_with_microseconds() {
        assert_eq!(iso(Duration::ZERO), "1970-01-01T00:00:00.000000Z");
        assert_eq!(iso(Duration::from_micros(1_709_210_096_000_007)), "2024-02-29T12:34:56.000007Z");
        assert_eq!(iso(Duration::from_secs(4_133_980_799)), "2100-12-31T23:59:59.000000Z");
    }
}
