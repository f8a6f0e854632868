//! The one place that writes to the terminal: pieces in, bytes out.
//!
//! Owns the progress line, the row of a question, and what a broken stdout means. The progress line has a row of its own: where text of the answer
//! stands on the row of the cursor there is none, and it is never longer than the row, so that taking it back takes nothing
//! else away. What is said while a question stands begins on a row of its own, and the question is put again below it. Never
//! looks at an event.

use std::io::Write;

use super::render::RenderPiece;
use super::terminal::fitting;

/// What stands on the row of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConsoleRow {
    /// Nothing stands there.
    Free,
    /// The start of a line of the answer.
    Taken,
    /// A question, and whatever was typed to it so far.
    Question,
    /// A progress line.
    Progress,
}

/// Stdout and stderr, with at most one transient line on the latter.
pub(super) struct Console<O, E> {
    out: O,
    err: E,
    /// Cells of a line, where both are one terminal and a line may be rewritten in place.
    width: Option<fn() -> usize>,
    row: ConsoleRow,
    /// The last line of the question that was put last.
    asked: String,
}

impl<O: Write, E: Write> Console<O, E> {
    /// `width`: how wide the terminal is, where a line may be rewritten in place.
    pub(super) fn new(out: O, err: E, width: Option<fn() -> usize>) -> Self {
        Self { out, err, width, row: ConsoleRow::Free, asked: String::new() }
    }

    /// Shows the pieces. An error means that stdout is gone; a lost stderr is nobody's loss.
    pub(super) fn show(&mut self, pieces: &[RenderPiece]) -> std::io::Result<()> {
        let mut wrote = false;
        for piece in pieces {
            match piece {
                RenderPiece::Answer(text) => {
                    if !text.is_empty() {
                        self.clear();
                    }
                    self.out.write_all(text.as_bytes())?;
                    if !text.is_empty() {
                        self.row = if text.ends_with('\n') { ConsoleRow::Free } else { ConsoleRow::Taken };
                    }
                    wrote = true;
                }
                RenderPiece::Note(lines) => {
                    if wrote {
                        self.out.flush()?;
                    }
                    self.clear();
                    let _ = writeln!(self.err, "{lines}");
                }
                RenderPiece::Progress(line) => {
                    if wrote {
                        self.out.flush()?;
                    }
                    self.progress(line);
                }
            }
        }
        if wrote { self.out.flush() } else { Ok(()) }
    }

    /// Whether a progress line can be seen.
    pub(super) fn has_progress(&self) -> bool {
        self.width.is_some()
    }

    /// Says what is waited for: in place where that can be, else on a line of its own.
    pub(super) fn wait(&mut self, sentence: &str) {
        if self.has_progress() {
            self.progress(sentence);
        } else {
            let _ = writeln!(self.err, "{sentence}.");
        }
    }

    /// Nothing is waited for any more.
    pub(super) fn done(&mut self) {
        self.clear();
    }

    /// One raw line on stdout.
    pub(super) fn raw(&mut self, line: &str) -> std::io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    /// A question; the cursor stays behind it, and whoever answers ends the row.
    pub(super) fn question(&mut self, text: &str) {
        self.clear();
        let _ = write!(self.err, "{text} ");
        let _ = self.err.flush();
        self.row = ConsoleRow::Question;
        text.lines().last().unwrap_or_default().clone_into(&mut self.asked);
    }

    /// Puts the last line of the question again, where something was said since.
    pub(super) fn question_again(&mut self) {
        if self.row == ConsoleRow::Question {
            return;
        }
        if self.row == ConsoleRow::Taken {
            let _ = writeln!(self.err);
        }
        let asked = std::mem::take(&mut self.asked);
        self.question(&asked);
    }

    /// Ends the row of a question that nobody answers any more.
    pub(super) fn leave_question(&mut self) {
        if self.row == ConsoleRow::Question {
            let _ = writeln!(self.err);
            self.row = ConsoleRow::Free;
        }
    }

    /// Whoever answered a question ended its row.
    pub(super) fn answered(&mut self) {
        self.row = ConsoleRow::Free;
    }

