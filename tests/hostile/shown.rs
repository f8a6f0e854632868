//! Text that tries to look like other text where a person decides.
