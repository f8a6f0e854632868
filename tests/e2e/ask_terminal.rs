//! `breadboard-ls ask` on a real terminal: a pseudo terminal whose other end is this test.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use rustix::pty::OpenptFlags;

/// Longest wait for something to be shown; only a failure takes that long.
const PATIENCE: Duration = Duration::from_secs(60);
const BEFORE: &str = "red and blue\n";
const QUESTION: &str = "[y]es once / [n]o / [r]ule for this session?";

/// A question that runs on a terminal.
struct Session {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    shown: String,
    workspace: tempfile::TempDir,
    _state: tempfile::TempDir,
}

impl Session {
    fn ask(question: &str) -> Self {
        let workspace = tempfile::tempdir().expect("a workspace");
        let state = tempfile::tempdir().expect("a state directory");
        std::fs::write(workspace.path().join("a.txt"), BEFORE).expect("a file");
        let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
        rustix::pty::grantpt(&ours).expect("it is ours");
        rustix::pty::unlockpt(&ours).expect("it is open");
        let name = rustix::pty::ptsname(&ours, Vec::new()).expect("it has a name");
        let theirs = OwnedFd::from(
            File::options()
                .read(true)
                .write(true)
                .open(Path::new(name.to_str().expect("a name in UTF-8")))
                .expect("the other end"),
        );
        let end = || Stdio::from(theirs.try_clone().expect("a copy of the other end"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"));
        command.args(["ask", question, "--trust", "--workspace"]).arg(workspace.path());
        command.arg("--state-dir").arg(state.path().join("state"));
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
    fn wait_for(&mut self, part: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.shown.contains(part) {
            let left = until.saturating_duration_since(Instant::now());
            let piece = self.screen.recv_timeout(left);
            let piece = piece.unwrap_or_else(|_| panic!("{part:?} was not shown: {}", self.shown));
            self.shown.push_str(&String::from_utf8_lossy(&piece));
        }
    }

    fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).expect("the terminal takes a line");
    }

    /// Reads the screen to its end; gives the exit code.
    fn end(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        while let Ok(piece) = self.screen.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.shown.push_str(&String::from_utf8_lossy(&piece));
        }
        assert!(Instant::now() < until, "the end did not come: {}", self.shown);
        self.child.wait().expect("the binary can be waited for").code()
    }

    fn file(&self) -> String {
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
    assert!(session.shown.contains("`a.txt` was changed"), "{}", session.shown);
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
    assert!(session.shown.contains("not allowed, so nothing was written"), "{}", session.shown);
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
