//! What is made before the program is compiled: the schemas that it carries, packed; and how it is linked, where the linker is
//! known to understand it. Everywhere else it is linked as usual.

use std::fs;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=link/start.ld");
    println!("cargo::rerun-if-changed=schemas");
    pack_schemas()?;
    if is("CARGO_CFG_TARGET_OS", "linux") {
        pack_relocations();
        keep_the_start_together();
    }
    Ok(())
}

/// Packs `schemas/` for `src/contract`, in the order of the names, so that the same files give the same bytes.
///
/// # Errors
/// A file that cannot be read or written.
fn pack_schemas() -> Result<()> {
    let of_cargo = |name| std::env::var_os(name).map(PathBuf::from).ok_or(Error::other(name));
    let root = of_cargo("CARGO_MANIFEST_DIR")?.join("schemas");
    let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let mut texts = Vec::new();
    for path in &files {
        let name = path.strip_prefix(&root).map_err(Error::other)?.to_string_lossy().replace('\\', "/");
        texts.push(format!("{name}\n{}\0", fs::read_to_string(path)?.replace("\r\n", "\n")));
    }
    texts.sort();
    let packed = miniz_oxide::deflate::compress_to_vec(texts.concat().as_bytes(), 9);
    fs::write(of_cargo("OUT_DIR")?.join("schemas.packed"), packed)
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
/// The list has the names of what is shipped. GNU's linker and LLVM's read it alike; where another one is named than these or zig,
/// it may not.
fn keep_the_start_together() {
    let shipped = !["0", "1"].iter().any(|level| is("OPT_LEVEL", level));
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let linker = std::env::var("RUSTC_LINKER").unwrap_or_default();
    // What scripts/programs.sh links with is LLVM's.
    let zig = Path::new(&linker).file_name().is_some_and(|name| name.to_string_lossy().starts_with("zigcc"));
    let usual = (linker.is_empty() || zig) && !flags.contains("linker") && !flags.contains("fuse-ld");
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
