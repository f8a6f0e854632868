//! Placeholder header until the room is furnished in the next commit.
