//! What to do about an engine that does not work, in words of the command line.
//!
//! Owns the advice by cause. The causes are known by whole words of the server's sentences, since a number may be part of an
//! address. Never asks an engine.

use super::knowledge::KnownAgent;
use crate::domain::configuration;
use crate::protocol::settings::EngineKind;

/// In the sentence of a BreadBoard engine that was chosen without an address.
pub(super) const NO_ADDRESS: &str = "engine has no address";

/// What helps with a BreadBoard engine, and with what stands before it.
const BREADBOARD: &[(&[&str], &str)] = &[
    (&[NO_ADDRESS], "give its address with --engine-url"),
    (&["wants a token", "does not take our token"], "set BREADBOARD_API_TOKEN to a token that it takes"),
    (
        &["would be readable on the way"],
        "give an https address with --engine-url, or unset BREADBOARD_API_TOKEN",
    ),
    (&[" is busy", "too slow to answer", "did not answer what stands before it"], "try again later"),
    (
        &["wants a login (HTTP 407)"],
        "correct the proxy in the environment, or name the engine's host in NO_PROXY",
    ),
    (
        &["sends us elsewhere", "does not let us through", "is not a BreadBoard engine"],
        "correct --engine-url",
    ),
    (&["failed inside"], "look into the engine's log, then run `doctor` again"),
];

/// What helps with a desktop host, and with what stands before it.
const DESKTOP: &[(&[&str], &str)] = &[
    (
        &["wants a token", "does not take our token"],
        "set BREADBOARD_API_TOKEN to its token; `breadboard-ls pair <url>` gets that of `breadboard-ls engine` for the code in its terminal",
    ),
    (
        &["would be readable on the way"],
        "give an https address with --engine desktop:<url>, or unset BREADBOARD_API_TOKEN",
    ),
    (&[" is busy"], "try again later"),
    (&["sends us elsewhere", "is no desktop host"], "correct --engine desktop:<url>"),
    (&[" failed (HTTP"], "look into the host's log, then run `doctor` again"),
];

/// What to do about an engine that fails so, in words of the command line.
pub(super) fn advice(kind: EngineKind, error: &str, agent: Option<&KnownAgent>) -> String {
    let says = |words: &[&str]| words.iter().any(|word| error.contains(word));
    match kind {
        EngineKind::Acp if says(&["log in", "login", "Authentication", "authenticate"]) => {
            let how = agent.and_then(|agent| agent.login.as_deref());
            format!(
                "log in {}, then run `doctor` again",
                how.unwrap_or("with the agent's own command in a shell")
            )
        }
        EngineKind::Acp
            if says(&["could not be started", "not found", "No such file", "is not installed"]) =>
        {
            "install it, or give another --agent or --engine acp:\"<command line>\"".to_owned()
        }
        EngineKind::Acp => {
            "correct --agent or --engine acp:\"<command line>\", or see what the agent says in a shell"
                .to_owned()
        }
        EngineKind::Breadboard if configuration::may_help(error) => {
            "give a configuration that this engine can start with --config".to_owned()
        }
        EngineKind::Breadboard => BREADBOARD
            .iter()
            .find(|(words, _)| says(words))
            .map_or(
                "start it, or correct --engine-url; `--engine embedded` needs nothing else",
                |(_, advice)| advice,
            )
            .to_owned(),
        EngineKind::Desktop => DESKTOP
            .iter()
            .find(|(words, _)| says(words))
            .map_or(
                "start the host, or correct --engine desktop:<url>; `--engine embedded` needs nothing else",
                |(_, advice)| advice,
            )
            .to_owned(),
        EngineKind::Embedded => "give another engine; `--engine embedded` needs nothing else".to_owned(),
    }
}
