//! `breadboard-ls ask` on a real terminal: a pseudo terminal whose other end is this test.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use breadboard_ls::testing::simulate::desktop::HostDialect;
use rustix::pty::OpenptFlags;
use serde_json::json;

use crate::breadboard_desk::{Desk, asks, warning};
use crate::desktop_desk::HostDesk;

/// Longest wait for something to be shown; only a failure takes that long.
const PATIENCE: Duration = Duration::from_secs(60);
const BEFORE: &str = "red and blue\n";
const QUESTION: &str = "Answer (y, a, 1, n, e):";
const PROGRAM: &str = env!("CARGO_BIN_EXE_breadboard-ls");

/// A question that runs on a terminal.
pub struct Session {
    pub child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    pub shown: String,
    pub workspace: tempfile::TempDir,
    pub _state: tempfile::TempDir,
}

impl Session {
    fn ask(question: &str) -> Self {
        Self::start(question, &[], 80)
    }

    /// On a terminal that is so wide.
    fn start(question: &str, flags: &[&str], columns: u16) -> Self {
        Self::over(BEFORE, question, flags, columns)
    }

    /// In a folder with this file.
    pub fn over(text: &str, question: &str, flags: &[&str], columns: u16) -> Self {
        let workspace = tempfile::tempdir().expect("a workspace");
        let state = tempfile::tempdir().expect("a state directory");
        std::fs::write(workspace.path().join("a.txt"), text).expect("a file");
        let mut command = Command::new(PROGRAM);
        command.args(["ask", question, "--trust", "--workspace"]).arg(workspace.path());
        command.arg("--state-dir").arg(state.path().join("state")).args(flags);
        Self::of(command, columns, workspace, state)
    }

    /// On a terminal that can show nothing but text.
    fn plain(question: &str, flags: &[&str]) -> Self {
        let workspace = tempfile::tempdir().expect("a workspace");
        let state = tempfile::tempdir().expect("a state directory");
        let mut command = Command::new("env");
        command.args(["TERM=dumb", PROGRAM, "ask", question, "--trust", "--workspace"]).arg(workspace.path());
        command.arg("--state-dir").arg(state.path().join("state")).args(flags);
        Self::of(command, 80, workspace, state)
    }

    pub fn of(
        mut command: Command,
        columns: u16,
        workspace: tempfile::TempDir,
        state: tempfile::TempDir,
    ) -> Self {
        let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
        rustix::pty::grantpt(&ours).expect("it is ours");
        rustix::pty::unlockpt(&ours).expect("it is open");
        let size = rustix::termios::Winsize { ws_row: 60, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&ours, size).expect("it takes a size");
        let name = rustix::pty::ptsname(&ours, Vec::new()).expect("it has a name");
        let theirs = OwnedFd::from(
            File::options()
                .read(true)
                .write(true)
                .open(Path::new(name.to_str().expect("a name in UTF-8")))
                .expect("the other end"),
        );
        let end = || Stdio::from(theirs.try_clone().expect("a copy of the other end"));
        command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm");
        for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN", "NO_COLOR"] {
            command.env_remove(name);
        }
        let child = command.spawn().expect("the binary starts");
        drop((command, theirs));
        let keyboard = File::from(ours);
        let mut reader = keyboard.try_clone().expect("a copy of our end");
        let (sender, screen) = sync_channel(64);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // The last one that closes the other end makes this an error on Linux and an end elsewhere.
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                if sender.send(piece[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard, screen, shown: String::new(), workspace, _state: state }
    }

    /// Reads the screen until `part` was shown.
    pub fn wait_for(&mut self, part: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.shown.contains(part) {
            let left = until.saturating_duration_since(Instant::now());
            let piece = self.screen.recv_timeout(left);
            let piece = piece.unwrap_or_else(|_| panic!("{part:?} was not shown: {}", self.shown));
            self.shown.push_str(&String::from_utf8_lossy(&piece));
        }
    }

