//! What a reply took.
//!
//! Owns the counts as every protocol gives them. Never prices them.

/// What a reply took, as the provider counted it; 0 where it does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ReplyUsage {
    /// Tokens in, those from the provider's cache with them.
    pub input: u64,
    /// Tokens out.
    pub output: u64,
    /// Tokens in that came from the provider's cache.
    pub cached: u64,
    /// What it cost, where the endpoint says so.
    pub cost: Option<f64>,
}
