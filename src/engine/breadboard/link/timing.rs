//! How long a link waits for what.
//!
//! Owns the time constants and the delay between two tries. Never reads a clock; chance comes from a seed.

use std::time::Duration;

use fastrand::Rng;

use crate::app::ports::FIRST_NEWS;

/// Time constants of a link. `Default` is for people; tests shorten nothing but pause the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkTiming {
    /// Something is said of an attach by then. Half a second below `FIRST_NEWS`, for the way to whoever waits.
    pub first_news: Duration,
    /// For the summary of a session.
    pub probe: Duration,
    /// For the head of a stream, which the engine sends at once.
    pub open: Duration,
    /// The backlog has come when nothing came for so long,
    pub quiet: Duration,
    /// or, when nothing came at all, for so long,
    pub first_quiet: Duration,
    /// or so long after the stream was opened.
    pub verdict: Duration,
    /// How long a history that ends below our place is waited for before it counts as another one. Long, since the
    /// decision is to take everything anew.
    pub doubt: Duration,
    /// An ended session has said everything when nothing came for so long: its stream never ends.
    pub drained: Duration,
    /// An ended session that stops in the middle of an event for so long has broken.
    pub drain_stall: Duration,
    /// Silence after which the session is asked for while a turn runs and this connection said nothing since its backlog
    /// came: a session that ended between our question and the opening of its stream leaves one that is silent for ever.
    pub first_probe: Duration,
    /// Silence after which the session is asked for. Silence itself is normal: there is no heartbeat.
    pub probe_silence: Duration,
    /// Silence after which the stream is opened again from our place while a turn runs,
    pub renew_busy: Duration,
    /// and while none runs; doubled each time,
    pub renew_idle: Duration,
    /// up to this.
    pub renew_idle_most: Duration,
    /// How often the two clocks are compared.
    pub tick: Duration,
    /// The wall clock ran so much further than ours: the machine slept.
    pub jump: Duration,
    /// First delay between two tries, doubled each time,
    pub retry_base: Duration,
    /// up to this.
    pub retry_cap: Duration,
    /// No delay is shorter: an engine that closes each stream at once must not be asked without a pause.
    pub retry_least: Duration,
    /// A stream that stood for so long was a good one: tries count anew.
    pub steady: Duration,
}

impl Default for LinkTiming {
    fn default() -> Self {
        Self {
            first_news: FIRST_NEWS.saturating_sub(Duration::from_millis(500)),
            probe: Duration::from_secs(5),
            open: Duration::from_secs(10),
            quiet: Duration::from_millis(100),
            first_quiet: Duration::from_millis(250),
            verdict: Duration::from_secs(1),
            doubt: Duration::from_secs(2),
            drained: Duration::from_millis(300),
            drain_stall: Duration::from_secs(5),
            first_probe: Duration::from_secs(1),
            probe_silence: Duration::from_secs(15),
            renew_busy: Duration::from_secs(30),
            renew_idle: Duration::from_secs(60),
            renew_idle_most: Duration::from_secs(300),
            tick: Duration::from_secs(10),
            jump: Duration::from_secs(10),
            retry_base: Duration::from_millis(250),
            retry_cap: Duration::from_secs(8),
            retry_least: Duration::from_millis(50),
            steady: Duration::from_secs(5),
        }
    }
}

impl LinkTiming {
    /// Delay before the next try after `tries` without fruit: anything up to the doubled base (full jitter), so that many
    /// links do not come back at the same moment.
    pub(super) fn retry(&self, tries: u32, chance: &mut Rng) -> Duration {
        let most = self.retry_base.saturating_mul(1 << tries.min(16)).min(self.retry_cap);
        let most_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(chance.u64(..=most_ms)).max(self.retry_least)
    }

    /// Silence after which an idle stream is opened again, the `times`th time in a row from 0.
    pub(super) fn idle(&self, times: u32) -> Duration {
        self.renew_idle.saturating_mul(1 << times.min(16)).min(self.renew_idle_most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_the_cap_and_are_never_none() {
        let pace = LinkTiming::default();
        let mut chance = Rng::with_seed(7);
        for tries in 0..40 {
            let most = (250_u64 << tries.min(16)).min(8_000);
            let mut seen = Duration::ZERO;
            for _ in 0..200 {
                let delay = pace.retry(tries, &mut chance);
                assert!(
                    delay >= pace.retry_least && delay <= Duration::from_millis(most),
                    "{tries}: {delay:?}"
                );
                seen = seen.max(delay);
            }
            assert!(seen > Duration::from_millis(most * 9 / 10), "{tries}: {seen:?}");
        }
    }

    #[test]
    fn an_idle_stream_is_renewed_less_and_less() {
        let pace = LinkTiming::default();
        let seconds: Vec<u64> = (0..5).map(|times| pace.idle(times).as_secs()).collect();
        assert_eq!(seconds, [60, 120, 240, 300, 300]);
    }
}