    pub fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).expect("the terminal takes a line");
    }

    /// What Ctrl-D is at the beginning of a line.
    pub fn no_more_lines(&mut self) {
        self.keyboard.write_all(b"\x04").expect("the terminal takes it");
    }

    /// Reads the screen to its end; gives the exit code.
    pub fn end(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        while let Ok(piece) = self.screen.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.shown.push_str(&String::from_utf8_lossy(&piece));
        }
        assert!(Instant::now() < until, "the end did not come: {}", self.shown);
        self.child.wait().expect("the binary can be waited for").code()
    }

    pub fn file(&self) -> String {
        std::fs::read_to_string(self.workspace.path().join("a.txt")).expect("the file is there")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn yes_at_the_prompt_changes_the_file_after_its_diff_was_shown_once() {
    let mut session = Session::ask("replace red with green in a.txt");
    session.wait_for(QUESTION);
    assert_eq!(session.file(), BEFORE, "nothing is written before the answer");
    assert_eq!(session.shown.matches("+green and blue").count(), 1, "{}", session.shown);
    session.type_line("y");
    assert_eq!(session.end(), Some(0), "{}", session.shown);
    assert_eq!(session.file(), "green and blue\n");
    assert!(session.shown.contains("\x1b[36ma.txt\x1b[0m was changed"), "{}", session.shown);
}

#[test]
fn what_a_saved_rule_covers_is_done_where_nobody_can_be_asked() {
    // Given a rule for the workspace, saved by an answer
    let mut session = Session::ask("replace red with green in a.txt");
    session.wait_for(QUESTION);
    session.type_line("1");
    assert_eq!(session.end(), Some(0), "{}", session.shown);
    assert_eq!(session.file(), "green and blue\n");
    // When the like is asked for without a terminal
    let mut command = Command::new(PROGRAM);
    command.args(["ask", "replace green with red in a.txt", "--trust", "--workspace"]);
    command.arg(session.workspace.path()).arg("--state-dir").arg(session._state.path().join("state"));
    for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "BREADBOARD_MODEL_TOKEN"] {
        command.env_remove(name);
    }
    let output = command.stdin(Stdio::null()).output().expect("the binary runs");
    // Then it is done, and nothing says that it was denied
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(session.file(), BEFORE, "{said}");
    assert!(said.contains("allowed by rule") && !said.contains("denied"), "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_piped_in_leaves_the_answers_to_the_terminal() {
    let workspace = tempfile::tempdir().expect("a workspace");
    let state = tempfile::tempdir().expect("a state directory");
    std::fs::write(workspace.path().join("a.txt"), BEFORE).expect("a file");
    // The shell gets the terminal as its own, and the question from a pipe.
    let asked = format!(
        "echo 'replace red with green in a.txt' | '{PROGRAM}' ask - --trust --workspace '{}' --state-dir '{}'",
        workspace.path().display(),
        state.path().join("state").display()
    );
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", "sh", "-c", &asked]);
    let mut session = Session::of(command, 80, workspace, state);
    session.wait_for(QUESTION);
    session.type_line("y");
    assert_eq!(session.end(), Some(0), "{}", session.shown);
    assert_eq!(session.file(), "green and blue\n", "{}", session.shown);
}

#[test]
fn r001_68_what_waited_when_the_terminal_closed_is_asked_again_and_goes_on() {
    // Given a change that waited when its terminal was closed
    let mut first = Session::ask("replace red with green in a.txt");
    first.wait_for(QUESTION);
    first.child.kill().expect("it can be killed");
    first.child.wait().expect("it can be waited for");
    let again = |command: &mut Command| {
        command.args(["ask", "--continue", "--trust", "--workspace"]).arg(first.workspace.path());
        command.arg("--state-dir").arg(first._state.path().join("state"));
    };
    // When nobody can be asked, it is left as it is
    let mut alone = Command::new(PROGRAM);
    again(&mut alone);
    let alone = alone.stdin(Stdio::null()).output().expect("the binary runs");
    let said = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(said.contains("This session waits for an answer, and nobody can be asked here"), "{said}");
    assert_eq!(alone.status.code(), Some(4), "{said}");
    // When it is taken up on a terminal
    let place = || tempfile::tempdir().expect("a directory");
    let mut command = Command::new(PROGRAM);
    again(&mut command);
    let mut next = Session::of(command, 80, place(), place());
    next.wait_for(QUESTION);
    assert!(next.shown.contains("+green and blue"), "{}", next.shown);
    assert_eq!(first.file(), BEFORE);
    next.type_line("y");
    // Then the turn goes on
    assert_eq!(next.end(), Some(0), "{}", next.shown);
    assert_eq!(first.file(), "green and blue\n");
}

#[test]
fn no_at_the_prompt_leaves_the_file_and_another_word_asks_again() {
    let mut session = Session::ask("replace red with green in a.txt");
    session.wait_for(QUESTION);
    session.type_line("perhaps");
    session.wait_for("perhaps");
    session.type_line("n");
    assert_eq!(session.end(), Some(1), "{}", session.shown);
    assert_eq!(session.file(), BEFORE);
    assert_eq!(session.shown.matches(QUESTION).count(), 2, "{}", session.shown);
    assert!(session.shown.contains("perhaps is no answer; type one of y, a, 1, n, e."), "{}", session.shown);
    assert!(session.shown.contains("not allowed, so nothing was written"), "{}", session.shown);
}

#[test]
fn without_a_word_on_a_terminal_it_says_what_it_is() {
    let place = || tempfile::tempdir().expect("a directory");
    let mut session = Session::of(Command::new(PROGRAM), 80, place(), place());
    assert_eq!(session.end(), Some(2), "{}", session.shown);
    assert!(
        session.shown.contains("is a language server") && session.shown.contains("--help"),
        "{}",
        session.shown
    );
}

/// What a terminal shows in the end: its rows, from what was written to it.
fn screen(shown: &str, columns: usize) -> Vec<String> {
    let (mut rows, mut row, mut column) = (vec![Vec::new()], 0, 0);
    let mut letters = shown.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' => {
                let sequence: String =
                    letters.by_ref().take_while(|letter| !letter.is_ascii_alphabetic()).collect();
                if sequence == "[2" {
                    rows[row].clear();
                }
            }
            letter => {
                if column == columns {
                    (row, column) = (row + 1, 0);
                }
                rows.resize(rows.len().max(row + 1), Vec::new());
                let cells = rows[row].len().max(column + 1);
                rows[row].resize(cells, ' ');
                rows[row][column] = letter;
                column += 1;
            }
        }
        rows.resize(rows.len().max(row + 1), Vec::new());
    }
    rows.into_iter().map(|row| row.into_iter().collect()).collect()
}

