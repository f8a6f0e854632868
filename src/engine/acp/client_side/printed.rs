//! What a terminal prints, as news for the session: whole lines, at most so often, and no more of a flood than a journal should have.
//!
//! Owns what waits to be told, and when the next news are due. Never holds the output that the agent reads: that is `screen`.

use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::words::{Printed, TerminalExit};

/// Bytes of one piece. More than a card shows; a line that is longer is left out.
const PIECE: usize = 16 << 10;
/// How often a terminal tells something, at first.
const OFTEN: Duration = Duration::from_millis(100);
/// After so many bytes told the time between two news doubles, and again after as many: a command that prints for ever costs
/// the journal little more with each day.
const CALM_AFTER: usize = 128 << 10;
/// What one piece of news costs beside its text.
const ENVELOPE: usize = 256;

/// PrintedLines that wait to be told.
#[derive(Debug, Default)]
struct PrintedLines {
    waiting: Vec<u8>,
    skipped: u64,
    /// The line that comes is too long to be told.
    in_long_line: bool,
}

impl PrintedLines {
    fn push(&mut self, mut bytes: &[u8]) {
        if self.in_long_line {
            let end = bytes.iter().position(|byte| is_line_end(*byte));
            let rest = end.map_or(bytes.len(), |end| end + 1);
            self.skipped += rest as u64;
            self.in_long_line = end.is_none();
            bytes = &bytes[rest..];
        }
        self.waiting.extend_from_slice(bytes);
        let over = self.waiting.len().saturating_sub(PIECE);
        if over == 0 {
            return;
        }
        let end = self.waiting[over - 1..].iter().position(|byte| is_line_end(*byte));
        let gone = end.map_or(self.waiting.len(), |end| over + end);
        self.in_long_line = end.is_none();
        self.skipped += gone as u64;
        self.waiting.drain(..gone);
    }

    /// Whether a line is whole.
    fn has_line(&self) -> bool {
        self.waiting.iter().any(|byte| is_line_end(*byte))
    }

    /// The whole lines, and how many bytes before them are left out.
    fn take(&mut self, all: bool) -> (String, u64) {
        let lines = self.waiting.iter().rposition(|byte| is_line_end(*byte)).map_or(0, |end| end + 1);
        let taken: Vec<u8> = self.waiting.drain(..if all { self.waiting.len() } else { lines }).collect();
        (String::from_utf8_lossy(&taken).into_owned(), std::mem::take(&mut self.skipped))
    }
}

/// A secret that is replaced stands in one line, so a line is told whole or not at all.
fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Who tells the news of one terminal. Dropped before the end, it says that the command was killed.
#[derive(Debug)]
pub(super) struct Teller {
    news: Sender<Printed>,
    session_id: String,
    terminal_id: String,
    lines: PrintedLines,
    due: Instant,
    told: usize,
    ended: bool,
}

impl Teller {
    /// Says that the terminal is there.
    pub(super) async fn begin(news: Sender<Printed>, session_id: &str, terminal_id: &str) -> Self {
        let teller = Self {
            news,
            session_id: session_id.to_owned(),
            terminal_id: terminal_id.to_owned(),
            lines: PrintedLines::default(),
            due: Instant::now(),
            told: 0,
            ended: false,
        };
        // Nobody may listen any more; then the process is being ended.
        let _ = teller.news.send(Printed { began: true, ..teller.piece(String::new(), 0) }).await;
        teller
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.lines.push(bytes);
    }

    /// Whether there is something to tell.
    pub(super) fn has_news(&self) -> bool {
        self.lines.has_line() && !self.news.is_closed()
    }

    /// Waits until the next news may be told.
    pub(super) async fn due(&self) {
        tokio::time::sleep_until(self.due).await;
        // Without anybody who listens nothing is told, and `has_news` says so from then on.
        let _ = self.news.reserve().await;
    }

    /// Tells what waits.
    pub(super) fn tell(&mut self) {
        // Another terminal may have taken the room.
        let Ok(room) = self.news.clone().try_reserve_owned() else { return };
        let (text, skipped) = self.lines.take(false);
        self.told += text.len() + ENVELOPE;
        let calm = u32::try_from(self.told / CALM_AFTER).unwrap_or(u32::MAX).min(20);
        self.due = Instant::now() + OFTEN * (1 << calm);
        room.send(self.piece(text, skipped));
    }

    /// Tells the rest, and how the command ended.
    pub(super) async fn end(mut self, exit: TerminalExit) {
        let (text, skipped) = self.lines.take(true);
        self.ended = true;
        let _ = self.news.send(Printed { exit: Some(exit), ..self.piece(text, skipped) }).await;
    }

    fn piece(&self, text: String, skipped: u64) -> Printed {
        Printed {
            session_id: self.session_id.clone(),
            terminal_id: self.terminal_id.clone(),
            text,
            skipped,
            ..Printed::default()
        }
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        if !self.ended {
            let (text, skipped) = self.lines.take(true);
            let killed = TerminalExit { exit_code: None, signal: Some("SIGKILL".to_owned()) };
            // Without room the card shows what it has.
            let _ = self.news.try_send(Printed { exit: Some(killed), ..self.piece(text, skipped) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PIECE, PrintedLines};

    fn taken(pieces: &[&[u8]], all: bool) -> (String, u64) {
        let mut lines = PrintedLines::default();
        pieces.iter().for_each(|piece| lines.push(piece));
        lines.take(all)
    }

    #[test]
    fn a_line_is_told_whole_and_what_is_too_long_is_counted() {
        let long = vec![b'x'; PIECE];
        let flood = b"0123456\n".repeat(PIECE / 4);
        for (pieces, all, text, skipped) in [
            (&[&b"one\ntw"[..]][..], false, "one\n".to_owned(), 0),
            (&[b"one\ntw"], true, "one\ntw".to_owned(), 0),
            (&[b"10%\r20"], false, "10%\r".to_owned(), 0),
            (&[b"tw"], false, String::new(), 0),
            (&[b"a\n", &long, b"y"], true, String::new(), 2 + PIECE as u64 + 1),
            (&[b"a\n", &long, b"y", b"y\nb\n"], true, "b\n".to_owned(), 2 + PIECE as u64 + 3),
            (&[&flood], false, "0123456\n".repeat(PIECE / 8), PIECE as u64),
            (&[&b"\xff\n"[..]], false, "\u{fffd}\n".to_owned(), 0),
        ] {
            assert_eq!(taken(pieces, all), (text, skipped), "{} pieces", pieces.len());
        }
    }
}
