//! `breadboard-ls`: arguments in, rooms wired together, nothing else.

use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    breadboard_ls::run(std::env::args_os(), breadboard_ls::serve)
}
