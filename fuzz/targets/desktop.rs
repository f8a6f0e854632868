//! libFuzzer's side of `entries::desktop`.

#![no_main]

#[path = "../entries/mod.rs"]
mod entries;

#[global_allocator]
static ALLOCATOR: entries::memory::Counting = entries::memory::Counting;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::desktop::run(data));