#[test]
fn nothing_of_the_answer_is_erased_on_a_terminal_of_any_width() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("script.json");
    let script = serde_json::json!([
        { "chunk": "Let me read the file." },
        { "thought": "Where is it? I look into one folder after the other, since nobody told me where it lies." },
        { "tool_call": { "toolCallId": "a", "kind": "read", "status": "pending",
            "title": "src/a/path/that/is/longer/than/the/row/of/a/narrow/terminal/greeting.rs" } },
        { "tool_call_update": { "toolCallId": "a", "status": "completed" } },
        { "chunk": "Now I change the greeting." },
    ]);
    std::fs::write(&file, script.to_string()).expect("a script");
    let engine = format!("--engine=acp:'{PROGRAM}' simulate acp --rate 50 --script \"{}\"", file.display());
    for columns in [24, 44, 200] {
        let mut session = Session::start("go", &[&engine], columns);
        assert_eq!(session.end(), Some(0), "{}", session.shown);
        let rows = screen(&session.shown, usize::from(columns));
        let text = rows.concat();
        for part in ["Let me read the file.", "greeting.rs", "Now I change the greeting."] {
            assert!(text.contains(part), "{part:?} in {rows:#?}");
        }
        assert!(!text.contains('…'), "no progress line is left: {rows:#?}");
        assert!(session.shown.contains("\x1b[2m"), "progress was shown: {}", session.shown);
        assert_eq!(rows.last().map(String::as_str), Some(""), "{rows:#?}");
    }
}

#[test]
fn an_agents_options_have_its_words_and_a_key_each() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("script.json");
    let script = serde_json::json!([
        { "ask": { "toolCall": { "toolCallId": "c", "rawInput": { "command": "make" }, "kind": "execute" }, "options": [
            { "optionId": "once", "name": "Yes", "kind": "allow_once" },
            { "optionId": "proj", "name": "Always in the project", "kind": "allow_always" },
            { "optionId": "ever", "name": "Always and everywhere", "kind": "allow_always" },
            { "optionId": "no", "name": "No, go on", "kind": "reject_once" } ] },
          "on": { "ever": [{ "chunk": "for ever then" }], "else": [{ "chunk": "something else" }] } },
    ]);
    std::fs::write(&file, script.to_string()).expect("a script");
    let engine = format!("--engine=acp:'{PROGRAM}' simulate acp --script \"{}\"", file.display());
    let mut session = Session::start("go", &[&engine], 80);
    session.wait_for("Answer (y, a, 1, n):");
    for line in [
        "   y  Yes\r\n",
        "   a  Always in the project — a rule",
        "   1  Always and everywhere — a rule",
        "   n  No, go on",
    ] {
        assert!(session.shown.contains(line), "{line:?} in {}", session.shown);
    }
    session.type_line("");
    session.wait_for("nothing is no answer; type one of y, a, 1, n.");
    session.type_line("1");
    assert_eq!(session.end(), Some(0), "{}", session.shown);
    assert!(session.shown.contains("for ever then"), "{}", session.shown);
}

