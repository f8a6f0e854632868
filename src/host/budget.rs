//! How far a turn goes before it asks whether to go on (`go_on`).
//!
//! Owns the counts, and the words in which they are said. Each answer that it may go on adds the same again.

/// Bounds of a turn; `None`: there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TurnBudget {
    /// Replies of the model.
    pub steps: Option<u64>,
    /// Tokens in and out.
    pub tokens: Option<u64>,
    /// What it costs, where that is known.
    pub cost: Option<f64>,
}

impl Default for TurnBudget {
    /// A hundred replies are a long piece of work, and five million tokens what they read again and again, most of it from a
    /// provider's cache.
    fn default() -> Self {
        Self { steps: Some(100), tokens: Some(5_000_000), cost: None }
    }
}

/// What a turn used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TurnSpent {
    /// Replies of the model.
    pub steps: u64,
    /// Tokens in and out.
    pub tokens: u64,
    /// What it cost, where that is known.
    pub cost: Option<f64>,
    /// How often the user let it go on.
    pub raised: u64,
}

impl TurnBudget {
    /// The bound of replies, as often as it was raised.
    pub(crate) fn steps_allowed(&self, raised: u64) -> Option<u64> {
        self.steps.map(|steps| steps.saturating_mul(raised.saturating_add(1)))
    }

    /// What is used up, as the middle of a sentence; `None`: nothing.
    pub(crate) fn used_up(&self, spent: &TurnSpent) -> Option<String> {
        let times = spent.raised.saturating_add(1);
        let TurnSpent { steps, tokens, cost, .. } = *spent;
        if self.steps_allowed(spent.raised).is_some_and(|allowed| steps >= allowed) {
            return Some(format!("{} of the model", super::counted(steps, "step")));
        }
        if self.tokens.is_some_and(|allowed| tokens >= allowed.saturating_mul(times)) {
            return Some(format!("{tokens} tokens"));
        }
        let reached = |allowed: f64| {
            let raised = (0..times).fold(0.0, |sum, _| sum + allowed);
            cost.filter(|cost| *cost >= raised)
        };
        self.cost.and_then(reached).map(|cost| format!("a cost of {cost:.2}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_used_up_by_whichever_count_comes_first_and_can_be_raised() {
        let budget = TurnBudget { steps: Some(3), tokens: Some(1_000), cost: Some(0.5) };
        let spent = TurnSpent { steps: 2, tokens: 999, cost: Some(0.49), raised: 0 };
        assert_eq!(budget.used_up(&spent), None);
        let steps = TurnSpent { steps: 3, ..spent };
        assert_eq!(budget.used_up(&steps).as_deref(), Some("3 steps of the model"));
        assert_eq!(budget.used_up(&TurnSpent { raised: 1, ..steps }), None);
        assert_eq!(budget.used_up(&TurnSpent { tokens: 1_000, ..spent }).as_deref(), Some("1000 tokens"));
        assert_eq!(
            budget.used_up(&TurnSpent { cost: Some(0.5), ..spent }).as_deref(),
            Some("a cost of 0.50")
        );
        let endless = TurnBudget { steps: None, tokens: None, cost: None };
        assert_eq!(endless.used_up(&TurnSpent { steps: 9_999, ..spent }), None);
    }
}
