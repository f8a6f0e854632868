//! An agent that is not there: the Agent Client Protocol, version 1, on stdin and stdout, as a script or a recording says.
//!
//! Owns the options and how it starts. What it does: `agent` answers, `player` plays steps, `replay` plays a recording.
//! One process is one agent; nothing of it is shared but the file of its sessions.

mod agent;
mod answers;
mod demo;
mod desk;
mod effects;
mod log;
mod names;
mod player;
mod process;
mod replay;
mod script;
mod sessions;
mod steps;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use replay::Recording;
pub(crate) use script::Script;

use desk::{Desk, Output};
use log::Log;
use sessions::KeptSessions;

/// Longest line that is read: what a client sends is a prompt with its files, far below it.
const LONGEST_LINE: u64 = 256 * 1024 * 1024;

/// What the agent plays.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    /// What a script says.
    Script(Box<Script>),
    /// The agent's side of a recording.
    Recording(Recording),
}

/// How the agent is started.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// What it plays.
    pub play: Play,
    /// Chunks a second; 0: as fast as possible.
    pub rate: u32,
    /// Where sessions are kept for the next process; nothing: in memory only.
    pub sessions: Option<PathBuf>,
    /// Where every message goes, one JSON line each, in the form of a recording.
    pub log: Option<PathBuf>,
}

/// Plays until stdin ends or the script ends the process.
///
/// # Errors
/// One sentence when a file cannot be used.
pub(crate) fn run(options: Options) -> Result<i32, String> {
    let log = options.log.map(Log::append).transpose()?;
    let desk = Arc::new(Desk::new(Output::stdout(), log, options.rate));
    // A thread, so that the agent can outlive its stdin.
    let reader = Arc::clone(&desk);
    let (lines, heard) = std::sync::mpsc::sync_channel(64);
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || read_lines(&reader, &lines))
        .map_err(|error| format!("No thread could be started: {error}; free some memory."))?;
    match options.play {
        Play::Script(script) => agent::play(&desk, *script, KeptSessions::open(options.sessions)?, &heard),
        Play::Recording(recording) => replay::play(&desk, &recording, &heard),
    }
}

fn read_lines(desk: &Desk, lines: &std::sync::mpsc::SyncSender<Vec<u8>>) {
    let mut stdin = BufReader::new(std::io::stdin());
    loop {
        let mut line = Vec::new();
        match stdin.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        if line.is_empty() {
            continue;
        }
        desk.heard(&line);
        if lines.send(line).is_err() {
            return;
        }
    }
}

/// What went wrong outside the protocol; agents say such things on stderr.
fn complain(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "simulated agent: {sentence}");
}