/// An engine that is an agent of this script.
fn agent(place: &tempfile::TempDir, script: &serde_json::Value) -> String {
    let file = place.path().join("script.json");
    std::fs::write(&file, script.to_string()).expect("a script");
    format!("--engine=acp:'{PROGRAM}' simulate acp --script \"{}\"", file.display())
}

#[test]
fn d4_a_change_that_is_longer_than_an_event_carries_is_drawn_whole_before_it_is_asked() {
    // Given an agent that asks to write a long file, whose last line is what matters
    let place = tempfile::tempdir().expect("a directory");
    let lines: String = (0..4_000).map(|at| format!("line {at}\n")).collect();
    let change = serde_json::json!({ "type": "diff", "path": "${cwd}/new.sh", "oldText": null,
        "newText": format!("{lines}rm_rf_everything\n") });
    let script = serde_json::json!([
        { "ask": { "toolCall": { "toolCallId": "c", "kind": "edit", "content": [change] } },
          "on": { "allow_once": [{ "chunk": "allowed" }], "else": [{ "chunk": "not allowed" }] } },
    ]);
    let mut session = Session::start("go", &[&agent(&place, &script)], 80);
    // When it is asked
    session.wait_for("Answer (");
    // Then every line of it stands above the question, once
    for line in ["+line 0\r\n", "+line 2000\r\n", "+line 3999\r\n", "+rm_rf_everything\r\n"] {
        let shown = session.shown.replace("\x1b[32m", "").replace("\x1b[0m", "");
        assert_eq!(shown.matches(line).count(), 1, "{line:?}");
    }
    session.type_line("n");
    session.end();
    assert!(session.shown.contains("not allowed"));
}

#[test]
fn trust_is_asked_for_at_every_run_and_nothing_is_remembered() {
    // Given an agent, which is started in a trusted folder only, and the same folder and state at every run
    let place = tempfile::tempdir().expect("a directory");
    let engine = agent(&place, &serde_json::json!([{ "chunk": "Hello you" }]));
    let (workspace, state) = (place.path().join("w"), place.path().join("state"));
    std::fs::create_dir(&workspace).expect("a workspace");
    let run = |answer: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(["ask", "go", &engine, "--workspace"]).arg(&workspace).arg("--state-dir").arg(&state);
        let own = || tempfile::tempdir().expect("a directory");
        let mut session = Session::of(command, 200, own(), own());
        session.wait_for("Trust this folder (");
        session.wait_for("? [y/N] ");
        session.type_line(answer);
        (session.end(), session.shown.contains("Hello you"))
    };
    // When it is trusted, then it works, and the next run asks again
    assert_eq!(run("y"), (Some(0), true));
    assert_eq!(run("yes"), (Some(0), true));
    // And without a yes nothing is started
    assert_eq!(run("n"), (Some(4), false));
    assert_eq!(run(""), (Some(4), false));
    assert_eq!(run("y"), (Some(0), true));
}

#[test]
fn a_change_that_is_allowed_in_a_folder_that_is_not_trusted_asks_for_trust() {
    for (answer, file) in [("y", "green and blue\n"), ("n", BEFORE)] {
        // Given a change that waited, in a run that did trust the folder
        let mut first = Session::ask("replace red with green in a.txt");
        first.wait_for(QUESTION);
        first.child.kill().expect("it can be killed");
        first.child.wait().expect("it can be waited for");
        // When it is allowed in a run that was not told to trust it
        let mut command = Command::new(PROGRAM);
        command.args(["ask", "--continue", "--workspace"]).arg(first.workspace.path());
        command.arg("--state-dir").arg(first._state.path().join("state"));
        let own = || tempfile::tempdir().expect("a directory");
        let mut next = Session::of(command, 200, own(), own());
        next.wait_for(QUESTION);
        next.type_line("y");
        // Then the folder is asked about, and without a yes nothing is written
        next.wait_for("? [y/N] ");
        assert_eq!(first.file(), BEFORE);
        next.type_line(answer);
        next.end();
        assert_eq!(first.file(), file, "{}", next.shown);
        assert_eq!(
            next.shown.contains("denied: the folder is not trusted."),
            answer == "n",
            "{}",
            next.shown
        );
    }
}

