//! How often something may happen: so many at once, and so many a second after that.
//!
//! Owns the count. Never says what is refused.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A bucket of permits that fills with time.
#[derive(Debug)]
pub(super) struct RateLimit {
    burst: f64,
    a_second: f64,
    state: Mutex<(f64, Instant)>,
}

impl RateLimit {
    /// `burst` at once, `a_second` in the long run.
    pub(super) fn new(burst: u32, a_second: u32) -> Self {
        let burst = f64::from(burst);
        Self { burst, a_second: f64::from(a_second), state: Mutex::new((burst, Instant::now())) }
    }

    /// Whether one more may happen now.
    pub(super) fn take(&self) -> bool {
        self.take_at(Instant::now())
    }

    fn take_at(&self, now: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(state.1).as_secs_f64();
        let left = (state.0 + passed * self.a_second).min(self.burst);
        *state = (if left >= 1.0 { left - 1.0 } else { left }, now);
        left >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_goes_and_then_so_many_a_second() {
        let limit = RateLimit::new(3, 2);
        let begun = Instant::now();
        assert_eq!([(); 4].map(|()| limit.take_at(begun)), [true, true, true, false]);
        let later = begun + Duration::from_millis(1_010);
        assert_eq!([(); 3].map(|()| limit.take_at(later)), [true, true, false]);
        let much_later = later + Duration::from_secs(60);
        assert_eq!([(); 4].map(|()| limit.take_at(much_later)), [true, true, true, false]);
    }
}
