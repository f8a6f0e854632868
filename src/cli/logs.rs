//! `breadboard-ls logs`: where the logs are, and the last lines of one.
//!
//! Owns how they are found and shown. Secrets were taken out when a log was written; those of this process's environment are
//! taken out once more. Never opens a file that is not in the list.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::args::LogsArgs;
use super::ask::refuse;
use super::exit::Exit;
use super::knowledge::Knowledge;
use super::printed::print;
use super::terminal::visible;
use super::variables::TOKEN_VARIABLES;
use crate::domain::policy::redact::Redactor;
use crate::engine::acp::presets::keys_of_all;

/// The most that is read of a log, from its end.
const TAIL: u64 = 256 << 10;

/// One log of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FoundLog {
    /// Name of the agent, as its file is called.
    agent: String,
    file: PathBuf,
    changed: SystemTime,
    bytes: u64,
}

/// Lists them and shows the end of the newest, or shows the end of the one that was named.
pub(super) fn logs(args: &LogsArgs, knowledge: Knowledge) -> Exit {
    let Some(state) = (knowledge.state_dir)(args.state_dir.as_deref()) else {
        return refuse("There is no place for state; give --state-dir.", Exit::Failed);
    };
    let place = state.join("agents");
    let found = newest_first(&place);
    let text = match &args.name {
        Some(name) => match found.iter().find(|log| log.agent == *name) {
            Some(log) => end_of(log, args.lines),
            None => return refuse(&unknown(name, &found, &place), Exit::Failed),
        },
        None => overview(&place, &found, args.lines),
    };
    print(text.as_bytes(), Exit::Done)
}

fn unknown(name: &str, found: &[FoundLog], place: &Path) -> String {
    if found.is_empty() {
        return format!("There is no log of `{name}`, nor of another agent, in {}.", place.display());
    }
    let names: Vec<String> = found.iter().map(|log| format!("`{}`", log.agent)).collect();
    format!("There is no log of `{name}`; there are those of {}.", names.join(", "))
}

fn overview(place: &Path, found: &[FoundLog], lines: usize) -> String {
    let mut text =
        "The server writes no log of its own: its editor has it, as the output of the language server.\n"
            .to_owned();
    let Some(newest) = found.first() else {
        text.push_str(&format!(
            "Agents write theirs to {}; there is none yet.\n",
            visible(&place.to_string_lossy())
        ));
        return text;
    };
    text.push_str("Logs of agents, newest first:\n");
    for log in found {
        let changed = humantime::format_rfc3339_seconds(log.changed);
        text.push_str(&format!(
            "  {changed}  {:>6} KiB  {}\n",
            log.bytes >> 10,
            visible(&log.file.to_string_lossy())
        ));
    }
    text.push_str(&format!("\nThe last lines of {}:\n", visible(&newest.agent)));
    text.push_str(&end_of(newest, lines));
    text
}

fn newest_first(place: &Path) -> Vec<FoundLog> {
    let mut found: Vec<FoundLog> = std::fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| log_at(entry.path()))
        .collect();
    found.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.agent.cmp(&b.agent)));
    found
}

fn log_at(file: PathBuf) -> Option<FoundLog> {
    let agent = file.file_name()?.to_str()?.strip_suffix(".log")?.to_owned();
    let data = std::fs::symlink_metadata(&file).ok().filter(std::fs::Metadata::is_file)?;
    Some(FoundLog { agent, changed: data.modified().ok()?, bytes: data.len(), file })
}

/// The last `lines` lines, safe to show.
fn end_of(log: &FoundLog, lines: usize) -> String {
    match read_end(&log.file) {
        Ok(text) => {
            let text = hidden(&text);
            let start = text.lines().count().saturating_sub(lines);
            text.lines().skip(start).map(|line| format!("{}\n", visible(line))).collect()
        }
        Err(error) => format!("It cannot be read ({}).\n", error.kind()),
    }
}

fn read_end(file: &Path) -> std::io::Result<String> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // What begins within a line is not shown: it may be the rest of something that was hidden.
    Ok(if from == 0 {
        text
    } else {
        text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default()
    })
}

fn hidden(text: &str) -> String {
    let mut redactor = Redactor::default();
    let names = TOKEN_VARIABLES.into_iter().chain(keys_of_all());
    for token in names.filter_map(|name| std::env::var(name).ok()) {
        redactor.add(token.trim());
    }
    String::from_utf8_lossy(&redactor.scrub(text.as_bytes())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_whole_lines_and_obeyed_by_no_terminal() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("a.log");
        let line = "x".repeat(999);
        let whole = format!("{}last\x1b[31m\n", format!("{line}\n").repeat(400));
        std::fs::write(&file, &whole).expect("a log");
        let log = log_at(file).expect("is one");
        assert_eq!(end_of(&log, 2), format!("{line}\nlast⟨U+001B⟩[31m\n"));
        assert!(end_of(&log, 100_000).lines().rev().skip(1).all(|shown| shown == line));
        assert_eq!(end_of(&log, 0), "");
    }

    #[test]
    fn only_logs_are_listed_and_the_newest_is_first() {
        let place = tempfile::tempdir().expect("a directory");
        for name in ["old.log", "new.log", "new.log.1", "other"] {
            std::fs::write(place.path().join(name), "x\n").expect("a file");
        }
        let past = SystemTime::UNIX_EPOCH;
        let old = File::options().write(true).open(place.path().join("old.log")).expect("is there");
        old.set_modified(past).expect("takes a time");
        let names: Vec<String> = newest_first(place.path()).into_iter().map(|log| log.agent).collect();
        assert_eq!(names, ["new", "old"]);
        assert_eq!(newest_first(&place.path().join("none")), []);
    }
}
