//! The fuzz targets on the stable compiler: each over its corpus and over seeded mutations of it.
//!
//! What a target promises is in `fuzz/entries`, which libFuzzer runs as well (`scripts/fuzz.sh`). An input that fails is left
//! in the target directory. Environment: `BREADBOARD_FUZZ_RUNS` is how many mutations (10,000 a target),
//! `BREADBOARD_FUZZ_SEED` their seed (with `CI=true` it is the day, else always the same), and `BREADBOARD_FUZZ_INPUT` is a
//! file that is run instead of all that, by the one target that is named on the command line.

mod corpus;
#[path = "../../fuzz/entries/mod.rs"]
mod entries;
mod mutate;
mod runs;
#[path = "../../fuzz/entries/server/mod.rs"]
mod server;
mod written;

#[global_allocator]
static ALLOCATOR: entries::memory::Counting = entries::memory::Counting;

#[test]
fn acp() {
    runs::all_hold("acp");
}

#[test]
fn agent_lines() {
    runs::all_hold("agent_lines");
}

#[test]
fn breadboard() {
    runs::all_hold("breadboard");
}

#[test]
fn desktop() {
    runs::all_hold("desktop");
}

#[test]
fn diff() {
    runs::all_hold("diff");
}

#[test]
fn editor() {
    runs::all_hold("editor");
}

#[test]
fn frames() {
    runs::all_hold("frames");
}

#[test]
fn front() {
    runs::all_hold("front");
}

#[test]
fn imports() {
    runs::all_hold("imports");
}

#[test]
fn lenient_json() {
    runs::all_hold("lenient_json");
}

#[test]
fn redact() {
    runs::all_hold("redact");
}

#[test]
fn sse() {
    runs::all_hold("sse");
}

#[test]
fn every_target_is_run_here_and_by_libfuzzer() {
    let here = include_str!("main.rs");
    let manifest = include_str!("../../fuzz/Cargo.toml");
    for (name, _) in runs::targets() {
        assert!(here.contains(&format!("all_hold(\"{name}\")")), "{name} is not run here");
        assert!(
            manifest.contains(&format!("path = \"targets/{name}.rs\"")),
            "{name} is no target of libFuzzer"
        );
    }
    assert_eq!(manifest.matches("[[bin]]").count(), runs::targets().count());
}
