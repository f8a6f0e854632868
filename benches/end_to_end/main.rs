//! The whole server against its Node peer and its floor, as one table.
//!
//!     cargo bench --bench end_to_end                   # prints the table
//!     cargo bench --bench end_to_end -- --check        # and fails when a target is missed
//!     cargo bench --bench end_to_end -- start egress   # only these groups: start, ping, egress, stalled,
//!                                                   # ingest, http, latency, large, reopen, slope, tabs
//!
//! Absolute figures depend on the machine and what else it does; the targets are ratios taken in one run wherever that is
//! possible. The peer is built from `benches/node_peer` into the target directory and needs `node` and `npm`; without
//! them its column stays empty, and `--check` fails.

mod client;
mod egress;
mod flow;
mod ingest;
mod memory;
mod mix;
mod model;
mod peer;
mod source;
mod stalled;
mod start;
mod table;
mod tabs;
mod through;

use table::Table;

const GROUPS: [&str; 11] =
    ["start", "ping", "egress", "stalled", "ingest", "http", "latency", "large", "reopen", "slope", "tabs"];

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
    if !arguments.iter().any(|argument| argument == "--bench") {
        // `cargo test --all-targets` builds and starts benches too.
        println!("Run this with `cargo bench --bench end_to_end`.");
        return;
    }
    let named: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|name| GROUPS.contains(name)).collect();
    let wanted = |group: &str| named.is_empty() || named.contains(&group);

    let peers = peer::build();
    if let Err(reason) = &peers {
        eprintln!("There is no Node peer: {reason}");
    }
    let peers = peers.unwrap_or_default();
    let mut table = Table::default();
    if wanted("start") {
        start::start(&mut table, &peers);
    }
    if wanted("ping") {
        start::ping(&mut table, &peers);
    }
    if wanted("egress") {
        egress::egress(&mut table, &peers);
    }
    if wanted("stalled") {
        stalled::stalled(&mut table);
    }
    if wanted("ingest") {
        ingest::ingest(&mut table);
    }
    if wanted("http") {
        flow::http(&mut table);
    }
    if wanted("latency") {
        flow::latency(&mut table);
    }
    if wanted("large") {
        ingest::large(&mut table);
        flow::large(&mut table);
    }
    if wanted("reopen") {
        flow::reopen(&mut table);
    }
    if wanted("slope") {
        flow::slope(&mut table);
    }
    if wanted("tabs") {
        tabs::tabs(&mut table);
    }
    print!("{table}");
    let check = arguments.iter().any(|argument| argument == "--check");
    if check && !table.all_met() {
        std::process::exit(1);
    }
}
