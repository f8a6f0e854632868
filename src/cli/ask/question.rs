//! The question: from the command line, from stdin, or from both.
//!
//! Owns how much of stdin is taken and how it stands in the prompt. Never sends anything.

use std::io::Read;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use super::super::client::WORDLESS;

/// Bytes of stdin that go along. Half of what a prompt may have, so that the question always fits beside it.
const STDIN: usize = 512 << 10;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AskQuestion {
    pub(super) prompt: String,
    /// Some of it came from stdin, which can answer nothing any more.
    pub(super) from_stdin: bool,
}

/// The prompt: `asked`, with what is piped in behind it; `-` is all from stdin. `waits` is called when stdin takes its time.
///
/// # Errors
/// One sentence when there is no question, or stdin is too long or no text.
pub(super) fn prompt(asked: &str, is_piped: bool, waits: impl FnOnce()) -> Result<AskQuestion, String> {
    let from_stdin = asked == "-";
    let piped = if is_piped || from_stdin { text(read(waits)?)? } else { String::new() };
    let some_from_stdin = !piped.trim().is_empty();
    let prompt = if from_stdin { piped } else { joined(asked, &piped) };
    if asked.trim().is_empty() || prompt.trim().is_empty() {
        let place = if from_stdin { "pipe it into `ask -`" } else { "put it in quotes behind `ask`" };
        return Err(format!("The question is empty; {place}."));
    }
    Ok(AskQuestion { prompt, from_stdin: some_from_stdin })
}

fn read(waits: impl FnOnce()) -> Result<Vec<u8>, String> {
    let (sender, answer) = sync_channel(1);
    // It cannot be ended while it reads; it ends with this process.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(STDIN as u64 + 1).read_to_end(&mut bytes).map(|_| bytes);
        let _ = sender.send(read);
    });
    let gone = "Stdin could not be read; start with </dev/null to leave it out.";
    let read = match answer.recv_timeout(WORDLESS) {
        Err(RecvTimeoutError::Timeout) => {
            waits();
            answer.recv().map_err(|_| gone.to_owned())?
        }
        Ok(read) => read,
        Err(RecvTimeoutError::Disconnected) => return Err(gone.to_owned()),
    };
    read.map_err(|error| format!("Stdin could not be read ({error}); start with </dev/null to leave it out."))
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() > STDIN {
        return Err(format!(
            "Stdin has more than the {} KiB that go along with a question; pipe less, or name the file in the question.",
            STDIN >> 10
        ));
    }
    String::from_utf8(bytes)
        .map_err(|_| "Stdin is no UTF-8 text; pipe text, or name the file in the question.".to_owned())
}

/// What was piped in stands behind the question, in a fence that it cannot end.
fn joined(asked: &str, piped: &str) -> String {
    if piped.trim().is_empty() {
        return asked.to_owned();
    }
    let longest = piped.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    let end = if piped.ends_with('\n') { "" } else { "\n" };
    format!("{asked}\n\nFrom stdin:\n{fence}\n{piped}{end}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_piped_in_stands_behind_the_question_in_a_fence_of_its_own() {
        assert_eq!(joined("review", ""), "review");
        assert_eq!(joined("review", " \n"), "review");
        assert_eq!(joined("review", "+a\n"), "review\n\nFrom stdin:\n```\n+a\n```");
        assert_eq!(joined("review", "a ```` b"), "review\n\nFrom stdin:\n`````\na ```` b\n`````");
    }

    #[test]
    fn too_much_and_what_is_no_text_is_refused_in_a_sentence() {
        assert_eq!(text(vec![b'a'; STDIN]).map(|text| text.len()), Ok(STDIN));
        assert!(
            text(vec![b'a'; STDIN + 1]).is_err_and(|sentence| sentence.contains("more than the 512 KiB"))
        );
        assert!(text(vec![0xff]).is_err_and(|sentence| sentence.contains("no UTF-8 text")));
    }
}
