//! A row of the contract: what the tables of messages are made of, and what schemas and PROTOCOL.md are made from.
//!
//! Owns its shape. Never says which rows there are.

use schemars::{Schema, SchemaGenerator};

use super::refusals::Refusals;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Editor to server, answered.
    Request,
    /// Editor to server, not answered.
    ToServer,
    /// Server to editor, answered.
    Asks,
    /// Server to editor, not answered.
    ToEditor,
    /// Not a message: options and settings.
    Document,
}

/// One row of the contract, for schemas and documents.
pub(crate) struct MethodRow {
    /// LSP method name.
    pub method: &'static str,
    /// Which way it goes.
    pub direction: Direction,
    /// One sentence.
    pub summary: &'static str,
    /// The codes that it is refused with, beside those of every request.
    pub refusals: Refusals,
    /// Schema of the params.
    pub params: fn(&mut SchemaGenerator) -> Schema,
    /// Schema of the result.
    pub result: Option<fn(&mut SchemaGenerator) -> Schema>,
}
