//! Tools of servers: what a model is offered, what the user is asked, and what comes of a call.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::place::{KEY, Place, setting};
use crate::harness::PATIENCE;
use crate::model::{Reply, Step, calls, says};

fn echo(text: &str) -> Reply {
    calls("mcp__docs__echo", json!({ "text": text }))
}

/// Names of the tools that the model was offered.
fn offered(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["function"]["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_tool_of_a_server_is_offered_asked_about_with_its_arguments_and_called_once() {
    // Given a server that says of its tool that it only reads
    let mut place = Place::with(vec![echo("hello"), says("Done.")]);
    // When the model calls the tool
    place.server.prompt(&place.session.clone(), "say hello");
    let body = place.model.asked().body;
    // Then it was offered with its schema
    let tool = body["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .find(|tool| tool["function"]["name"] == "mcp__docs__echo");
    assert_eq!(
        tool.expect("the tool")["function"],
        json!({
            "name": "mcp__docs__echo",
            "description": "Says it again.",
            "parameters": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
        })
    );
    // And the user is asked, with the server, the tool and the arguments, and nothing was called before
    let ask = place.server.wait_ask(&place.session);
    let permission = &ask["permission"];
    assert_eq!(
        permission["subject"],
        json!({ "kind": "tool", "server": "docs", "name": "echo", "input": { "text": "hello" } })
    );
    assert_eq!(permission["title"], "Call echo of the server docs with {\"text\":\"hello\"}");
    let kinds: Vec<&str> = permission["options"]
        .as_array()
        .expect("options")
        .iter()
        .map(|option| option["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(kinds, ["allow_once", "allow_rule", "allow_rule", "deny"]);
    assert!(!place.heard("docs").iter().any(|message| message["method"] == "tools/call"));
    place.server.decide(&place.session.clone(), &ask, "allow_once");
    // Then it is called once, and both hear the answer
    let end = place.server.wait_tool(&place.session, "docs/echo");
    assert_eq!(end["payload"]["result"], json!({ "summary": "1 line", "text": "hello" }));
    assert_eq!(place.model.asked().tool_result(), "hello");
    place.server.wait_end(&place.session);
    let heard = place.heard("docs");
    let called: Vec<&Value> = heard.iter().filter(|message| message["method"] == "tools/call").collect();
    assert_eq!(called.len(), 1);
    assert_eq!(called[0]["params"]["arguments"], json!({ "text": "hello" }));
}

#[test]
fn a_call_that_is_denied_is_not_made_and_a_rule_holds_for_this_tool_of_this_server_as_it_is() {
    // Given a call that the user denies
    let mut place =
        Place::with(vec![echo("no"), says("Well."), echo("one"), says("1"), echo("two"), says("2")]);
    let session = place.session.clone();
    place.server.prompt(&session, "say no");
    let ask = place.server.wait_ask(&session);
    place.server.decide(&session, &ask, "deny");
    place.server.wait_end(&session);
    place.model.asked();
    assert!(place.model.asked().tool_result().starts_with("Error (denied)"));
    assert!(!place.heard("docs").iter().any(|message| message["method"] == "tools/call"));
    // When the next one is allowed for the session
    place.server.prompt(&session, "say one");
    let ask = place.server.wait_ask(&session);
    let rule = &ask["permission"]["options"][1]["rule"]["pattern"];
    let pattern = rule.as_str().expect("a pattern");
    assert!(pattern.starts_with("call: echo of the server docs, any arguments (sha256:"), "{pattern}");
    place.server.decide(&session, &ask, "allow_rule");
    place.server.wait_end(&session);
    // Then the one after it is not asked about
    place.server.prompt(&session, "say two");
    place.server.wait_end(&session);
    let settled = place.server.events(&session);
    let by = |event: &Value| event["payload"]["resolvedBy"].as_str().map(str::to_owned);
    let by: Vec<String> =
        settled.iter().filter(|event| event["type"] == "local.permission_settled").filter_map(by).collect();
    assert_eq!(by, ["user", "user", "rule"]);
    let said = |message: &Value| message["params"]["arguments"]["text"].clone();
    let heard = place.heard("docs");
    let calls = heard.iter().filter(|message| message["method"] == "tools/call");
    assert_eq!(calls.map(said).collect::<Vec<_>>(), [json!("one"), json!("two")]);
}

#[test]
fn two_servers_with_the_same_tool_do_not_clash() {
    let two = |notes: &Path| json!({ "docs": setting(notes, "docs", json!({})), "more": setting(notes, "more", json!({})) });
    let mut place = Place::of(vec![calls("mcp__more__echo", json!({ "text": "x" })), says("ok")], two);
    let session = place.session.clone();
    place.server.prompt(&session, "say x");
    let names = offered(&place.model.asked().body);
    assert!(
        ["mcp__docs__echo", "mcp__more__echo"].iter().all(|name| names.iter().any(|known| known == name))
    );
    place.allow();
    place.server.wait_end(&session);
    let called = |place: &Place, name: &str| {
        place.heard(name).iter().filter(|message| message["method"] == "tools/call").count()
    };
    assert_eq!((called(&place, "docs"), called(&place, "more")), (0, 1));
}

/// `docs`, which says this of its tool.
fn described(said: &str) -> impl FnOnce(&Path) -> Value {
    let env = json!({ "ECHO_DESCRIPTION": said });
    |notes| json!({ "docs": setting(notes, "docs", env) })
}

/// The same, where only the tool's own words differ: the definition of the server stays.
fn describing(said: &str) -> impl FnOnce(&Path) -> Value {
    let said = said.to_owned();
    move |notes| {
        std::fs::write(notes.join("docs.description"), said).expect("a file");
        json!({ "docs": setting(notes, "docs", json!({})) })
    }
}

#[test]
fn a_rule_outlives_the_process_and_ends_when_the_tool_is_described_in_another_way() {
    // Given a tool that is always allowed in this workspace
    let mut place =
        Place::of(vec![echo("1"), says("1"), echo("2"), says("2"), echo("3"), says("3")], describing("One."));
    let session = place.session.clone();
    place.server.prompt(&session, "say 1");
    let ask = place.server.wait_ask(&session);
    let mut answer = crate::harness::Server::decision(&session, &ask, "allow_rule");
    answer["optionId"] = json!("allow_rule_workspace");
    place.server.ask("bb/approvePermission", answer);
    place.server.wait_end(&session);
    // When another process has the same server, then it is not asked
    let mut place = place.killed(describing("One."));
    place.server.turn(&session, "say 2");
    assert_eq!(place.heard("docs").iter().filter(|message| message["method"] == "tools/call").count(), 2);
    // And when the server says something else of it, it is asked again
    let mut place = place.killed(describing("Another."));
    place.server.prompt(&session, "say 3");
    place.server.wait_ask(&session);
    assert_eq!(place.heard("docs").iter().filter(|message| message["method"] == "tools/call").count(), 2);
}

#[test]
fn a_call_that_waits_outlives_a_kill_and_is_made_once_when_it_is_allowed_then() {
    let mut place = Place::of(vec![echo("late"), says("ok")], described("One."));
    let session = place.session.clone();
    place.server.prompt(&session, "say it");
    place.server.wait_ask(&session);
    // When the process is killed while the user is asked, and answers in the next one
    let mut place = place.killed(described("One."));
    let listed = place.server.ask("bb/permission/list", json!({}));
    let waiting = &listed["pending"][0]["permission"];
    assert_eq!(waiting["subject"]["server"], "docs", "{listed}");
    let answer = json!({ "sessionId": session, "requestId": waiting["requestId"], "decision": "allow_once",
                         "digest": waiting["digest"] });
    // What the killed process had started holds the session until it has ended.
    let began = Instant::now();
    loop {
        let id = place.server.request("bb/approvePermission", answer.clone());
        let told = place.server.wait_response(&id);
        if told.get("result").is_some() {
            break;
        }
        assert!(told["error"]["data"]["code"] == "conflict" && began.elapsed() < PATIENCE, "{told}");
        std::thread::sleep(Duration::from_millis(10));
    }
    // Then the call is made, once
    place.model.asked();
    assert_eq!(place.model.asked().tool_result(), "late");
    place.server.wait_end(&session);
    assert_eq!(place.heard("docs").iter().filter(|message| message["method"] == "tools/call").count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_is_gone_when_the_process_that_started_it_was_killed() {
    let mut place = Place::with(vec![]);
    place.until("docs", "ready");
    let greeted = place.until_heard("docs", "the greeting", |message| message["method"] == "initialize");
    let stat = format!("/proc/{}/stat", greeted["pid"]);
    // What nobody has waited for yet has ended all the same.
    let runs = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(runs());
    place.server.kill();
    let began = Instant::now();
    while runs() {
        assert!(began.elapsed() < PATIENCE, "it still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Issue "To build" 2: images of tools go to models that see.
#[test]
fn a_model_that_sees_is_shown_the_images_of_a_tool_and_told_what_is_none() {
    let seeing = |options: &mut Value| options["model"]["images"] = json!(true);
    let mut place = Place::set(
        vec![
            calls("mcp__docs__screenshot", json!({})),
            calls("read_file", json!({ "path": "logo.png" })),
            says("Nice."),
        ],
        seeing,
    );
    place.server.write("logo.png", "GIF89a\u{1}\0");
    let session = place.session.clone();
    place.server.prompt(&session, "look");
    place.model.asked();
    place.allow();
    let asked = place.model.asked();
    let told = asked.tool_result();
    assert!(told.starts_with("The page.\n[image, image/png, 6 bytes: no text]\n"), "{told}");
    assert!(told.contains("(You are shown 1 image; 1 more cannot be shown to you,"), "{told}");
    assert!(asked.body.to_string().contains("data:image/png;base64,iVBORw0K"), "{}", asked.body);
    // And one of the workspace, told by its bytes
    let asked = place.model.asked();
    assert!(asked.body.to_string().contains("data:image/gif;base64,R0lGODlhAQA="), "{}", asked.body);
    place.server.wait_end(&session);
    // A model that sees none hears that it is one
    let mut blind = Place::with(vec![calls("read_file", json!({ "path": "logo.png" })), says("Well.")]);
    blind.server.write("logo.png", "GIF89a\u{1}\0");
    let session = blind.session.clone();
    blind.server.prompt(&session, "look");
    blind.server.wait_end(&session);
    blind.model.asked();
    let told = blind.model.asked().tool_result();
    assert_eq!(
        told,
        "Error (not_text): logo.png is an image. You see no images; ask the user what is to be seen in it where that matters, or go on \
         without it."
    );
}

#[test]
fn a_large_answer_is_whole_in_the_chat_cut_for_the_model_and_a_picture_is_shown() {
    let mut place = Place::with(vec![
        calls("mcp__docs__big", json!({})),
        calls("mcp__docs__picture", json!({})),
        calls("mcp__docs__fail", json!({})),
        says("ok"),
    ]);
    let session = place.session.clone();
    place.server.prompt(&session, "look");
    place.model.asked();
    place.allow();
    // Then the model has a beginning, and the event of the chat has all of it
    let end = place.server.wait_tool(&session, "docs/big");
    let told = place.model.asked().tool_result();
    assert!(told.len() < 17_000 && told.ends_with("ask for less at a time]"), "{}", told.len());
    let body = place.server.ask("bb/eventBody", json!({ "sessionId": session, "seq": end["seq"] }));
    let whole = body["event"]["payload"]["result"]["text"].as_str().expect("a text").to_owned();
    assert!(whole.ends_with("line 19999\n"), "{}", whole.len());
    // And a picture is a picture for the user, and a line for the model
    place.allow();
    let told = place.model.asked().tool_result();
    assert!(told.starts_with("[image, image/png, 3 bytes: no text]\n(You see no images;"), "{told}");
    let notice = place.server.wait_event(&session, "why", |event| event["type"] == "local.notice");
    assert!(notice["payload"]["text"].as_str().is_some_and(|text| text.contains("choose a model that")));
    let view = place.server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].to_string();
    assert!(view.contains("data:image/png;base64,Zm9v"), "{view}");
    // And what the server says of its failure both hear
    place.allow();
    let end = place.server.wait_tool(&session, "docs/fail");
    assert_eq!(end["payload"]["status"], "failed");
    assert_eq!(end["payload"]["result"]["error"], "It is broken.");
    assert_eq!(place.model.asked().tool_result(), "Error (tool_failed): It is broken.");
    place.server.wait_end(&session);
}

#[test]
fn a_stop_cancels_the_call_at_the_server() {
    let mut place = Place::with(vec![calls("mcp__docs__hang", json!({}))]);
    let session = place.session.clone();
    place.server.prompt(&session, "wait");
    place.allow();
    let call = place.until_heard("docs", "the call", |message| message["method"] == "tools/call");
    place.server.ask("bb/stop", json!({ "sessionId": session }));
    let end = place.server.wait_end(&session);
    assert_eq!(end["payload"]["metadata"]["cancelled"], true);
    let cancelled =
        place.until_heard("docs", "the cancel", |message| message["method"] == "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
}

#[test]
fn a_server_that_ends_in_mid_call_is_said_without_its_secrets_and_the_next_call_starts_it_again() {
    let mut place = Place::with(vec![
        calls("mcp__docs__die", json!({})),
        calls("mcp__docs__hang", json!({})),
        echo("back"),
        says("ok"),
    ]);
    let session = place.session.clone();
    place.server.prompt(&session, "try");
    place.model.asked();
    // When it ends by itself
    place.allow();
    let end = place.server.wait_tool(&session, "docs/die");
    let said = "The tool server `docs` ended with the exit code 3. Its last words: The disk of [redacted] is full. So the call of \
                `die` has no result; it may have been done all the same.";
    assert_eq!(end["payload"]["result"]["error"], said);
    assert_eq!(place.model.asked().tool_result(), format!("Error (server_failed): {said}"));
    // And when it is killed
    place.allow();
    let call = place.until_heard("docs", "the second call", |message| {
        message["method"] == "tools/call" && message["params"]["name"] == "hang"
    });
    let pid = i32::try_from(call["pid"].as_i64().expect("a pid")).expect("a pid");
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("it is killed");
    let end = place.server.wait_tool(&session, "docs/hang");
    let error = end["payload"]["result"]["error"].as_str().expect("a sentence");
    assert!(error.starts_with("The tool server `docs` ended, killed by the signal 9."), "{error}");
    place.model.asked();
    // Then the next call starts it again
    place.allow();
    assert_eq!(place.model.asked().tool_result(), "back");
    place.server.wait_end(&session);
    let again = place.until_heard("docs", "the third call", |message| message["params"]["name"] == "echo");
    assert_ne!(again["pid"], call["pid"]);
    place.assert_nowhere(KEY);
}

#[test]
fn a_server_gets_its_own_variables_and_none_of_our_tokens() {
    let mut place = Place::with(vec![calls("mcp__docs__environment", json!({})), says("ok")]);
    let session = place.session.clone();
    place.server.prompt(&session, "look");
    place.model.asked();
    place.allow();
    let told = place.model.asked().tool_result();
    assert!(told.contains("API_KEY=") && told.contains("PATH="), "{told}");
    assert!(!told.contains("OPENAI_API_KEY") && !told.contains("BREADBOARD"), "{told}");
    place.server.wait_end(&session);
    place.assert_nowhere(KEY);
}

#[test]
fn a_server_that_cannot_be_used_is_named_once_with_what_to_do_and_the_turn_goes_on() {
    let mut place = Place::of(vec![says("one"), says("two")], |notes| {
        json!({
            "none": { "command": "there-is-no-such-program" },
            "refuses": setting(notes, "refuses", json!({ "REFUSES_TO_START": "1" })),
            "both": { "command": "a", "url": "b" },
        })
    });
    let session = place.session.clone();
    place.server.turn(&session, "hello");
    place.server.turn(&session, "again");
    let events = place.server.events(&session);
    let mut notices: Vec<String> = events
        .iter()
        .filter(|event| event["type"] == "local.notice")
        .map(|event| event["payload"]["text"].as_str().unwrap_or_default().to_owned())
        .collect();
    notices.sort();
    assert_eq!(
        notices,
        [
            "The tool server `both` has both a program and an address; leave one of them out.",
            "The tool server `none` could not be started. The program `there-is-no-such-program` was not found; install it, or \
             correct the command in the settings.",
            "The tool server `refuses` ended with the exit code 1. Its last words: There is no license here. Check its setting, \
             then restart it.",
        ]
    );
    assert_eq!(place.standing("none")["status"], "failed");
}

#[test]
fn several_calls_of_one_reply_are_each_asked_about() {
    let both = Reply::Stream(vec![
        Step::Call("mcp__docs__echo", json!({ "text": "one" })),
        Step::Call("mcp__docs__echo", json!({ "text": "two" })),
    ]);
    let mut place = Place::with(vec![both, says("ok")]);
    let session = place.session.clone();
    place.server.prompt(&session, "both");
    let first = place.allow();
    let second = place.allow();
    assert_eq!(first["permission"]["subject"]["input"], json!({ "text": "one" }));
    assert_eq!(second["permission"]["subject"]["input"], json!({ "text": "two" }));
    place.server.wait_end(&session);
}
