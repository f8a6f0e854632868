//! Editors that know nothing of us (decision 0024): a whole turn by LSP alone, with scripted editors that have
//! exactly the capabilities and the manners which real ones have in their sources.

mod editor;
mod traps;
mod turns;