    fn progress(&mut self, line: &str) {
        let Some(width) = self.width else { return };
        if matches!(self.row, ConsoleRow::Taken | ConsoleRow::Question) {
            return;
        }
        // Up to two for the dots, and one that stays free: some terminals begin a new row behind the last cell.
        let line = fitting(line, width().saturating_sub(3));
        let _ = write!(self.err, "\r\x1b[2K\x1b[2m{line}…\x1b[0m");
        let _ = self.err.flush();
        self.row = ConsoleRow::Progress;
    }

    /// What comes next begins on a row that is free of progress and of questions.
    fn clear(&mut self) {
        self.leave_question();
        if self.row == ConsoleRow::Progress {
            let _ = write!(self.err, "\r\x1b[2K");
            let _ = self.err.flush();
            self.row = ConsoleRow::Free;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: Option<fn() -> usize>, pieces: &[RenderPiece]) -> (String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        Console::new(&mut out, &mut err, width).show(pieces).expect("vectors take all");
        (String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned())
    }

    fn pieces() -> [RenderPiece; 4] {
        [
            RenderPiece::Progress("reading".into()),
            RenderPiece::Note("· tool".into()),
            RenderPiece::Progress("thinking".into()),
            RenderPiece::Answer("text".into()),
        ]
    }

    #[test]
    fn progress_is_rewritten_in_place_and_cleared_before_anything_else() {
        let wanted =
            "\r\x1b[2K\x1b[2mreading…\x1b[0m\r\x1b[2K· tool\n\r\x1b[2K\x1b[2mthinking…\x1b[0m\r\x1b[2K";
        assert_eq!(shown(Some(|| 80), &pieces()), ("text".into(), wanted.into()));
    }

    #[test]
    fn without_a_terminal_there_is_no_progress_and_no_escape() {
        assert_eq!(shown(None, &pieces()), ("text".into(), "· tool\n".into()));
    }

    #[test]
    fn no_progress_line_begins_on_a_row_of_the_answer() {
        let within = [RenderPiece::Answer("Let me read.".into()), RenderPiece::Progress("reading".into())];
        assert_eq!(shown(Some(|| 80), &within), ("Let me read.".into(), String::new()));
        let behind = [RenderPiece::Answer("Let me read.\n".into()), RenderPiece::Progress("reading".into())];
        assert_eq!(
            shown(Some(|| 80), &behind),
            ("Let me read.\n".into(), "\r\x1b[2K\x1b[2mreading…\x1b[0m".into())
        );
    }

    #[test]
    fn what_is_said_at_a_question_stands_below_it_and_the_question_is_put_again_below_that() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console::new(&mut out, &mut err, Some(|| 80));
        console.question("   y  Allow\n   n  Deny\nAnswer (y, n):");
        // Progress does not disturb a question, nor does it make it be put again.
        console.show(&[RenderPiece::Progress("waiting".into())]).expect("vectors take all");
        console.question_again();
        console.show(&[RenderPiece::Note("one".into()), RenderPiece::Note("two".into())]).expect("vectors");
        console.question_again();
        console.answered();
        console.show(&[RenderPiece::Answer("half a ".into())]).expect("vectors take all");
        console.question("Trust?");
        console.leave_question();
        console.leave_question();
        let wanted = "   y  Allow\n   n  Deny\nAnswer (y, n): \none\ntwo\nAnswer (y, n): Trust? \n";
        assert_eq!((String::from_utf8_lossy(&err).as_ref(), out.as_slice()), (wanted, &b"half a "[..]));
    }

    #[test]
    fn an_answer_that_goes_on_at_a_question_begins_below_it() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console::new(&mut out, &mut err, None);
        console.question("Answer (y, n):");
        console.show(&[RenderPiece::Answer("text".into())]).expect("vectors take all");
        console.question_again();
        let wanted = "Answer (y, n): \n\nAnswer (y, n): ";
        assert_eq!((String::from_utf8_lossy(&err).as_ref(), out.as_slice()), (wanted, &b"text"[..]));
    }

    #[test]
    fn a_progress_line_is_as_wide_as_the_terminal_at_most() {
        let line = |text: &str, width| shown(Some(width), &[RenderPiece::Progress(text.into())]).1;
        assert_eq!(line("reading it all", || 10), "\r\x1b[2K\x1b[2mreading…\x1b[0m");
        assert_eq!(line("日本語日本語", || 10), "\r\x1b[2K\x1b[2m日本語…\x1b[0m");
        assert_eq!(line("reading", || 2), "\r\x1b[2K\x1b[2m…\x1b[0m");
    }
}
