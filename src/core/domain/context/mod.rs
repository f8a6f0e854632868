//! The context of a prompt: what goes to an engine beside the words of the user, so that nobody has to paste it.
//!
//! Owns what belongs to it, what is left out and in which order, and how it is written for a model. Never looks into a file, a
//! repository or an editor: `workspace::context` does, on the loop's word (decision 0021).

pub mod budget;
pub mod choice;
pub mod item;
pub mod kind;
pub mod mention;
pub mod shape;
pub mod slash;
pub mod told;
