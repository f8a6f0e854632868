//! What our own agent remembers of a session, on the real binary: the results of its tools, after a kill too; how far a turn goes; and
//! a turn of 200 calls.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Options, PATIENCE, Server};
use crate::model::{Gate, Model, Reply, SUMMARY, Step, calls, says};

/// Role and content of the messages that a model was asked with, without the rules.
fn messages(body: &Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().expect("messages");
    let of = |message: &Value| {
        let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
        (text("role"), text("content"))
    };
    messages.iter().skip(1).map(of).collect()
}

fn results(body: &Value) -> Vec<String> {
    messages(body).into_iter().filter(|(role, _)| role == "tool").map(|(_, text)| text).collect()
}

fn reads(path: &str) -> Reply {
    calls("read_file", json!({ "path": path }))
}

/// The same window after `kill -9`.
fn killed(mut server: Server, options: Options, session: &str) -> Server {
    server.kill();
    let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
    let mut again = Server::start_in(workspace, state, options);
    again.shake_hands();
    again.ask("bb/init", json!({}));
    again.ask("bb/selectSession", json!({ "sessionId": session }));
    again
}

/// Waits until the window took up what the killed one left.
fn taken_up(server: &mut Server) {
    let began = Instant::now();
    while server.ask("bb/listSessions", json!({}))["sessions"][0]["status"] == "running" {
        assert!(began.elapsed() < PATIENCE, "nobody takes the session up");
    }
}

fn with_budget(model: &Model, steps: u64) -> Options {
    let mut options = model.chosen(true);
    options.options["budget"] = json!({ "steps": steps });
    options
}

#[test]
fn the_next_prompt_goes_along_with_what_the_tools_said_before_also_after_a_kill() {
    // Given a turn in which a file was read
    let model = Model::start(vec![reads("a.txt"), says("Two words."), says("As I said."), says("Still.")]);
    let mut server = Server::ready(model.chosen(true));
    server.write("a.txt", "one\ntwo\n");
    let session = server.session();
    server.turn(&session, "what is there?");
    // When the next prompt comes, and one behind a kill
    server.turn(&session, "how many?");
    let mut server = killed(server, model.chosen(true), &session);
    server.turn(&session, "sure?");
    // Then each time its model reads all that was said, and what the tool said
    let asked: Vec<Value> = (0..4).map(|_| model.asked().body).collect();
    let told = "a.txt: lines 1-2 of 2\none\ntwo\n".to_owned();
    for body in &asked[1..] {
        assert_eq!(results(body), std::slice::from_ref(&told));
    }
    let said: Vec<String> = messages(&asked[3]).into_iter().map(|(_, text)| text).collect();
    assert_eq!(
        said,
        ["what is there?", "", &told, "Two words.", "how many?", "As I said.", "sure?"].map(str::to_owned)
    );
}

