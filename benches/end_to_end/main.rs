//! The whole server against its Node peer and its floor, as one table.
//!
//!     cargo run --profile dist -p end_to_end                   # prints the table
//!     cargo run --profile dist -p end_to_end -- --check        # and fails when a target is missed
//!     cargo run --profile dist -p end_to_end -- start egress   # only these groups: start, ping, egress, stalled,
//!                                                              # ingest, http, latency, large, reopen, slope, tabs, edits
//!     cargo run --profile dist -p end_to_end -- --short --check --slack   # as CI does
//!     cargo run --profile dist -p end_to_end -- --figures docs/figures.md # and writes the page of figures
//!
//! What is measured is the program of the same profile, which is built first where it is not, or the one that `BB_SERVER` names.
//!
//! `--short` measures less of each group. With `--slack` a figure that is a ratio or a limit of time may be three tenths
//! of its target; counts and limits in MiB have no slack. With `--check` a group that misses a target is measured once more, which is said, and its second
//! figures count.
//!
//! Absolute figures depend on the machine and what else it does; the targets are ratios taken in one run wherever that is
//! possible. The peer is built from `benches/node_peer` into the target directory and needs `node` and `npm`; without
//! them its column stays empty, and `--check` fails.

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod client;
mod edits;
mod egress;
mod flow;
mod ingest;
mod length;
mod memory;
mod mix;
mod model;
mod page;
mod peer;
mod source;
mod stalled;
mod start;
mod table;
mod tabs;
mod through;

use std::path::PathBuf;

use client::Program;
use length::Length;
use table::{Slack, Table};

const GROUPS: [&str; 12] = [
    "start", "ping", "egress", "stalled", "ingest", "http", "latency", "large", "reopen", "slope", "tabs",
    "edits",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--child") {
        let arguments = &arguments[at + 1..];
        match arguments.first().map(String::as_str) {
            Some("source") => source::child(&arguments[1..]),
            Some("through") => through::child(&arguments[1..]),
            _ => egress::child(arguments),
        }
        return;
    }
    let (mut check, mut length, mut slack) = (false, Length::Full, Slack::None);
    let (mut named, mut page) = (Vec::new(), None);
    let mut words = arguments.iter();
    while let Some(argument) = words.next() {
        match argument.as_str() {
            "--check" => check = true,
            "--short" => length = Length::Short,
            "--slack" => slack = Slack::Shared,
            "--figures" => match words.next() {
                Some(file) => page = Some(PathBuf::from(file)),
                None => {
                    eprintln!("--figures wants the file to write.");
                    std::process::exit(2);
                }
            },
            other => match GROUPS.iter().find(|group| **group == other) {
                Some(group) => named.push(*group),
                None => {
                    eprintln!(
                        "There is no `{other}`; there are --check, --short, --slack, --figures and {}.",
                        GROUPS.join(", ")
                    );
                    std::process::exit(2);
                }
            },
        }
    }

    if let Err(why) = client::build() {
        eprintln!("{why}");
        std::process::exit(1);
    }
    let peers = peer::build();
    if let Err(reason) = &peers {
        eprintln!("There is no Node peer: {reason}");
    }
    let peers = peers.unwrap_or_default();
    let mut table = Table::default();
    for group in GROUPS.into_iter().filter(|group| named.is_empty() || named.contains(group)) {
        let mut figures = Table::default();
        measure(group, &mut figures, &peers, length);
        let missed = figures.missed(slack);
        if check && !missed.is_empty() {
            eprintln!("`{group}` is measured once more, because this was missed:");
            missed.iter().for_each(|line| eprintln!("  {line}"));
            figures = Table::default();
            measure(group, &mut figures, &peers, length);
        }
        table.append(figures);
    }
    print!("{table}");
    if let Some(Err(why)) = page.map(|file| page::write(&file, &table, length)) {
        eprintln!("{why}");
        std::process::exit(1);
    }
    let missed = table.missed(slack);
    if check && !missed.is_empty() {
        println!("missed:");
        missed.iter().for_each(|line| println!("  {line}"));
        std::process::exit(1);
    }
}

fn measure(group: &str, table: &mut Table, peers: &[Program], length: Length) {
    match group {
        "start" => start::start(table, peers, length),
        "ping" => start::ping(table, peers, length),
        "egress" => egress::egress(table, peers, length),
        "stalled" => stalled::stalled(table),
        "ingest" => ingest::ingest(table, length),
        "http" => flow::http(table, length),
        "latency" => flow::latency(table, length),
        "large" => {
            ingest::large(table, length);
            flow::large(table, length);
        }
        "reopen" => flow::reopen(table, length),
        "slope" => flow::slope(table, length),
        "tabs" => tabs::tabs(table),
        "edits" => edits::edits(table, length),
        other => unreachable!("`{other}` is none of GROUPS"),
    }
}
