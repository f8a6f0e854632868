//! How much of a model's reply is read and kept.
//!
//! Owns the numbers and their reasons. What happens at each is an error of the turn, in one sentence (`failure`).

use crate::http::EventLimits;

/// Largest index that a provider may give to a tool call, and most tool calls in a reply. 16 of them are run.
pub(crate) const CALLS: usize = 128;

/// Most parts of a reply: stretches of text, of reasoning, and calls. Reasoning between calls alternates with them.
pub(crate) const PARTS: usize = 512;

/// Bytes of one call's arguments. The longest are whole new files, of which a workspace takes less.
pub(crate) const ARGUMENT_BYTES: usize = 4 << 20;

/// Values within one call's arguments. Text of 4 MiB is one value, but 4 MiB of `0,0,…` would be two million, each of which
/// takes some hundred bytes as a value of our own.
pub(crate) const ARGUMENT_VALUES: usize = 100_000;

/// Bytes of a reply that are kept: text, reasoning with its signatures, calls with their arguments.
pub(crate) const RETAINED_BYTES: usize = 8 << 20;

/// Bytes of all replies in a turn that go back to the model with each next question.
pub(crate) const CONVERSATION_BYTES: usize = 16 << 20;

/// Bytes of a tool's name.
pub(crate) const NAME_BYTES: usize = 256;

/// Bytes of an id. Gateways put signatures of some kilobytes into them.
pub(crate) const ID_BYTES: usize = 16 * 1024;

/// Bytes that are read of a refusal, which is a sentence.
pub(crate) const REFUSAL_BYTES: usize = 64 * 1024;

/// Bytes of a list of models. A gateway's list of some hundred models with prices has about 1 MiB.
pub(crate) const LIST_BYTES: usize = 4 << 20;

/// Bytes of an answer with vectors: 32 of the longest, each of whose numbers takes some twenty bytes.
pub(crate) const EMBEDDINGS_BYTES: usize = 8 << 20;

/// Bytes of an order of passages: some endpoints repeat their texts, which are less than 100 KiB.
pub(crate) const ORDER_BYTES: usize = 256 * 1024;

/// Limits on the stream of a reply.
///
/// An event of 16 MiB: the last event of OpenAI's responses repeats the whole reply, and 1 MiB proved too little for
/// others. A million events: one event a token, and the longest replies of today have some 130,000 tokens. 256 MiB: that many
/// tokens in events of 2 KB, which is several times what providers wrap around a token.
pub(crate) const STREAM: EventLimits =
    EventLimits { event_bytes: 16 << 20, stream_bytes: 256 << 20, events: 1_000_000 };

/// Bytes that half-read and undecoded events of all replies hold together: two of the largest. While one is decoded it is there
/// up to three times, and the whole server is to stay well below 200 MB.
pub(crate) const EVENTS_BYTES: usize = 32 << 20;

/// Bytes of an event that is repaired when it is not quite JSON, which takes a copy three times as large.
pub(crate) const REPAIRED_BYTES: usize = 4 << 20;
