//! What a seed decides: the conversation, the faults, and what the user does.

use fastrand::Rng;
use serde_json::{Value, json};

/// Faults of the stream that a run may meet, by the simulator's names.
pub const FAULTS: &[&str] =
    &["drop", "dup", "reorder", "stall", "cut", "split", "garbage", "oversize", "restart", "gone409"];

/// One run, decided by its seed.
#[derive(Debug)]
pub struct Plan {
    pub seed: u64,
    /// Whether the engine is a newer one.
    pub pr40: bool,
    /// Events that the engine keeps.
    pub log_events: usize,
    /// For `--faults` of the simulator.
    pub faults: String,
    /// What the agent does.
    pub script: Value,
    pub prompts: Vec<Line>,
    /// What happens beside, each once so many events were heard, or once nothing else happens.
    pub beside: Vec<(u64, Beside)>,
    /// Longest wait of an event in the batch, in milliseconds.
    pub latency_ms: u64,
    /// Seed of the answers to asks.
    pub answers: u64,
}

/// A prompt of the user.
#[derive(Debug)]
pub struct Line {
    pub text: String,
    /// Sent without waiting for the end of the turn before it.
    pub eager: bool,
}

/// What happens beside the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Our process is killed and started again.
    Kill,
    /// The user stops the turn.
    Stop,
    /// Every stream breaks.
    Cut,
    /// The engine closes the stream of a client that was too slow.
    Overflow,
    /// The engine forgets its history.
    Evict,
    /// Another client deletes the session at the engine.
    Delete,
    /// Another client sends a prompt of its own.
    Foreign,
    /// The next prompt meets a proxy's word, and nobody knows whether the engine took it.
    LosePrompt,
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice(Rng::with_seed(seed));
        let count = 1 + dice.below(4);
        let mut prompts: Vec<Line> = Vec::new();
        let mut entries = Vec::new();
        for at in 0..count {
            let marker = format!("#{at}#");
            // Some begin with the whole of the one before, which the engine would cut off.
            let text = match prompts.last() {
                Some(before) if dice.percent(30) => format!("{} and {marker}", before.text),
                _ => format!("{} {marker}", ["Fix it", "Go on", "Sort the list"][dice.below(3) as usize]),
            };
            prompts.push(Line { text, eager: dice.percent(30) });
            let last = at + 1 == count;
            entries.insert(0, json!({ "when": marker, "steps": dice.steps(last) }));
        }
        let mut faults = vec![format!("budget={}", 3 + dice.below(30)), "stall_ms=4".to_owned()];
        // A frame larger than what is taken of one costs a second; once in a while is enough.
        faults.push(format!("oversize_mib={}", if seed % 250 == 7 { 33 } else { 1 }));
        for fault in FAULTS {
            let (share, most) = match *fault {
                "restart" => (20, 8),
                "oversize" => (12, 8),
                "gone409" => (35, 40),
                _ => (55, 90),
            };
            if dice.percent(share) {
                faults.push(format!("{fault}={}", (1 + dice.below(most)) as f64 / 1_000.0));
            }
        }
        let mut beside = Vec::new();
        for (what, share) in [
            (Beside::Kill, 35),
            (Beside::Kill, 15),
            (Beside::Stop, 20),
            (Beside::Cut, 15),
            (Beside::Overflow, 15),
            (Beside::Evict, 10),
            (Beside::LosePrompt, 8),
            (Beside::Foreign, 15),
            (Beside::Delete, 6),
        ] {
            if dice.percent(share) {
                beside.push((dice.below(60), what));
            }
        }
        Self {
            seed,
            pr40: dice.percent(25),
            log_events: if dice.percent(25) { 5 + dice.below(40) as usize } else { 1_000 },
            faults: faults.join(","),
            script: json!({ "prompts": entries }),
            prompts,
            beside,
            latency_ms: dice.below(8),
            answers: dice.0.u64(..),
        }
    }
}

/// Chance in the words of this file.
pub struct Dice(pub Rng);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.u64(..bound)
    }

    pub fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    /// What the agent does on one prompt.
    fn steps(&mut self, last: bool) -> Vec<Value> {
        let count = 1 + self.below(5);
        let mut steps: Vec<Value> = (0..count).flat_map(|at| self.step(at)).collect();
        // Nothing comes after the end of a session.
        if last && self.percent(8) {
            let status = ["completed", "failed", "stopped"][self.below(3) as usize];
            steps.push(json!({ "end": status }));
        } else if last && self.percent(5) {
            steps.push(json!({ "error": "the agent fell over" }));
        }
        steps
    }

    fn step(&mut self, at: u64) -> Vec<Value> {
        let id = format!("msg_{at}_{}", self.below(1_000));
        match self.below(9) {
            0 | 1 => {
                let words = 2 + self.below(25);
                let mut steps = vec![json!({"type": "assistant.message.start", "payload": {"item_id": id}})];
                steps.extend((0..words).map(|word| {
                    json!({"type": "assistant.message.delta", "payload": {"item_id": id, "delta": format!("wörd {word} ")}})
                }));
                steps.push(json!({"type": "assistant.message.end", "payload": {"item_id": id}}));
                steps
            }
            2 => vec![json!({"ctree": 1 + self.below(5)})],
            3 => {
                let tool = |more: Value| {
                    let mut payload = json!({"call_id": id, "tool": "run_shell"});
                    payload.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
                    payload
                };
                vec![
                    json!({"type": "tool_call", "payload": tool(json!({"action": "start"}))}),
                    json!({"delay_ms": self.below(4)}),
                    json!({"type": "tool_result", "payload": tool(json!({"success": true, "status": "ok",
                        "result": {"stdout": "done\n", "exit": 0}}))}),
                ]
            }
            4 | 5 => vec![json!({
                "ask": {"category": "shell", "pattern": format!("echo {id} *"), "tool": "run_shell",
                    "metadata": {"command": format!("echo {id}"), "function": "run_shell"}},
                "on_allow": [{"type": "tool_result", "payload": {"tool": "run_shell", "call_id": id, "success": true}}],
                "on_deny": [{"type": "warning", "payload": {"message": "denied"}}],
            })],
            6 => vec![
                json!({"type": "warning", "payload": {"message": "careful"}, "pad_bytes": self.below(60_000)}),
                json!({"type": "a.word.of.tomorrow", "payload": {"x": [1, 2.5, "u"]}}),
            ],
            7 => vec![
                json!({"type": "reward_update", "payload_text": "{\"summary\":{\"total\":NaN},\"half\":\"\\ud83d\"}"}),
                json!({"raw": "no JSON, number $seq"}),
                json!({"raw": "no JSON and no number", "log": false}),
            ],
            _ => {
                let text = format!("The whole of {id}.");
                vec![
                    json!({"type": "assistant_message", "payload": {"text": text,
                        "message": {"role": "assistant", "content": text}}}),
                    json!({"delay_ms": self.below(10)}),
                ]
            }
        }
    }
}
