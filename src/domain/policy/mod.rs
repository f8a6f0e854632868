//! What may happen and what may be said.
//!
//! Owns the trust table and the redaction of secrets. Never asks anybody: answers are values. Tests: beside each file.

pub mod redact;
pub mod trust;
