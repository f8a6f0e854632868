//! What a tool call printed: in terminals that it shows, to its streams, and how its command ended.
//!
//! Owns how much of it a block shows, and the lines that say an end. Never believes a status: its parent does.

use super::{PREVIEW, Tool};
use crate::domain::cut;
use crate::domain::fact::{PrintStream, TerminalNews};
use crate::domain::view::block::{BlockBody, ToolBlockStatus};
use crate::domain::view::terminals::{ShownTerminal, Unshown};

/// What is said of a command that printed nothing.
const NO_OUTPUT: &str = "No output.";

impl Tool {
    /// Its content shows these terminals now, and these words beside them.
    pub(super) fn show_terminals(&mut self, named: Vec<String>, words: Option<&str>, unshown: &mut Unshown) {
        // A content of words alone takes the place of what was printed; one of nothing says nothing.
        if named.is_empty() && words.is_none() {
            return;
        }
        self.beside = words.map(|words| cut::start_of_output(words, PREVIEW).to_owned());
        let mut known = std::mem::take(&mut self.terminals);
        let mut kept = |id: String| {
            let before = known.iter().position(|terminal| terminal.id == id).map(|at| known.remove(at));
            before.or_else(|| unshown.take(&id)).unwrap_or_else(|| ShownTerminal::named(id))
        };
        self.terminals = named.into_iter().map(&mut kept).collect();
    }

    /// Whether it shows this terminal. One that begins is not the one of before under the same id.
    pub(in crate::domain::view) fn shows(&self, news: &TerminalNews<'_>) -> bool {
        self.terminals.iter().any(|terminal| terminal.id == news.id && !(news.began && terminal.began))
    }

    /// A terminal that it shows printed something, or ended.
    pub(in crate::domain::view) fn hear_terminal(&mut self, news: &TerminalNews<'_>) {
        if let Some(terminal) = self.terminals.iter_mut().find(|terminal| terminal.id == news.id) {
            terminal.hear(news, PREVIEW);
            self.show_printed();
        }
        // The agent may have called it completed before its command ended.
        if let BlockBody::Tool { status: ToolBlockStatus::Ok, .. } = self.block.body
            && self.printed_exit().is_some_and(|code| code != 0)
        {
            self.set(ToolBlockStatus::Failed);
        }
    }

    /// The exit code of the last terminal that it shows, where we ran the command and it ended.
    pub(super) fn printed_exit(&self) -> Option<i64> {
        self.terminals.last()?.end.as_ref()?.code
    }

    /// Shows what its content says, then the end of what its terminals printed, and how the last of them ended.
    pub(super) fn show_printed(&mut self) {
        let BlockBody::Tool { preview, truncated, bytes, exit_code, .. } = &mut self.block.body else {
            return;
        };
        let mut shown = self.beside.clone().unwrap_or_default();
        let mut line = |text: &str| {
            if !shown.is_empty() && !shown.ends_with('\n') {
                shown.push('\n');
            }
            shown.push_str(text);
        };
        self.terminals.iter().for_each(|terminal| line(&terminal.tail));
        let printed: u64 = self.terminals.iter().map(|terminal| terminal.bytes).sum();
        let ended = self.terminals.iter().all(|terminal| terminal.end.is_some());
        if ended && printed == 0 && self.beside.is_none() {
            line(NO_OUTPUT);
        }
        let end = self.terminals.last().and_then(|terminal| terminal.end.as_ref());
        *exit_code = end.and_then(|end| end.code).or(*exit_code);
        let said = end.and_then(|end| match (end.code, &end.signal) {
            (Some(0), _) | (None, None) => None,
            (Some(code), _) => Some(format!("[exit code {code}]")),
            (None, Some(signal)) => Some(format!("[ended by {signal}]")),
        });
        let room = PREVIEW - said.as_ref().map_or(0, |said| said.len() + 1);
        let is_cut = self.terminals.iter().any(ShownTerminal::is_cut) || shown.len() > room;
        if is_cut {
            shown = format!("…{}", cut::end_of_output(&shown, room - '…'.len_utf8()));
        }
        if let Some(said) = said {
            let between = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
            shown = format!("{shown}{between}{said}");
        }
        if shown.is_empty() && self.foreseen {
            return;
        }
        *preview = (!shown.is_empty()).then_some(shown);
        *truncated = (is_cut || self.diff_cut).then_some(true);
        *bytes = Some(printed);
        self.foreseen = false;
    }

    /// A command in a terminal that the agent itself runs ended, and the agent never told of any output.
    pub(super) fn say_no_output(&mut self) {
        let BlockBody::Tool { preview, exit_code, .. } = &mut self.block.body else { return };
        let told = preview.as_deref().filter(|_| !self.foreseen);
        if told.is_none_or(|told| told.starts_with("[exit code ")) {
            let code = exit_code.filter(|code| *code != 0).map(|code| format!("\n[exit code {code}]"));
            *preview = Some(format!("{NO_OUTPUT}{}", code.unwrap_or_default()));
            self.foreseen = false;
        }
    }

    pub(super) fn ends_its_line(&self) -> bool {
        matches!(&self.block.body, BlockBody::Tool { preview: Some(shown), .. } if shown.ends_with('\n'))
    }

    /// Shows what was printed to one of its streams, on a line of its own where the last piece went to the other one.
    pub(in crate::domain::view) fn print_to(&mut self, stream: PrintStream, text: &str) {
        let other = self.stream.replace(stream).is_some_and(|last| last != stream);
        if let BlockBody::Tool { preview: Some(shown), .. } = &mut self.block.body
            && other
            && self.printed > 0
            && !shown.ends_with('\n')
        {
            shown.push('\n');
        }
        self.print(text);
    }

    /// Shows the end of what was printed so far.
    pub(in crate::domain::view) fn print(&mut self, text: &str) {
        let BlockBody::Tool { preview, truncated, bytes, .. } = &mut self.block.body else { return };
        let mut shown = preview.take().filter(|_| self.printed > 0).unwrap_or_default();
        self.printed += text.len() as u64;
        shown.push_str(text);
        if shown.len() > PREVIEW {
            shown = format!("…{}", cut::end_of_output(&shown, PREVIEW - '…'.len_utf8()));
            *truncated = Some(true);
        }
        *preview = Some(shown);
        *bytes = Some(self.printed);
        self.foreseen = false;
    }

    /// Says below what is shown that a command failed.
    pub(super) fn show_exit(&mut self, code: i64) {
        let BlockBody::Tool { preview, exit_code, .. } = &mut self.block.body else { return };
        *exit_code = Some(code);
        if code == 0 {
            return;
        }
        let said = format!("[exit code {code}]");
        let shown = preview.take().filter(|_| !self.foreseen).unwrap_or_default();
        let between = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
        *preview = Some(if shown.ends_with(&said) { shown } else { format!("{shown}{between}{said}") });
        self.foreseen = false;
    }
}
