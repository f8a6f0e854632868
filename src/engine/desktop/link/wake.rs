//! When a link looks again without being told anything: pauses between tries, pings, and what it waits for.
//!
//! Owns these times. Pure.

use std::time::Duration;

/// First pause between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Longest pause: whoever starts the host sees it found within some seconds.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How long a socket may be silent before it is asked whether it lives.
pub(super) const IDLE: Duration = Duration::from_secs(20);

/// How long it has to answer that.
pub(super) const DEAD: Duration = Duration::from_secs(20);

/// How long a host has to greet; one that waits for our greeting has it by then, and one that never greets is spoken with all the same.
pub(super) const GREETING: Duration = Duration::from_millis(1_500);

/// How long a host has to tell how a session stands, behind its greeting, where that decides something.
pub(super) const STATE: Duration = Duration::from_millis(500);

/// The same between two messages of one that tells first what followed what is known.
pub(super) const REPLAYING: Duration = Duration::from_secs(10);

/// How long a proposed change waits for the question that names it, which follows at once where there is one.
pub(super) const QUESTION: Duration = Duration::from_millis(250);

/// When a try that has not come to an end is told.
pub(super) const SOON: Duration = Duration::from_millis(1_500);

/// How often a host is asked for its sessions: what another client made is seen within a few seconds.
pub(in crate::engine::desktop) const LISTS: Duration = Duration::from_secs(4);

/// How long a session waits for a token at a host that wants one and was given none: as long as the look at the host does.
pub(super) const TOKEN: Duration = Duration::from_secs(1);

/// Doubled at each try up to the longest, and up to a quarter shorter, so that several windows do not ask in step.
pub(in crate::engine::desktop) fn pause(retry: u32, chance: u128) -> Duration {
    let whole = FIRST_PAUSE.saturating_mul(1 << retry.saturating_sub(1).min(10)).min(LONGEST_PAUSE);
    let part = u32::try_from(chance % 256).unwrap_or_default();
    whole - whole.saturating_mul(part) / 1_024
}

#[cfg(test)]
mod tests {
    use super::pause;

    #[test]
    fn pauses_grow_to_a_bound_and_differ_by_chance() {
        let millis = |retry, chance| pause(retry, chance).as_millis();
        assert_eq!([1, 2, 3, 6, 60].map(|retry| millis(retry, 0)), [500, 1_000, 2_000, 10_000, 10_000]);
        assert!(pause(6, 255) < pause(6, 0));
    }
}
