//! One turn of a simulated host, step by step.
//!
//! Owns the order of a turn's messages and the faults on them. The turn is the session's: it goes on when a socket breaks, and what
//! nobody hears is gone, since the protocol keeps nothing.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::host::SimulatedHost;
use super::hosted_session::{HostedSession, ToSocket};
use super::plot::{PlotPrompt, PlotStep};

/// Characters of a piece of an answer.
const PIECE: usize = 8;

/// A turn that runs.
pub(super) struct HostTurn {
    host: Arc<SimulatedHost>,
    session: Arc<HostedSession>,
    said: String,
    last: Option<String>,
    /// Messages of clients behind this place count.
    from: usize,
    chance: fastrand::Rng,
}

/// Runs the turn of this prompt to its end.
pub(super) async fn play(host: Arc<SimulatedHost>, session: Arc<HostedSession>, prompt: String) {
    let (plot, from) = {
        let mut state = session.state();
        let from = state.heard.len();
        let plot = host.options.plot.as_ref().and_then(|plot| plot.on(&prompt, &mut state.used));
        (plot, from)
    };
    let plot = plot.unwrap_or_else(|| PlotPrompt {
        steps: vec![PlotStep::Say(format!("You said: {prompt}\n\nThis is the simulator. It runs no model."))],
        ..PlotPrompt::default()
    });
    let seed = host.options.seed ^ (from as u64).wrapping_mul(0x9e37_79b9);
    let dialect = host.options.dialect;
    let chance = fastrand::Rng::with_seed(seed);
    let mut turn = HostTurn { host, session, said: String::new(), last: None, from, chance };
    turn.steps(plot.steps).await;
    // Before its last words: whoever attaches behind them is told that nothing runs.
    turn.session.state().running = false;
    if !plot.bare {
        let message = turn.last.clone().unwrap_or_else(|| turn.said.clone());
        turn.tell(&dialect.last(&message, false));
    }
}

impl HostTurn {
    async fn steps(&mut self, steps: Vec<PlotStep>) {
        for step in steps {
            Box::pin(self.step(step)).await;
        }
    }

    async fn step(&mut self, step: PlotStep) {
        match step {
            PlotStep::Say(words) => self.say(&words),
            PlotStep::Send(message) => self.tell(&Value::Object(message)),
            PlotStep::Raw(text) => self.session.tell(&ToSocket::Text(text)),
            PlotStep::Ask { message, on_allow, on_deny } => {
                let allowed = self.ask(message).await;
                self.steps(if allowed { on_allow } else { on_deny }).await;
            }
            PlotStep::Wait(kind) => {
                let found = self.session.wait(self.from, |message| message["type"] == kind.as_str()).await;
                if let Some((_, next)) = found {
                    self.from = next;
                }
            }
            PlotStep::Final(text) => self.last = Some(text),
            PlotStep::Cut => self.session.tell(&ToSocket::Cut),
            PlotStep::Delay(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            PlotStep::Hold(name) => {
                // It fails only when the host is gone; then nobody waits for it either.
                let _ = self.host.released.subscribe().wait_for(|released| released.contains(&name)).await;
            }
            PlotStep::Repeat { times, steps } => {
                for _ in 0..times {
                    self.steps(steps.clone()).await;
                }
            }
        }
    }

    /// Asks and waits; the ask waits with the session, so that a socket that comes later is told of it.
    async fn ask(&mut self, message: Map<String, Value>) -> bool {
        let text = |name: &str| message.get(name).and_then(Value::as_str).map(str::to_owned);
        let named = text("request_id").or_else(|| text("command_id"));
        let id = named.or_else(|| text("patch_id")).or_else(|| text("id")).unwrap_or_default();
        self.session.state().waiting.push(id.clone());
        self.tell(&Value::Object(message));
        let is_answer = |message: &Value| {
            message["type"] == "client.approval_response" && message["request_id"] == id.as_str()
        };
        let answer = self.session.wait(self.from, is_answer).await;
        self.session.state().waiting.retain(|waiting| *waiting != id);
        answer.is_some_and(|(answer, _)| answer["approved"] == true)
    }

    fn say(&mut self, words: &str) {
        let letters: Vec<char> = words.chars().collect();
        for piece in letters.chunks(PIECE) {
            let piece: String = piece.iter().collect();
            self.said.push_str(&piece);
            let message = self.host.options.dialect.piece(&piece, &self.said);
            self.tell(&message);
        }
    }

    /// Says a message, with whatever goes wrong on its way.
    fn tell(&mut self, message: &Value) {
        let options = &self.host.options;
        let goes_wrong = |chance: &mut fastrand::Rng, of: f64| of > 0.0 && chance.f64() < of;
        let left = options.budget > self.session.state().faults;
        if left && goes_wrong(&mut self.chance, options.cut) {
            self.session.state().faults += 1;
            self.session.tell(&ToSocket::Cut);
            return;
        }
        if left && goes_wrong(&mut self.chance, options.garbage) {
            self.session.state().faults += 1;
            self.session.tell(&ToSocket::Text("{\"type\":\"assistant.tok".to_owned()));
        }
        self.session.tell(&ToSocket::Text(message.to_string()));
    }
}
