//! What comes into the loop: one closed `Event`, one bounded `Inbox`, one `Reply` a request.
//!
//! The loop reads the editor's and the engine's queues from two channels, so that a flood of tokens never delays a request.
//! Owns no state of the loop.

pub(crate) mod commands;
mod event;
mod queue;
mod reply;
mod standard;

pub use self::event::{DocumentEvent, EditorAbilities, EditorEvent, Event, Folder, StartUp};
pub(crate) use self::event::{TraceLevel, WhyLost};
#[cfg(test)]
pub(crate) use self::queue::EDITOR_BOUND;
pub(crate) use self::queue::Events;
pub use self::queue::{ENGINE_BOUND, Inbox};
pub use self::reply::{Answer, EditorReply, Reply};
pub use self::standard::{
    CommandOffer, OfferKind, PlainAbilities, StandardAnswer, StandardRequest, StateHint, WordKind,
    WordOffered,
};
