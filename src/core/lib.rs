//! The pure core of breadboard-ls: `domain`, what a session is, and `protocol`, what editor and server say to each other.
//!
//! A package of its own, so that the compiler holds the wall: no runtime, socket, database or editor is among its
//! dependencies, and `clippy.toml` refuses what the standard library has of them. What the server or its tests need is
//! `pub`, everything else `pub(crate)` or narrower. Not an interface for anybody else.

#![deny(clippy::print_stdout, clippy::print_stderr)]
#![warn(missing_docs, unreachable_pub, clippy::missing_docs_in_private_items)]

pub mod domain;
pub mod protocol;
