//! What a user feels before anything runs: the start, the memory of an idle server, the answer to a trivial request.

use std::time::Instant;

use serde_json::json;

use super::client::{Program, Server, options};
use super::length::Length;
use super::memory::{mebibytes, settled};
use super::table::{Figure, Table, Target, median};

/// Start to the answer of `initialize`, and resident memory after `bb/init`. Ours and the peers' take turns, so that a
/// busy moment of the machine hits all of them.
pub fn start(table: &mut Table, peers: &[Program], length: Length) {
    let mut programs = vec![Program::ours()];
    programs.extend_from_slice(peers);
    let mut starts = vec![Vec::new(); programs.len()];
    let mut memory = vec![Vec::new(); programs.len()];
    for round in 0..length.pick(15, 7) {
        for (index, program) in programs.iter().enumerate() {
            let state = tempfile::tempdir().expect("a directory");
            let root = tempfile::tempdir().expect("a directory");
            let begun = Instant::now();
            let mut server = Server::start(program);
            server.initialize(root.path(), options(state.path()));
            starts[index].push(begun.elapsed().as_secs_f64() * 1_000.0);
            server.greet();
            // Settling takes half a second, and memory hardly varies.
            if round < 3 {
                memory[index].extend(settled(server.child.id()).map(mebibytes));
            }
            server.stop();
        }
    }
    let best = |all: &[Vec<f64>]| {
        all[1..]
            .iter()
            .filter(|values| !values.is_empty())
            .map(|values| median(values.clone()))
            .reduce(f64::min)
    };
    let ours = median(starts[0].clone());
    let peer = best(&starts);
    table.add(Figure {
        what: "start to the `initialize` answer, ms".to_owned(),
        ours,
        peer,
        floor: None,
        targets: vec![Target::at_most("at most 1/20 of the peer", ours, peer.map(|peer| peer / 20.0))],
    });
    if !memory[0].is_empty() {
        let ours = median(memory[0].clone());
        let peer = best(&memory);
        table.add(Figure {
            what: "idle resident memory after `bb/init`, MiB".to_owned(),
            ours,
            peer,
            floor: None,
            targets: vec![Target::at_most("at most 1/4 of the peer", ours, peer.map(|peer| peer / 4.0))],
        });
    }
}

/// `bb/listSessions`, one at a time.
pub fn ping(table: &mut Table, peers: &[Program], length: Length) {
    let count = length.pick(3_000, 1_500);
    let (p50, p99) = pings(&Program::ours(), count);
    let peers: Vec<(f64, f64)> = peers.iter().map(|peer| pings(peer, count)).collect();
    let peer_p50 = peers.iter().map(|(p50, _)| *p50).reduce(f64::min);
    let peer_p99 = peers.iter().map(|(_, p99)| *p99).reduce(f64::min);
    table.add(Figure {
        what: "ping p50, µs".to_owned(),
        ours: p50,
        peer: peer_p50,
        floor: None,
        targets: vec![Target::at_most("at most the peer", p50, peer_p50)],
    });
    table.add(Figure {
        what: "ping p99, µs".to_owned(),
        ours: p99,
        peer: peer_p99,
        floor: None,
        targets: vec![Target::at_most("at most 1 ms", p99, Some(1_000.0))],
    });
}

fn pings(program: &Program, count: usize) -> (f64, f64) {
    let state = tempfile::tempdir().expect("a directory");
    let root = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(program);
    server.initialize(root.path(), options(state.path()));
    server.greet();
    let mut took: Vec<f64> = (0..count + 500)
        .map(|_| {
            let begun = Instant::now();
            server.request("bb/listSessions", json!({}));
            begun.elapsed().as_secs_f64() * 1e6
        })
        .skip(500)
        .collect();
    server.stop();
    took.sort_by(f64::total_cmp);
    (took[took.len() / 2], took[took.len() * 99 / 100])
}
