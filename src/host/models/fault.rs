//! What can be wrong with a reply.
//!
//! Owns the cases; `failure` makes a sentence of each.

/// Why a reply is not read on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModelFault {
    /// It is not the provider's protocol.
    Unreadable,
    /// The provider says that it failed; its own words, which may be none.
    Reported(String),
    /// The index of a tool call is no number that counts calls, or too large.
    CallIndex,
    /// More calls than [`super::bounds::CALLS`].
    Calls,
    /// More parts than [`super::bounds::PARTS`].
    Parts,
    /// The arguments of one call are longer than [`super::bounds::ARGUMENT_BYTES`].
    ArgumentBytes,
    /// The arguments of one call hold more values than [`super::bounds::ARGUMENT_VALUES`].
    ArgumentValues,
    /// The name or the id of a call is too long.
    Name,
    /// The reply is longer than [`super::bounds::RETAINED_BYTES`].
    Retained,
}
