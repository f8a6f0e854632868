//! What a seed decides: the dialect, the conversation, the faults, and what the user does.

use breadboard_ls::testing::simulate::desktop::HostDialect;
use fastrand::Rng;
use serde_json::{Value, json};

/// One run, decided by its seed.
#[derive(Debug)]
pub struct Plan {
    pub seed: u64,
    pub dialect: HostDialect,
    /// Probability that a socket breaks in place of a message.
    pub cut: f64,
    /// Probability that something that is no message goes before one.
    pub garbage: f64,
    /// Faults at most.
    pub budget: u32,
    /// What the host plays.
    pub prompts: Vec<Value>,
    /// What the user says.
    pub lines: Vec<String>,
    /// What happens beside, each once so many events were heard.
    pub beside: Vec<(usize, Beside)>,
    /// Seed of the answers to questions.
    pub answers: u64,
}

/// What happens beside the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Our process is killed and started again.
    Kill,
    /// Every socket breaks.
    Cut,
    /// Every socket breaks, and the host takes none for a while.
    Refuse,
    /// The user stops the turn.
    Stop,
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut dice = Rng::with_seed(seed);
        let dialect = if seed.is_multiple_of(2) { HostDialect::Seed } else { HostDialect::Source };
        let count = dice.u64(1..=3);
        let (mut prompts, mut lines) = (Vec::new(), Vec::new());
        for at in 0..count {
            let marker = format!("#{at}#");
            lines.push(format!("Go on {marker}"));
            let steps: Vec<Value> =
                (0..dice.u64(1..6)).map(|step| step_of(&mut dice, dialect, at * 10 + step)).collect();
            prompts.push(json!({ "when": marker, "steps": steps }));
        }
        let is_faulty = |dice: &mut Rng| dice.u8(..100) < 55;
        let cut = if is_faulty(&mut dice) { f64::from(dice.u8(1..15)) / 100.0 } else { 0.0 };
        let garbage = if is_faulty(&mut dice) { f64::from(dice.u8(1..15)) / 100.0 } else { 0.0 };
        let mut beside = Vec::new();
        for (what, share) in [(Beside::Kill, 15), (Beside::Cut, 20), (Beside::Refuse, 12), (Beside::Stop, 12)]
        {
            if dice.u8(..100) < share {
                beside.push((dice.usize(..25), what));
            }
        }
        Self {
            seed,
            dialect,
            cut,
            garbage,
            budget: dice.u32(1..4),
            prompts,
            lines,
            beside,
            answers: dice.u64(..),
        }
    }
}

/// One thing that the host does.
fn step_of(dice: &mut Rng, dialect: HostDialect, at: u64) -> Value {
    let id = format!("r{at}_{}", dice.u32(..1_000));
    let is_seed = dialect == HostDialect::Seed;
    match dice.u8(..8) {
        0..=2 => json!({ "say": words(at, 1 + dice.u64(..14)) }),
        3 => {
            json!({ "send": { "type": "assistant.thinking", "phase": "planning", "message": format!("Step {at}") } })
        }
        4 if is_seed => {
            json!({ "send": { "type": "tool.execute", "tool_name": "read_file", "args": { "file_path": id },
                                          "status": "started", "result": null } })
        }
        4 => {
            json!({ "send": { "type": "assistant.tool_use", "tool": "read_file", "arguments": { "path": id } } })
        }
        5 => json!({ "send": { "type": "a.word.of.tomorrow", "x": [at, 2.5, "u"] } }),
        6 => {
            let message = match is_seed {
                true => {
                    json!({ "type": "tool.request_approval", "request_id": id, "tool_name": "delete_file",
                                "args": { "file_path": "a.txt", "reason": "old" }, "risk_level": "high" })
                }
                false => json!({ "type": "tool.request_approval", "request_id": id, "tool": "delete_file",
                                 "arguments": { "path": "a.txt" }, "message": null }),
            };
            json!({ "ask": message, "on_allow": [{ "say": words(at, 1) }], "on_deny": [{ "say": words(at, 2) }] })
        }
        _ => json!({ "delay_ms": dice.u64(1..15) }),
    }
}

/// Words of which the host makes pieces that are all different, so that none can be taken for another one.
fn words(at: u64, count: u64) -> String {
    (0..count).map(|word| format!("w{at:02}{word:03}é ")).collect()
}
