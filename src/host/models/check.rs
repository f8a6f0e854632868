//! One look at an endpoint before it is chosen: whether it answers, and which models it has.
//!
//! Owns what counts as usable, and the sentences about a list. Sends no prompt, which could cost money, and keeps nothing.

use std::time::Duration;

use super::client::ModelClient;
use super::failure::{ModelError, excerpt};
use super::target::Target;
use super::tokens::Token;

/// How long an endpoint may take: a person waits before a dialog.
const TIME: Duration = Duration::from_secs(15);

/// Names in one answer.
const MOST: usize = 2_000;

/// Names in a sentence.
const TOLD: usize = 3;

/// What a look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Names of the models, where the endpoint told them.
    pub models: Option<Vec<String>>,
    /// What is wrong and what to do, in one sentence.
    pub problem: Option<String>,
}

/// Asks this endpoint for its models. `wanted`: the one that is to be among them.
pub(crate) async fn check(
    client: &ModelClient,
    target: &Target,
    token: Option<&Token>,
    wanted: Option<&str>,
) -> Checked {
    let listed = tokio::time::timeout(TIME, client.list(target, token)).await;
    let failed = |problem: String| Checked { models: None, problem: Some(problem) };
    match listed {
        Err(_) => failed(format!(
            "What is at {} did not answer within {} s; start it, or correct its address.",
            target.origin().as_str(),
            TIME.as_secs()
        )),
        Ok(Err(error)) => failed(of_a_list(error, target)),
        Ok(Ok(names)) => {
            let problem = match wanted {
                Some(wanted) => missing(&names, wanted, target),
                None if names.is_empty() => Some(none_there(target)),
                None => None,
            };
            Checked { models: Some(names.into_iter().take(MOST).collect()), problem }
        }
    }
}

/// The sentence about a list that did not come. Nobody named a model, so a path that is not there is about the address.
fn of_a_list(error: ModelError, target: &Target) -> String {
    match error.status {
        Some(404 | 405) => format!(
            "There is no list of models below {}; correct the address, or choose it all the same where it has no such list.",
            target.base
        ),
        _ => error.message,
    }
}

fn none_there(target: &Target) -> String {
    format!("What is at {} answers and has no model yet; add one there first.", target.origin().as_str())
}

/// Why the model that is wanted is not there. Ollama calls the newest of a name by the name alone.
fn missing(names: &[String], wanted: &str, target: &Target) -> Option<String> {
    let is_it = |name: &String| name == wanted || name.strip_suffix(":latest") == Some(wanted);
    if names.iter().any(is_it) {
        return None;
    }
    if names.is_empty() {
        return Some(none_there(target));
    }
    let told: Vec<String> = names.iter().take(TOLD).map(|name| format!("`{}`", excerpt(name))).collect();
    let more = match names.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "There is no model `{}` at {}; it has {}{more}.",
        excerpt(wanted),
        target.origin().as_str(),
        told.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::client::Limits;
    use super::super::target::ModelChoice;
    use super::*;
    use crate::host::fake_model::{FakeModel, Script};

    fn target(url: &str) -> Target {
        let choice =
            ModelChoice { provider: Some("openai".into()), name: "any".into(), url: Some(url.into()) };
        Target::resolve(&choice).unwrap()
    }

    async fn found(script: Script, wanted: Option<&str>) -> (Checked, String) {
        let server = FakeModel::start(vec![script]).await;
        let client = ModelClient::new(Limits::default()).unwrap();
        let target = target(&server.url());
        let checked = check(&client, &target, Some(&Token("sk-tried".to_owned())), wanted).await;
        (checked, target.origin().as_str().to_owned())
    }

    fn list(names: &[&str]) -> Script {
        let data: Vec<_> = names.iter().map(|name| json!({ "id": name })).collect();
        Script::Stream("application/json", vec![json!({ "data": data }).to_string()])
    }

    #[tokio::test]
    async fn an_endpoint_tells_its_models_and_whether_the_wanted_one_is_among_them() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let (checked, _) = found(list(&["a", "b:latest"]), None).await;
        assert_eq!(checked, Checked { models: names(&["a", "b:latest"]), problem: None });
        let (checked, _) = found(list(&["a", "b:latest"]), Some("b")).await;
        assert_eq!(checked, Checked { models: names(&["a", "b:latest"]), problem: None });
        let (checked, origin) = found(list(&["a", "b", "c", "d"]), Some("z")).await;
        assert_eq!(
            checked.problem,
            Some(format!("There is no model `z` at {origin}; it has `a`, `b`, `c` and 1 more."))
        );
        let (checked, origin) = found(list(&[]), None).await;
        let sentence = format!("What is at {origin} answers and has no model yet; add one there first.");
        assert_eq!(checked, Checked { models: names(&[]), problem: Some(sentence) });
    }

    #[tokio::test]
    async fn an_endpoint_that_does_not_answer_so_says_what_to_do_and_never_the_key() {
        let refused = json!({ "error": { "message": "bad key sk-tried" } }).to_string();
        let (checked, origin) = found(Script::Status(401, refused), None).await;
        let sentence = checked.problem.unwrap();
        assert!(sentence.contains(&origin) && sentence.contains("does not take our key"), "{sentence}");
        assert!(!sentence.contains("sk-tried"), "{sentence}");
        let (checked, _) = found(Script::Status(404, String::new()), None).await;
        let sentence = checked.problem.unwrap();
        assert!(sentence.starts_with("There is no list of models below http://127.0.0.1:"), "{sentence}");
    }
}
