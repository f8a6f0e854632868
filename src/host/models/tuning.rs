//! How a model is to answer, what it can read at once, whether it sees, and what it costs: as the user states it, or as it is known.
//!
//! Owns these values. Each protocol has its own words for them.

use super::usage::ReplyUsage;

/// How hard a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingEffort {
    /// A little.
    Low,
    /// More.
    Medium,
    /// As much as it can.
    High,
}

impl ThinkingEffort {
    /// The word that most providers have for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Tokens of reasoning, for providers that count instead.
    pub(crate) fn tokens(self) -> u32 {
        match self {
            Self::Low => 2_048,
            Self::Medium => 8_192,
            Self::High => 24_576,
        }
    }
}

/// What a model costs, for a million tokens each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Price {
    /// Of what it reads.
    pub input: f64,
    /// Of what it writes.
    pub output: f64,
    /// Of what it reads from the provider's cache.
    pub cached_input: f64,
}

impl Price {
    /// What a reply cost.
    pub(crate) fn of(self, usage: ReplyUsage) -> f64 {
        // Counts of tokens are far below what a double holds exactly.
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        let fresh = usage.input.saturating_sub(usage.cached);
        part(fresh, self.input) + part(usage.cached, self.cached_input) + part(usage.output, self.output)
    }
}

/// How a model is to answer, and what it can.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tuning {
    /// How hard it thinks; `None`: as the provider has it.
    pub effort: Option<ThinkingEffort>,
    /// How freely it chooses its words; `None`: as the provider has it.
    pub temperature: Option<f64>,
    /// Tokens that it reads at once, its answer with them.
    pub window: u64,
    /// Whether it sees images.
    pub sees: bool,
    /// What it costs, where that is stated.
    pub price: Option<Price>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { effort: None, temperature: None, window: super::known::WINDOW, sees: false, price: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_the_cache_has_its_own_price() {
        let price = Price { input: 3.0, output: 15.0, cached_input: 0.3 };
        let usage = ReplyUsage { input: 1_000_000, output: 100_000, cached: 500_000, cost: None };
        assert!((price.of(usage) - 3.15).abs() < 1e-9);
    }
}
