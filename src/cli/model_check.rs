//! Whether the model that is configured would answer: its endpoint takes our key and has a model of that name.
//!
//! Owns the check. Asks for the list of models alone: a prompt could cost money.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::check::Check;
use super::client::{Client, ClientError};
use super::variables::ENV_MODEL_TOKEN;
use crate::domain::policy::provider::provider_of;
use crate::protocol::request::ModelsCheckResult;
use crate::protocol::settings::ModelSetting;

/// A list of models comes within milliseconds, and a person waits.
const ENDPOINT: Duration = Duration::from_secs(8);

/// What is said of an endpoint with which no prompt works. Whatever else is said may be about the list alone, which not every
/// endpoint has.
const CERTAIN: [&str; 3] = ["(HTTP 401)", "(HTTP 403)", "There is no model `"];

/// Asks the endpoint, with the key that a prompt would go with.
pub(super) fn model_answers(
    client: &mut Client,
    setting: &ModelSetting,
    env: &impl Fn(&str) -> Option<String>,
) -> Check {
    let ModelSetting { provider, name, url, .. } = setting;
    let provider = provider.clone().unwrap_or_else(|| provider_of(name, url.is_some()).to_owned());
    let key = env(ENV_MODEL_TOKEN).filter(|key| !key.trim().is_empty());
    let mut params = Map::new();
    params.insert("provider".to_owned(), json!(provider));
    params.insert("name".to_owned(), json!(name));
    params.extend(url.iter().map(|url| ("url".to_owned(), json!(url))));
    params.extend(key.map(|key| ("token".to_owned(), json!(key))));
    match client.request("bb/models/check", Value::Object(params), ENDPOINT) {
        Ok(said) => {
            serde_json::from_value(said).map_or_else(|error| unknown(&error.to_string()), |said| read(&said))
        }
        Err(ClientError::Silent(_)) => {
            unknown(&format!("its endpoint said nothing for {} s", ENDPOINT.as_secs()))
        }
        Err(error) => unknown(&error.to_string()),
    }
}

fn read(said: &ModelsCheckResult) -> Check {
    match &said.problem {
        None => Check::ok("endpoint", "answers and has this model; no prompt was sent"),
        // The sentence says what to do.
        Some(problem) if CERTAIN.iter().any(|part| problem.contains(part)) => {
            Check { advice: None, ..Check::fail("endpoint", problem.clone(), "") }
        }
        Some(problem) => unknown(problem),
    }
}

fn unknown(why: &str) -> Check {
    Check::warn(
        "endpoint",
        format!("it is not known whether the model answers: {why}"),
        "ask it something to find out",
    )
}

#[cfg(test)]
mod tests {
    use super::super::check::Mark;
    use super::*;

    #[test]
    fn a_key_and_a_name_are_judged_and_a_list_that_is_missing_is_not() {
        let mark = |problem: Option<&str>| {
            let said = ModelsCheckResult {
                ok: problem.is_none(),
                models: None,
                problem: problem.map(str::to_owned),
            };
            read(&said).mark
        };
        assert_eq!(mark(None), Mark::Ok);
        assert_eq!(
            mark(Some("The model at x does not take our key (HTTP 401); set the right one.")),
            Mark::Fail
        );
        assert_eq!(mark(Some("There is no model `a` at x; it has `b`.")), Mark::Fail);
        assert_eq!(mark(Some("There is no list of models below x; correct the address.")), Mark::Warn);
    }
}
