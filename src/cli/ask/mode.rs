//! `ask --mode`: the mode that an agent's session works in.
//!
//! Owns how a mode is chosen and what is said where there is none of that name. Speaks to the server as every client does.

use std::time::Duration;

use serde_json::json;

use super::super::client::{Client, ClientError, Refusal};
use crate::protocol::agent::{AgentStatus, SessionInfoResult};

/// Sets the mode. That it takes its time is `waits` to say.
///
/// # Errors
/// One sentence where the engine or the agent has no such mode.
pub(super) fn set(
    client: &mut Client,
    session_id: &str,
    mode: &str,
    most: Duration,
    waits: &mut dyn FnMut(),
) -> Result<(), ClientError> {
    let info = info(client, session_id, most, waits)?;
    match (modes_of(&info), &info.agent) {
        (Some(modes), _) => known(&modes, mode)?,
        (None, None) => {
            return Err(refused("This engine has no modes; leave --mode out.".to_owned()));
        }
        // An agent that does not run yet has not said what it has.
        (None, Some(agent)) if agent.status == AgentStatus::Running => {
            return Err(refused(format!("The agent `{}` has no modes; leave --mode out.", agent.name)));
        }
        (None, Some(_)) => {}
    }
    // Whether the agent has a list of modes or an option for them is the server's to know.
    let args = json!({ "modeId": mode });
    let params = json!({ "sessionId": session_id, "command": "set_mode", "args": args });
    client.request_saying("bb/command", params, most, waits)?;
    // Some agents take any word.
    match modes_of(&self::info(client, session_id, most, waits)?) {
        Some(modes) => known(&modes, mode),
        None => Ok(()),
    }
}

fn info(
    client: &mut Client,
    session_id: &str,
    most: Duration,
    waits: &mut dyn FnMut(),
) -> Result<SessionInfoResult, ClientError> {
    let answer = client.request_saying("bb/session/info", json!({ "sessionId": session_id }), most, waits)?;
    serde_json::from_value(answer).map_err(|error| {
        ClientError::Nonsense(format!(
            "What the server says of a session does not fit this version ({error})."
        ))
    })
}

/// Ids of the modes, whichever way the agent tells them; `None` where it tells none.
fn modes_of(info: &SessionInfoResult) -> Option<Vec<String>> {
    let own = info.modes.as_ref().filter(|modes| !modes.available_modes.is_empty());
    if let Some(modes) = own {
        return Some(modes.available_modes.iter().map(|mode| mode.id.clone()).collect());
    }
    let options = info.config_options.as_ref()?;
    let option = options.iter().find(|option| option.category.as_deref() == Some("mode"))?;
    Some(option.options.iter().map(|choice| choice.value.clone()).collect())
}

fn known(modes: &[String], mode: &str) -> Result<(), ClientError> {
    if modes.iter().any(|id| id == mode) {
        return Ok(());
    }
    Err(refused(format!("There is no mode `{mode}`; there are {}.", listed(modes))))
}

fn listed(ids: &[String]) -> String {
    let quoted: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    quoted.join(", ")
}

fn refused(message: String) -> ClientError {
    ClientError::Refused(Refusal { number: 0, code: String::new(), message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(value: serde_json::Value) -> SessionInfoResult {
        serde_json::from_value(value).expect("fits")
    }

    #[test]
    fn modes_stand_for_themselves_or_behind_an_option() {
        let own =
            json!({ "modes": { "currentModeId": "a", "availableModes": [{ "id": "a" }, { "id": "b" }] } });
        let ids = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(modes_of(&info(own)), Some(ids.clone()));
        let option = json!({ "configOptions": [
            { "id": "m", "category": "model", "type": "select", "options": [] },
            { "id": "x", "category": "mode", "type": "select", "options": [{ "value": "a" }, { "value": "b" }] } ] });
        assert_eq!(modes_of(&info(option)), Some(ids));
        assert_eq!(modes_of(&info(json!({}))), None);
    }
}
