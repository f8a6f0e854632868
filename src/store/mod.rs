//! Furnished in the next commits.
