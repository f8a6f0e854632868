//! One bound for all streams that are read at a time.
//!
//! Owns the count of bytes that half-read and undecoded events hold together. Each stream has a bound of its own, but many of
//! them at once would multiply it. Never waits: a stream for which nothing is left ends, because one that waited would hold
//! what it has, and so could wait for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are left for all streams.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicUsize,
}

/// What one stream holds of it; given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    held: usize,
}

/// The budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsedUp;

impl Budget {
    /// A budget of so many bytes.
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(bytes) })
    }

    /// A share that holds nothing yet.
    pub(crate) fn share(self: &Arc<Self>) -> Share {
        Share { budget: Arc::clone(self), held: 0 }
    }
}

impl Share {
    /// Holds exactly so many bytes from now on.
    ///
    /// # Errors
    /// When that is more than is left. The share then holds what it held.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), UsedUp> {
        if bytes > self.held {
            let more = bytes - self.held;
            let taken = self
                .budget
                .left
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(more));
            taken.map_err(|_| UsedUp)?;
        } else {
            self.budget.left.fetch_add(self.held - bytes, Ordering::AcqRel);
        }
        self.held = bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.held, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_hold_more_than_the_budget_and_give_it_back() {
        let budget = Budget::new(10);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert_eq!(one.hold(7), Ok(()));
        assert_eq!(other.hold(4), Err(UsedUp));
        assert_eq!((other.hold(3), one.hold(2), other.hold(8)), (Ok(()), Ok(()), Ok(())));
        drop(other);
        assert_eq!(one.hold(10), Ok(()));
        assert_eq!(one.hold(11), Err(UsedUp));
    }
}
