//! Bounded HTTP: the one way in which this server reads what a foreign endpoint sends.
//!
//! Owns the construction of clients, the limits on bodies and the division of a streamed body into events or lines. Knows
//! nothing of models, engines or sessions. Every HTTP client that is written from now on goes through here:
//!
//! 1. [`client`] builds it: no redirects, no retries, no proxy for loopback, no decompression.
//! 2. [`send`] sends a request and refuses an answer in a content encoding, because a few bytes of one can become
//!    gigabytes. Nothing in here decompresses, so no bound on a ratio is needed.
//! 3. [`Answer::whole`] reads a body that must be complete, [`Answer::beginning`] one of which the beginning is enough, and
//!    [`Events`] one that is a stream. Each takes its limits as values; there is no way to read without one. All streams of
//!    a client share a [`Budget`] besides, so that many at once hold no more than a few would.
//!
//! A [`HttpPeer`] is the way to one engine: its address, its token and the client that goes there.
//!
//! [`Events`] gives control back after every piece of at most `PIECE_BYTES`, so that whatever shares its thread is not
//! kept waiting, however fast an endpoint sends. Work that grows with an event belongs on a blocking thread from
//! [`BLOCKING_BYTES`] on. Sizes of header blocks are bounded by the HTTP library (about 400 KiB, 100 headers).

mod answer;
mod base_url;
mod budget;
mod cause;
mod client;
mod events;
mod failure;
mod lines;
mod peer;
mod retry_after;
mod tls_doubt;
mod trusted;

pub(crate) use answer::{Answer, send};
pub use base_url::BaseUrl;
pub(crate) use base_url::NoBaseUrl;
pub(crate) use budget::Budget;
pub(crate) use cause::Cause;
pub use cause::Unreached;
pub(crate) use client::{EndpointTimeouts, Route, builder, client};
#[cfg(test)]
pub(crate) use events::FramingDecoder;
pub(crate) use events::{EventLimits, Events, Framing};
pub(crate) use failure::HttpError;
pub(crate) use peer::{HttpPeer, NoRequest};
pub(crate) use retry_after::{in_words, retry_after};
pub(crate) use tls_doubt::{AuthoritySetting, TlsDoubt};
pub(crate) use trusted::trusting;

/// Work on more bytes than this, for instance parsing them, belongs on a blocking thread: less takes around a millisecond.
pub(crate) const BLOCKING_BYTES: usize = 256 * 1024;