#[test]
fn ctrl_c_stops_the_turn_that_waits_for_an_answer() {
    let mut session = Session::ask("replace red with green in a.txt");
    session.wait_for(QUESTION);
    let id = rustix::process::Pid::from_child(&session.child);
    // What a terminal does for Ctrl-C in its foreground.
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("the signal is sent");
    assert_eq!(session.end(), Some(130), "{}", session.shown);
    assert_eq!(session.file(), BEFORE);
    assert!(session.shown.contains("stopping"), "{}", session.shown);
}

#[test]
fn markdown_of_an_answer_is_drawn_on_a_terminal_and_left_as_it_is_without_colours() {
    let script = tempfile::tempdir().expect("a directory");
    let file = script.path().join("script.json");
    let steps = r##"[{"chunk": "# Ti"}, {"chunk": "tle\n\nsome **bo"}, {"chunk": "ld** `code`\n\n- one\n- two\n\n```rust\nfn a() {}\n"},
        {"chunk": "```\n\nsee a.txt:1\n\n"}, {"plan": [{"content": "look", "status": "completed", "priority": "high"}]}, {"chunk": "the *end"}]"##;
    std::fs::write(&file, steps).expect("a script");
    let engine = format!("--engine=acp:'{PROGRAM}' simulate acp --script '{}'", file.display());
    let mut session = Session::start("go", &[&engine], 20);
    assert_eq!(session.end(), Some(0), "{}", session.shown);
    let wanted = "\x1b[1m\x1b[4mTitle\x1b[0m\x1b[1m\x1b[0m\r\n\r\nsome \x1b[1mbold\x1b[0m \x1b[36mcode\x1b[0m\r\n\r\n\
        • one\r\n• two\r\n\r\n\x1b[2m```rust\x1b[0m\r\n\x1b[36mfn a() {}\x1b[0m\r\n\x1b[2m```\x1b[0m\r\n";
    assert!(session.shown.contains(wanted), "{:?}", session.shown);
    assert!(session.shown.contains("the *end\r\n"), "{:?}", session.shown);
    // A place in a file is a link that opens there.
    assert!(session.shown.contains("see \x1b]8;;file:///"), "{:?}", session.shown);
    assert!(session.shown.contains("/a.txt#1\x1b\\a.txt:1\x1b]8;;\x1b\\\r\n"), "{:?}", session.shown);

    let mut session = Session::plain("go", &[&engine]);
    assert_eq!(session.end(), Some(0), "{}", session.shown);
    let wanted = "# Title\r\n\r\nsome **bold** `code`\r\n\r\n- one\r\n- two\r\n\r\n```rust\r\nfn a() {}\r\n```\r\n\r\nsee a.txt:1\r\n";
    assert!(session.shown.contains(wanted) && !session.shown.contains('\x1b'), "{:?}", session.shown);
}

/// A question to this engine, in a terminal of 200 columns, that waits for an answer to what the engine asked.
fn asked_by(desk: &Desk, flags: &[&str]) -> Session {
    let place = || tempfile::tempdir().expect("a directory");
    let (workspace, state) = (place(), place());
    let mut command = Command::new(PROGRAM);
    command.args(["ask", "build", "--trust", "--engine-url", desk.engine.base_url(), "--workspace"]);
    command.arg(workspace.path()).arg("--state-dir").arg(state.path().join("state")).args(flags);
    let mut session = Session::of(command, 200, workspace, state);
    session.wait_for(ASKED);
    session
}

const ASKED: &str = "Answer (y, a, n): ";

/// The rows of a screen from the first question on; each question has a row of its own, with what was typed to it.
fn rows_at_question(shown: &str) -> Vec<String> {
    let mut rows = screen(shown, 200);
    let first = rows.iter().position(|row| row.contains("Answer (")).expect("a question");
    let alone = |row: &String| matches!(row.strip_prefix(ASKED), Some("" | "y"));
    assert!(rows.iter().filter(|row| row.contains("Answer (")).all(alone), "{rows:#?}");
    rows.split_off(first)
}

