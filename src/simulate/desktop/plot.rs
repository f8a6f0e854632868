//! What the agent of a simulated host does: per prompt a list of steps. `docs/simulate.md` describes the format for people.
//!
//! Owns the format. Never runs a step: `play` does.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::simulate::script_json::{MOST_ROUNDS, at_most, only, read};

/// The whole plot.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// One a prompt. Those with `when` answer every prompt that contains it; the others answer in order, once a session.
    pub prompts: Vec<PlotPrompt>,
}

/// What happens on one prompt.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlotPrompt {
    /// The prompt must contain this; nothing: the next prompt in order.
    pub when: Option<String>,
    /// Only the steps: no final message after them.
    pub bare: bool,
    /// What happens, in order.
    pub steps: Vec<PlotStep>,
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "PlotLine")]
pub enum PlotStep {
    /// Words of the answer, piece by piece.
    Say(String),
    /// A message as it is.
    Send(Map<String, Value>),
    /// A text that may be no message.
    Raw(String),
    /// A message that asks, and what follows the answer to its `request_id`.
    Ask {
        /// The message.
        message: Map<String, Value>,
        /// What happens when it is allowed.
        on_allow: Vec<PlotStep>,
        /// What happens otherwise.
        on_deny: Vec<PlotStep>,
    },
    /// Waits for a message of this type.
    Wait(String),
    /// The final message has this text, whatever was said.
    Final(String),
    /// Every socket of the session breaks.
    Cut,
    /// Waits so many milliseconds.
    Delay(u64),
    /// Waits until a test lets this name go; for ever on the command line.
    Hold(String),
    /// The steps again and again.
    Repeat {
        /// How often.
        times: u64,
        /// Steps that are repeated.
        steps: Vec<PlotStep>,
    },
}

/// A step as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PlotLine {
    say: Option<String>,
    send: Option<Map<String, Value>>,
    raw: Option<String>,
    ask: Option<Map<String, Value>>,
    on_allow: Vec<PlotStep>,
    on_deny: Vec<PlotStep>,
    wait: Option<String>,
    r#final: Option<String>,
    cut: Option<bool>,
    delay_ms: Option<u64>,
    hold: Option<String>,
    #[serde(deserialize_with = "at_most::<MOST_ROUNDS, _>")]
    repeat: Option<u64>,
    steps: Vec<PlotStep>,
}

impl TryFrom<PlotLine> for PlotStep {
    type Error = &'static str;

    fn try_from(line: PlotLine) -> Result<Self, Self::Error> {
        let PlotLine { on_allow, on_deny, steps, .. } = line;
        only([
            line.say.map(Self::Say),
            line.send.map(Self::Send),
            line.raw.map(Self::Raw),
            line.ask.map(|message| Self::Ask { message, on_allow, on_deny }),
            line.wait.map(Self::Wait),
            line.r#final.map(Self::Final),
            line.cut.filter(|cut| *cut).map(|_| Self::Cut),
            line.delay_ms.map(Self::Delay),
            line.hold.map(Self::Hold),
            line.repeat.map(|times| Self::Repeat { times, steps }),
        ])
    }
}

impl Plot {
    /// Reads a plot.
    ///
    /// # Errors
    /// One sentence that says what is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let plot: Value =
            serde_json::from_str(text).map_err(|error| format!("The script is no JSON: {error}."))?;
        read(plot)
    }

    /// What happens on this prompt, of which so many without `when` were used in the session.
    pub(super) fn on(&self, prompt: &str, used: &mut usize) -> Option<PlotPrompt> {
        let named = self.prompts.iter().find(|of| of.when.as_ref().is_some_and(|when| prompt.contains(when)));
        if let Some(named) = named {
            return Some(named.clone());
        }
        let next = self.prompts.iter().filter(|of| of.when.is_none()).nth(*used)?;
        *used += 1;
        Some(next.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_plot_is_read_and_what_is_wrong_in_one_is_said() {
        let plot = json!({ "prompts": [
            { "when": "fix", "steps": [{ "say": "On it." }] },
            { "bare": true, "steps": [{ "ask": { "type": "x" }, "on_allow": [{ "cut": true }] }] },
        ] });
        let plot = Plot::parse(&plot.to_string()).unwrap();
        let mut used = 0;
        assert_eq!(plot.on("please fix", &mut used).unwrap().steps, [PlotStep::Say("On it.".to_owned())]);
        assert!(plot.on("else", &mut used).unwrap().bare);
        assert_eq!((plot.on("else", &mut used), used), (None, 1));
        let wrong = json!({ "prompts": [{ "steps": [{ "say": "a", "hold": "b" }] }] });
        assert!(Plot::parse(&wrong.to_string()).unwrap_err().contains("prompts[0].steps[0]"));
    }
}