#[test]
fn a_turn_that_used_up_its_budget_asks_in_the_chat_and_waits_through_a_kill() {
    // Given a turn of two steps that wants three
    let model = Model::start(vec![reads("a.txt"), reads("a.txt"), says("Done.")]);
    let mut server = Server::ready(with_budget(&model, 2));
    server.write("a.txt", "one\n");
    let session = server.session();
    server.prompt(&session, "go");
    let ask = server.wait_ask(&session);
    assert_eq!(ask["permission"]["title"], "Go on with this turn");
    let kinds: Vec<&str> = ask["permission"]["options"]
        .as_array()
        .expect("options")
        .iter()
        .filter_map(|one| one["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["allow_once", "deny"], "it is asked each time");
    // When its process is killed, and the next one is told to go on
    let mut server = killed(server, with_budget(&model, 2), &session);
    let waiting = server.ask("bb/permission/list", json!({}))["pending"][0]["permission"].clone();
    assert_eq!(waiting["requestId"], ask["permission"]["requestId"]);
    let answer = json!({ "sessionId": session, "requestId": waiting["requestId"], "decision": "allow_once",
                         "digest": waiting["digest"] });
    server.ask("bb/approvePermission", answer);
    // Then it comes to the end that it would have come to
    let end = server.wait_end(&session);
    assert_eq!(end["payload"]["message"], "Done.");
    let asked: Vec<Value> = (0..3).map(|_| model.asked().body).collect();
    assert_eq!(results(&asked[2]).len(), 2);
}

#[test]
fn wherever_a_turn_is_killed_the_next_word_takes_it_to_the_same_end() {
    // Given a turn of 200 files, killed at a step that its seed says; its model reads a quarter of them at once
    const FILES: usize = 200;
    let paths: Vec<String> = (0..FILES).map(|number| format!("f{number}.txt")).collect();
    let text = |path: &str| format!("{path} holds this\n").repeat(60);
    for seed in 0..10usize {
        let at = (seed * 67 + 31) % FILES;
        let gate = Gate::default();
        let stays = Reply::Stream(vec![Step::Text("Hm".to_owned()), Step::Wait(gate)]);
        let model = Model::start(paths[..at].iter().map(|path| reads(path)).chain([stays]).collect());
        let mut options = with_budget(&model, 0);
        options.options["model"]["contextWindow"] = json!(24_000);
        let mut server = Server::ready(options.clone());
        for path in &paths {
            server.write(path, &text(path));
        }
        let session = server.session();
        server.prompt(&session, "read all");
        let mut asked = Vec::new();
        while questions(&asked) <= at {
            asked.push(model.asked().body);
        }
        let mut server = killed(server, options, &session);
        // When it is told to go on
        for path in &paths[at..] {
            model.then(reads(path));
        }
        model.then(says("All read."));
        taken_up(&mut server);
        server.prompt(&session, "continue");
        let is_end = |message: &Value| message.to_string().contains("All read.");
        server.wait_long("the same end", PATIENCE * 4, is_end);
        while let Some(more) = model.try_asked() {
            asked.push(more.body);
        }
        // Then each file was read once, in its order
        let read: Vec<String> = journal(&mut server, &session).iter().filter_map(path_read).collect();
        assert_eq!(read, paths, "killed at {at}");
        assert_eq!(questions(&asked), FILES + 2, "killed at {at}");
        // And the last question has all of it, the beginning as a summary
        let last = asked.last().expect("it was asked");
        let wanted: Vec<String> =
            paths.iter().map(|path| format!("{path}: lines 1-60 of 60\n{}", text(path))).collect();
        let told = results(last);
        assert!(asked.len() > FILES + 2 && wanted.ends_with(&told), "killed at {at}: {told:?}");
        assert!(messages(last).iter().any(|(_, text)| text.contains(SUMMARY)), "killed at {at}");
    }
}

/// All events of a session, as the journal has them.
fn journal(server: &mut Server, session: &str) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    loop {
        let from = events.len() + 1;
        let read =
            server.ask("bb/events/read", json!({ "sessionId": session, "fromSeq": from, "limit": 5000 }));
        let page = read["events"].as_array().expect("events").clone();
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

/// Questions of a turn, without those for a summary.
fn questions(asked: &[Value]) -> usize {
    asked.iter().filter(|body| !is_summary(body)).count()
}

fn is_summary(body: &Value) -> bool {
    messages(body).last().is_some_and(|(_, text)| text.contains("a summary that you write now"))
}

/// The file of a call that ended well.
fn path_read(event: &Value) -> Option<String> {
    let ended = event["class"] == "tool.result" && event["payload"]["status"] == "completed";
    ended.then(|| event["payload"]["args"]["path"].as_str().map(str::to_owned)).flatten()
}

#[test]
fn a_session_of_our_own_agent_has_modes_as_those_of_agents_are() {
    let model = Model::start(vec![says("I would."), says("Still.")]);
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    let ids = |info: &Value| -> Vec<String> {
        let modes = info["modes"]["availableModes"].as_array().expect("modes");
        modes.iter().map(|mode| mode["id"].as_str().expect("an id").to_owned()).collect()
    };
    let info = server.ask("bb/session/info", json!({ "sessionId": session }));
    assert_eq!(
        (ids(&info), &info["modes"]["currentModeId"]),
        (["ask", "plan", "agent"].map(str::to_owned).to_vec(), &json!("agent"))
    );
    // When one that only plans is chosen, it holds for the turns that come, also after a kill
    let set = |mode: &str| json!({ "sessionId": session, "command": "set_mode", "args": { "modeId": mode } });
    assert_eq!(server.refused("bb/command", set("code"))["data"]["code"], "invalid_params");
    server.ask("bb/command", set("plan"));
    server.turn(&session, "make it shorter");
    let mut server = killed(server, model.chosen(true), &session);
    server.turn(&session, "and?");
    for _ in 0..2 {
        let body = model.asked().body;
        let tools = body["tools"].as_array().expect("tools");
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect();
        assert_eq!(names, ["list_files", "read_file", "search_text", "search_symbols", "outline", "plan"]);
    }
}

/// Issue 15, "To build" 6: the plan is kept, across a summary, turns and a kill, and shown with how far it is.
#[test]
fn a_plan_is_shown_with_how_far_it_is_and_kept_across_a_summary_turns_and_a_kill() {
    let step = |description: &str, status: &str| json!({ "description": description, "status": status });
    let plan = |first: &str, second: &str| {
        calls("plan", json!({ "steps": [step("Read all", first), step("Write it down", second)] }))
    };
    let long = |number: usize| reads(&format!("f{number}.txt"));
    let model = Model::start(
        [plan("in_progress", "pending"), plan("completed", "in_progress")]
            .into_iter()
            .chain((0..24).map(long))
            .chain([says("Half of it."), says("And the other half.")])
            .collect(),
    );
    let mut options = with_budget(&model, 0);
    options.options["model"]["contextWindow"] = json!(16_000);
    let mut server = Server::ready(options.clone());
    for number in 0..24 {
        server.write(&format!("f{number}.txt"), &format!("line of file {number}\n").repeat(300));
    }
    let session = server.session();
    server.turn(&session, "read all and write it down");
    let mut server = killed(server, options, &session);
    server.turn(&session, "go on");
    // Then it is one block that says how far it is
    let view = server.ask("bb/selectSession", json!({ "sessionId": session }))["view"].clone();
    let blocks = view["lanes"]["chat"]["blocks"].as_array().expect("blocks").clone();
    let plans: Vec<&Value> = blocks.iter().filter(|block| block["kind"] == "plan").collect();
    let steps = json!([
        { "text": "Read all", "status": "completed" },
        { "text": "Write it down", "status": "in_progress" },
    ]);
    assert_eq!(plans.iter().map(|plan| &plan["steps"]).collect::<Vec<_>>(), [&steps]);
    // And its model has it to the last, though the calls that told it went into summaries
    let asked: Vec<Value> = std::iter::from_fn(|| model.try_asked()).map(|asked| asked.body).collect();
    assert!(asked.iter().filter(|body| is_summary(body)).count() >= 2, "there were several summaries");
    let said: Vec<String> =
        messages(asked.last().expect("asked")).into_iter().map(|(_, text)| text).collect();
    let kept = "The plan that the user sees, as it stood:\n1. [x] Read all\n2. [>] Write it down";
    // Where the last summary fell depends on the sizes of the tools' own words.
    assert!(said.iter().any(|text| text.ends_with(kept)), "{said:?}");
    assert_eq!(said.last().map(String::as_str).map(|text| text.starts_with("go on")), Some(true), "{said:?}");
}

/// Done when: 200 calls, a summary in their middle, and what they cost here. `cargo test --test e2e 200 -- --nocapture` prints it.
#[test]
fn a_turn_of_200_calls_is_summarised_on_its_way_and_stays_small() {
    const CALLS: usize = 200;
    let replies = (0..CALLS).map(|number| reads(&format!("f{}.txt", number % 20)));
    let model = Model::start(replies.chain([says("All of it.")]).collect());
    let mut options = model.chosen(true);
    options.options["budget"] = json!({ "steps": 0 });
    options.options["model"]["contextWindow"] = json!(60_000);
    let mut server = Server::ready(options);
    for number in 0..20 {
        server.write(&format!("f{number}.txt"), &format!("line of file {number}\n").repeat(120));
    }
    let session = server.session();
    let before = server.rss_kib();
    let began = Instant::now();
    server.prompt(&session, "read all");
    let ends = |message: &Value| message.to_string().contains("assistant.message_final");
    server.wait_long("the end of 200 calls", PATIENCE * 4, ends);
    let took = began.elapsed();
    // Each question fits, and the summaries stand in those behind them
    let asked: Vec<Value> = (0..).map_while(|_| model.try_asked()).map(|asked| asked.body).collect();
    let summaries = asked.len() - CALLS - 1;
    assert!((1..=10).contains(&summaries), "{summaries}");
    let largest = asked.iter().map(|body| body.to_string().len()).max().unwrap_or_default();
    assert!(largest < 60_000 * 4, "{largest}");
    let prompt = &messages(asked.last().expect("asked"))[0].1;
    assert!(prompt.starts_with("read all") && prompt.ends_with(SUMMARY), "{prompt}");
    // And the chat says so, and has every call
    let says = |event: &&Value| {
        event["payload"]["text"].as_str().is_some_and(|text| text.contains("goes on from a summary of it"))
    };
    assert_eq!(server.events(&session).iter().filter(says).count(), summaries);
    let ended = server.events(&session).iter().filter(|event| event["type"] == "tool.execute").count();
    assert_eq!(ended, 2 * CALLS);
    let size = |name: &str| std::fs::metadata(server.state.path().join(name)).map_or(0, |file| file.len());
    let (database, log) = (size("sessions.sqlite3"), size("sessions.sqlite3-wal"));
    println!(
        "{CALLS} calls, {summaries} summaries: {:.1} ms a step, journal {} KiB and its log {} KiB, memory {} MiB (before {} MiB), \
         largest question {} KiB",
        took.as_secs_f64() * 1e3 / CALLS as f64,
        database / 1024,
        log / 1024,
        server.rss_kib() / 1024,
        before / 1024,
        largest / 1024,
    );
    // Twice what the tools gave, once for people and once for the model; and pages that are on their way into it.
    assert!(database < 4 << 20 && log < 16 << 20, "{database} {log}");
    assert!(server.rss_kib() < 200 * 1024);
}