#[test]
fn a_question_whose_engine_dies_is_put_again_below_what_is_said_and_dropped_in_time() {
    // Given a question that waits
    let desk = Desk::scripted(&json!([[asks("make all", "made", "not made")]]));
    let mut session = asked_by(&desk, &["--timeout", "3"]);
    // When its engine dies
    drop(desk);
    // Then that is said below the question, which is put again, until there has been no connection for as long as was given
    assert_eq!(session.end(), Some(1), "{}", session.shown);
    let rows = rows_at_question(&session.shown);
    assert!(rows.iter().filter(|row| *row == ASKED).count() >= 2, "{rows:#?}");
    let [.., over, dropped, last] = rows.as_slice() else { panic!("{rows:#?}") };
    assert!(over.starts_with("error: No events of the engine came for 3 s"), "{rows:#?}");
    let reasons = rows.iter().filter(|row| row.contains("nothing listens there")).count();
    assert_eq!(reasons, 1, "{rows:#?}");
    let wanted = "the question is dropped, since no answer would reach the engine.";
    assert_eq!((dropped.as_str(), last.as_str()), (wanted, ""), "{rows:#?}");
}

/// Why there is no connection was said when it broke, and again with the wait, and once more with its end.
#[test]
fn why_a_host_is_lost_is_said_once_on_a_terminal_and_without_one() {
    for on_terminal in [true, false] {
        // Given a turn that goes on at a host
        let steps = json!([{ "say": "First.\n\nMore" }, { "hold": "on" }]);
        let desk = HostDesk::scripted(HostDialect::Seed, &json!([{ "steps": steps }]));
        let place = || tempfile::tempdir().expect("a directory");
        let (workspace, state) = (place(), place());
        let mut command = Command::new(if on_terminal { PROGRAM } else { "sh" });
        if !on_terminal {
            // Its terminal is that of `cat`.
            command.args(["-c", "(\"$0\" \"$@\"; echo \"code $?\") 2>&1 </dev/null | cat", PROGRAM]);
        }
        command.args(["ask", "go", "--trust", "--timeout=3", "--workspace"]).arg(workspace.path());
        command.arg(format!("--engine=desktop:{}", desk.host.base_url()));
        command.arg("--state-dir").arg(state.path().join("state")).env("NO_PROXY", "127.0.0.1");
        let mut session = Session::of(command, 200, workspace, state);
        session.wait_for("First.");
        // When the host goes
        drop(desk);
        // Then why it is not there is said once, and that nothing came
        assert_eq!(session.end(), Some(i32::from(on_terminal)), "{}", session.shown);
        let rows = screen(&session.shown, 200);
        let reasons = rows.iter().filter(|row| row.contains("nothing listens there")).count();
        assert_eq!(reasons, 1, "{rows:#?}");
        let over = "error: No events of the engine came for 3 s; run `breadboard-ls doctor`.";
        assert_eq!(rows.iter().filter(|row| *row == over).count(), 1, "{rows:#?}");
    }
}

#[test]
fn a_question_that_still_waits_is_put_again_and_takes_the_answer() {
    let desk = Desk::scripted(&json!([[asks("make all", "made", "not made")]]));
    let mut session = asked_by(&desk, &[]);
    let id = desk.engine.sessions().remove(0);
    desk.engine.emit(&id, "warning", &warning("The disk is nearly full."));
    session.wait_for(&format!("The disk is nearly full.\x1b[0m\r\n{ASKED}"));
    session.type_line("y");
    assert_eq!(session.end(), Some(0), "{}", session.shown);
    let rows = rows_at_question(&session.shown);
    let begin = [ASKED, "The disk is nearly full.", &format!("{ASKED}y")];
    assert_eq!(rows[..3], begin, "{rows:#?}");
    assert!(rows.iter().any(|row| row == "made"), "{rows:#?}");
}

#[test]
fn a_question_that_is_answered_elsewhere_is_dropped_with_a_sentence_on_a_row_of_its_own() {
    let desk = Desk::scripted(&json!([[asks("make all", "made", "not made")]]));
    let mut session = asked_by(&desk, &[]);
    let id = desk.engine.sessions().remove(0);
    let answer = json!({ "request_id": "permission_1", "decision": "allow-once" });
    let answer = json!({ "command": "permission_decision", "payload": answer });
    assert_eq!(desk.post(&format!("/v1/sessions/{id}/command"), &answer).0, 202);
    assert_eq!(session.end(), Some(0), "{}", session.shown);
    let rows = rows_at_question(&session.shown);
    let begin = [ASKED, "· allowed elsewhere", "this was settled meanwhile; no answer is needed."];
    assert_eq!(rows[..3], begin, "{rows:#?}");
    assert_eq!(rows.iter().filter(|row| *row == ASKED).count(), 1, "{rows:#?}");
    assert!(rows.iter().any(|row| row == "made"), "{rows:#?}");
}
