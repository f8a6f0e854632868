//! Plans and todo lists: one block a run and list.
//!
//! Owns the ids of these blocks. A list that is told again as it stood changes nothing.

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, Lane};
use super::turn::TurnName;
use crate::domain::event::SessionEvent;
use crate::domain::fact::Plan;
use crate::domain::fingerprint::Fingerprint;

/// Lists side by side. When one more comes the oldest is forgotten, and makes a new block when it comes again.
const SCOPES: usize = 8;

/// The last block of each list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Plans {
    shown: Vec<Shown>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Shown {
    scope: Option<String>,
    /// The run it belongs to, by our count.
    run: u64,
    id: String,
    turn: Option<u64>,
    seq: u64,
    steps: Fingerprint,
}

impl Plans {
    /// A plan. A later one of the same run and list replaces it; how a list stood before replaces it in any run.
    pub(super) fn show(
        &mut self,
        event: &SessionEvent,
        turn: TurnName,
        plan: Plan,
        changes: &mut Vec<Change>,
    ) {
        let steps = Fingerprint::of(&serde_json::to_string(&plan.steps).unwrap_or_default());
        let known = self.shown.iter_mut().find(|shown| shown.scope == plan.scope);
        let known = known.filter(|shown| plan.standing || shown.run == turn.index);
        let block = |shown: &Shown, block_turn| Block {
            id: shown.id.clone(),
            turn: block_turn,
            seq: shown.seq,
            body: BlockBody::Plan { steps: plan.steps.clone() },
        };
        if let Some(shown) = known {
            if shown.steps != steps {
                shown.steps = steps;
                changes.push(Change::put(Lane::Chat, block(shown, shown.turn)));
            }
            return;
        }
        // An engine's own list may be empty; nobody needs to see that.
        if plan.scope.is_some() && plan.steps.is_empty() {
            return;
        }
        let scope = plan.scope.as_ref().map(|scope| format!("-{scope}")).unwrap_or_default();
        let id = format!("plan-{}-{}{scope}", turn.label, turn.index);
        let shown =
            Shown { scope: plan.scope.clone(), run: turn.index, id, turn: event.turn, seq: event.seq, steps };
        changes.push(Change::put(Lane::Chat, block(&shown, event.turn)));
        self.shown.retain(|other| other.scope != plan.scope);
        if self.shown.len() >= SCOPES {
            self.shown.remove(0);
        }
        self.shown.push(shown);
    }
}
