//! libFuzzer's side of `server::agent_lines`.

#![no_main]

#[path = "../entries/mod.rs"]
mod entries;
#[path = "../entries/server/mod.rs"]
mod server;

#[global_allocator]
static ALLOCATOR: entries::memory::Counting = entries::memory::Counting;

libfuzzer_sys::fuzz_target!(|data: &[u8]| server::agent_lines::run(data));
