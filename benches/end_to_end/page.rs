//! The page of figures for people: the table, and of which commit, day and machine it is.
//!
//! Owns `docs/figures.md`. Never measures anything.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::length::Length;
use super::table::Table;

/// What is measured by commands of its own, and where its figures are.
const OTHERS: &str = "What a socket of the desktop host costs is printed by `cargo bench --bench desktop_host` (50 sockets at 200 events/s each, and one \
                      more that does not read), and what a search of 10,000 files, its index and one change of it cost by `cargo bench --bench \
                      retrieval`. Their figures: [0035](decisions/0035-desktop-proof.md), [0033](decisions/0033-index.md).\n";

/// Writes the page.
///
/// # Errors
/// One sentence, when the file cannot be written.
pub fn write(file: &Path, table: &Table, length: Length) -> Result<(), String> {
    let text = format!(
        "# Figures\n\nWritten by `cargo run --profile dist -p end_to_end -- {short}--figures docs/figures.md`, and by nobody's hand. What counts are the \
         ratios: to a language server in Node that does the same work with the libraries of its field (`benches/node_peer`), and to the \
         floor, which is what this machine gives at best for it. The absolute figures are this machine's.\n\n\
         | commit | day | machine | system |\n|--|--|--|--|\n| {} | {} | {} | {} |\n\n{table}\n{OTHERS}",
        commit(),
        day(),
        machine(),
        system(),
        short = if length == Length::Short { "--short " } else { "" },
    );
    fs::write(file, text).map_err(|error| format!("{} cannot be written: {error}", file.display()))
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "not of a checkout".to_owned();
    };
    // The page itself is written after it is measured.
    let changed = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ".",
        ":!docs/figures.md",
        ":!README.md",
    ]);
    if changed.is_some_and(|changed| changed.is_empty()) { commit } else { format!("{commit}, with changes") }
}

/// The day, UTC.
fn day() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()[..10].to_owned()
}

fn machine() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name").and_then(|rest| rest.split_once(": ")))
        .map_or("a processor without a name", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!("{name}, {cores} cores")
}

fn system() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.split('-').next().unwrap_or_default().trim();
    format!("{} {release}, {}", std::env::consts::OS, std::env::consts::ARCH)
}
