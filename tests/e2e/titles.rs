//! What a session is called: by its first prompt, until somebody gives it a name, which then stays.

use serde_json::{Value, json};

use crate::harness::{Options, Server};

fn title(server: &mut Server, session: &str) -> Value {
    let listed = server.ask("bb/listSessions", json!({}));
    let sessions = listed["sessions"].as_array().cloned().unwrap_or_default();
    sessions
        .into_iter()
        .find(|one| one["sessionId"] == session)
        .map_or(Value::Null, |one| one["title"].clone())
}

#[test]
fn a_name_that_was_given_stands_in_the_list_stays_at_the_next_prompt_and_over_a_restart() {
    let mut server = Server::ready(Options::default());
    let session = server.session();
    server.turn(&session, "where is main?");
    assert_eq!(title(&mut server, &session), "where is main?");
    let renamed = server.ask("bb/session/rename", json!({ "sessionId": session, "title": " The\nretries " }));
    assert_eq!(renamed, json!({ "sessionId": session, "title": "The retries" }));
    server.wait_notification("bb/state", |params| params.to_string().contains("The retries"));
    server.turn(&session, "and the tests?");
    assert_eq!(title(&mut server, &session), "The retries");
    for (params, code) in [
        (json!({ "sessionId": session, "title": " " }), "invalid_params"),
        (json!({ "sessionId": "nobody", "title": "t" }), "unknown_session"),
    ] {
        assert_eq!(server.refused("bb/session/rename", params)["data"]["code"], code);
    }
    let (workspace, state) = (server.workspace.clone(), server.state.clone());
    server.shut_down();
    let mut again = Server::start_in(workspace, state, Options::default());
    again.shake_hands();
    assert_eq!(title(&mut again, &session), "The retries");
}
