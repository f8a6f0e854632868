//! `breadboard-ls`: arguments in, rooms wired together, nothing else.

use std::process::ExitCode;

/// Events are taken by one thread and given back by others (docs/decisions/0028).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    breadboard_ls::run(std::env::args_os(), breadboard_ls::serve)
}
