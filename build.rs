//! How the program is linked, where the linker is known to understand it. Everywhere else it is linked as usual.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=link/start.ld");
    if is("CARGO_CFG_TARGET_OS", "linux") {
        pack_relocations();
        keep_the_start_together();
    }
}

/// Packs relative relocations (`DT_RELR`) where the C library can read them, which is glibc 2.36 and newer: 0.8 MB less of
/// the program is read, and stays resident, at every start.
fn pack_relocations() {
    // Another linker is named where the program shall run with an older one.
    let native = std::env::var("HOST").ok() == std::env::var("TARGET").ok()
        && std::env::var_os("RUSTC_LINKER").is_none();
    if native && is("CARGO_CFG_TARGET_ENV", "gnu") && glibc() >= Some((2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Puts the functions that run at every start next to each other. Linux maps 64 KiB around each page of code that is touched,
/// and what runs at a start was spread over the whole program: ten times as much of it became resident as was run.
///
/// The list has the names of what is shipped. GNU's linker and LLVM's read it alike; where another one is named, it may not.
fn keep_the_start_together() {
    let shipped = !["0", "1"].iter().any(|level| is("OPT_LEVEL", level));
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let usual =
        std::env::var_os("RUSTC_LINKER").is_none() && !flags.contains("linker") && !flags.contains("fuse-ld");
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let script = Path::new(&folder).join("link").join("start.ld");
    if shipped && usual && is("CARGO_CFG_TARGET_ARCH", "x86_64") && script.is_file() {
        println!("cargo::rustc-link-arg-bins=-T{}", script.display());
    }
}

fn is(name: &str, value: &str) -> bool {
    std::env::var(name).as_deref() == Ok(value)
}

/// Version of this machine's C library, on which a native build runs.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
