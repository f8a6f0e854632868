//! A few threads over many files.
//!
//! Owns only the spreading of work; results come back in the order of the input, so answers do not depend on timing.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::RetrievalError;

/// Most threads of one search: more would take the machine from the editor for little gain.
const MOST_THREADS: usize = 4;

/// `job` of every index below `count`, in order; `Cancelled` when the flag is up before the end.
pub(super) fn spread<T: Send>(
    count: usize,
    cancel: &AtomicBool,
    job: impl Fn(usize) -> Option<T> + Sync,
) -> Result<Vec<(usize, T)>, RetrievalError> {
    let next = AtomicUsize::new(0);
    let all: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::new());
    let work = || {
        let mut mine = Vec::new();
        while !cancel.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                break;
            }
            mine.extend(job(at).map(|value| (at, value)));
        }
        all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).append(&mut mine);
    };
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(count / 16 + 1);
    if threads == 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
    }
    if cancel.load(Ordering::Relaxed) {
        return Err(RetrievalError::Cancelled);
    }
    let mut all = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    all.sort_by_key(|(at, _)| *at);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_cancel_ends_the_work() {
        let cancel = AtomicBool::new(false);
        let even = spread(100, &cancel, |at| (at % 2 == 0).then_some(at * 10)).unwrap();
        assert_eq!(even, (0..50).map(|i| (i * 2, i * 20)).collect::<Vec<_>>());
        let stopped = spread(100, &cancel, |at| {
            cancel.store(true, Ordering::Relaxed);
            Some(at)
        });
        assert_eq!(stopped, Err(RetrievalError::Cancelled));
    }
}
