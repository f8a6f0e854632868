//! The one place that writes to the terminal: pieces in, bytes out.
//!
//! Owns the progress line and what a broken stdout means. Never looks at an event.

use std::io::Write;

use super::render::Piece;

/// Stdout and stderr, with at most one transient line on the latter.
pub(super) struct Console<O, E> {
    out: O,
    err: E,
    progress: bool,
    pending: bool,
}

impl<O: Write, E: Write> Console<O, E> {
    /// `progress`: whether a line may be rewritten in place.
    pub(super) fn new(out: O, err: E, progress: bool) -> Self {
        Self { out, err, progress, pending: false }
    }

    /// Shows the pieces. An error means that stdout is gone; a lost stderr is nobody's loss.
    pub(super) fn show(&mut self, pieces: &[Piece]) -> std::io::Result<()> {
        let mut wrote = false;
        for piece in pieces {
            match piece {
                Piece::Answer(text) => {
                    self.clear();
                    self.out.write_all(text.as_bytes())?;
                    wrote = true;
                }
                Piece::Note(lines) => {
                    if wrote {
                        self.out.flush()?;
                    }
                    self.clear();
                    let _ = writeln!(self.err, "{lines}");
                }
                Piece::Progress(line) => {
                    if self.progress {
                        let _ = write!(self.err, "\r\x1b[2K\x1b[2m{line}…\x1b[0m");
                        let _ = self.err.flush();
                        self.pending = true;
                    }
                }
            }
        }
        if wrote { self.out.flush() } else { Ok(()) }
    }

    /// One raw line on stdout.
    pub(super) fn raw(&mut self, line: &str) -> std::io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    /// A question; the cursor stays behind it.
    pub(super) fn question(&mut self, text: &str) {
        self.clear();
        let _ = write!(self.err, "{text} ");
        let _ = self.err.flush();
    }

    fn clear(&mut self) {
        if self.pending {
            let _ = write!(self.err, "\r\x1b[2K");
            let _ = self.err.flush();
            self.pending = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(progress: bool) -> (String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let pieces = [
            Piece::Progress("reading".into()),
            Piece::Note("· tool".into()),
            Piece::Progress("thinking".into()),
            Piece::Answer("text".into()),
        ];
        Console::new(&mut out, &mut err, progress).show(&pieces).expect("vectors take all");
        (String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned())
    }

    #[test]
    fn progress_is_rewritten_in_place_and_cleared_before_anything_else() {
        let wanted =
            "\r\x1b[2K\x1b[2mreading…\x1b[0m\r\x1b[2K· tool\n\r\x1b[2K\x1b[2mthinking…\x1b[0m\r\x1b[2K";
        assert_eq!(shown(true), ("text".into(), wanted.into()));
    }

    #[test]
    fn without_a_terminal_there_is_no_progress_and_no_escape() {
        assert_eq!(shown(false), ("text".into(), "· tool\n".into()));
    }
}
