//! What a command prints, told while it runs: whole lines, now and then, and no more of a flood than a person could read.
//!
//! Owns the pace and the bound. The whole output is `capture`'s; never decides who hears it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

/// How often something is told at most.
const OFTEN: Duration = Duration::from_millis(100);
/// Bytes of one piece; a line that is longer is told in parts only when the command ends.
const PIECE: usize = 16 << 10;
/// Bytes that are told of one command. Past them the end of the command shows the rest.
const MOST: usize = 256 << 10;

/// Who hears of it: text, and whether it stood on the standard error.
pub(super) type OutputListener = Box<dyn Fn(String, bool) + Send + Sync>;

/// One command's output on its way.
pub(super) struct LiveOutput {
    told: OutputListener,
    state: Mutex<WaitingLines>,
    /// Whoever takes all of it, as it comes.
    whole: Option<mpsc::Sender<Vec<u8>>>,
}

/// Lines that wait, of each stream.
struct WaitingLines {
    lines: [Vec<u8>; 2],
    sent: usize,
    last: Option<Instant>,
}

impl LiveOutput {
    pub(super) fn to(told: OutputListener, whole: Option<mpsc::Sender<Vec<u8>>>) -> Arc<Self> {
        let waiting = WaitingLines { lines: [Vec::new(), Vec::new()], sent: 0, last: None };
        Arc::new(Self { told, state: Mutex::new(waiting), whole })
    }

    /// Takes what was printed next on one of the two streams, and waits for whoever takes all of it.
    pub(super) async fn take(&self, bytes: &[u8], is_error: bool) {
        self.push(bytes, is_error);
        if let Some(whole) = &self.whole {
            // Nobody takes it any more once the engine gave the command up.
            let _ = whole.send(bytes.to_vec()).await;
        }
    }

    fn push(&self, bytes: &[u8], is_error: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = &mut state.lines[usize::from(is_error)];
        let room = PIECE.saturating_sub(lines.len());
        lines.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if state.last.is_none_or(|last| last.elapsed() >= OFTEN) {
            self.tell(&mut state, false);
        }
    }

    /// Tells what waits, where its time has come: a command may print and then be silent.
    pub(super) fn tick(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_none_or(|last| last.elapsed() >= OFTEN) {
            self.tell(&mut state, false);
        }
    }

    /// Tells the rest: the command ended.
    pub(super) fn end(&self) {
        self.tell(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), true);
    }

    fn tell(&self, state: &mut WaitingLines, all: bool) {
        for is_error in [false, true] {
            let lines = &mut state.lines[usize::from(is_error)];
            // A secret that is replaced stands in one line, so a line is told whole.
            let end = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let taken: Vec<u8> = lines.drain(..if all { lines.len() } else { end }).collect();
            if taken.is_empty() || state.sent >= MOST {
                continue;
            }
            state.sent += taken.len();
            state.last = Some(Instant::now());
            (self.told)(String::from_utf8_lossy(&taken).into_owned(), is_error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_whole_and_a_flood_ends() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let live =
            LiveOutput::to(Box::new(move |text, is_error| into.lock().unwrap().push((text, is_error))), None);
        live.push(b"one\ntw", false);
        live.push(b"oops\n", true);
        assert_eq!(*heard.lock().unwrap(), [("one\n".to_owned(), false)]);
        live.end();
        let expected = [("one\n", false), ("tw", false), ("oops\n", true)];
        assert_eq!(*heard.lock().unwrap(), expected.map(|(text, is_error)| (text.to_owned(), is_error)));
        for _ in 0..1_000 {
            live.push(&[b"x".repeat(999), b"\n".to_vec()].concat(), false);
            live.tell(&mut live.state.lock().unwrap(), false);
        }
        let told: usize = heard.lock().unwrap().iter().map(|(text, _)| text.len()).sum();
        assert!((MOST..MOST + PIECE).contains(&told), "{told}");
    }
}
