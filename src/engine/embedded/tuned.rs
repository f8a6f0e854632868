//! What the settings say of a model and of turns, in the agent's own words, with what is known where they say nothing.
//!
//! Owns the defaults. Never sends anything.

use crate::host::budget::TurnBudget;
use crate::host::models::{Price, Target, ThinkingEffort, Tuning, known};
use crate::protocol::settings::{self, BudgetSetting, ModelPrice, ModelSetting};

/// Tokens that a model must read at once for the rules and the tools to leave room for work.
const LEAST_WINDOW: u64 = 4_096;

/// How a model is to answer, and what it can.
pub(super) fn tuning(target: &Target, setting: &ModelSetting) -> Tuning {
    let known = known::window(target.provider, &target.name);
    Tuning {
        effort: setting.effort.map(|effort| match effort {
            settings::Effort::Low => ThinkingEffort::Low,
            settings::Effort::Medium => ThinkingEffort::Medium,
            settings::Effort::High => ThinkingEffort::High,
        }),
        temperature: setting.temperature.map(|temperature| temperature.clamp(0.0, 2.0)),
        window: setting.context_window.unwrap_or(known).max(LEAST_WINDOW),
        sees: setting.images.unwrap_or_else(|| known::sees(&target.name)),
        price: setting.price.map(|ModelPrice { input, output, cached_input }| Price {
            input,
            output,
            cached_input: cached_input.unwrap_or(input),
        }),
    }
}

/// How far a turn goes before it asks.
pub(super) fn budget(setting: &BudgetSetting) -> TurnBudget {
    let bound = |stated: Option<u64>, usual: Option<u64>| match stated {
        Some(0) => None,
        Some(bound) => Some(bound),
        None => usual,
    };
    let usual = TurnBudget::default();
    TurnBudget {
        steps: bound(setting.steps, usual.steps),
        tokens: bound(setting.tokens, usual.tokens),
        cost: setting.cost.filter(|cost| *cost > 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_means_no_bound_and_nothing_the_usual_one() {
        let of = |steps, tokens| budget(&BudgetSetting { steps, tokens, cost: None });
        let usual = TurnBudget::default();
        assert_eq!(of(None, None), usual);
        assert_eq!(of(Some(0), Some(7)), TurnBudget { steps: None, tokens: Some(7), cost: None });
    }
}
