//! The whole server against its Node peer and its floor, as one table.
//!
//!     cargo bench --bench end_to_end                   # prints the table
//!     cargo bench --bench end_to_end -- --check        # and fails when a target is missed
//!     cargo bench --bench end_to_end -- start egress   # only these groups: start, ping, egress, stalled
//!
//! Absolute figures depend on the machine and what else it does; the targets are ratios taken in one run wherever that is
//! possible. The peer is built from `benches/node_peer` into the target directory and needs `node` and `npm`; without
//! them its column stays empty, and `--check` fails.

mod client;
mod egress;
mod memory;
mod model;
mod peer;
mod stalled;
mod start;
mod table;

use table::Table;

const GROUPS: [&str; 4] = ["start", "ping", "egress", "stalled"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--child") {
        egress::child(&arguments[at + 1..]);
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
    print!("{table}");
    let check = arguments.iter().any(|argument| argument == "--check");
    if check && !table.all_met() {
        std::process::exit(1);
    }
}
