//! The user of one run: says the prompts, answers what is asked, and does what the plan has beside.

use std::sync::Arc;
use std::time::{Duration, Instant};

use breadboard_ls::testing::simulate::desktop::{HostOptions, HostSimulator, Plot};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::harness::{Options, Server};
use crate::plan::{Beside, Plan};
use crate::proof::compare;

/// A stop may take ten seconds, and a connection that is refused comes back with growing pauses.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the last messages may take to be in the journal.
const SETTLED: Duration = Duration::from_secs(10);

struct Run<'a> {
    plan: &'a Plan,
    host: HostSimulator,
    server: Option<Server>,
    session: String,
    /// The last event that was looked at.
    seen: u64,
    /// Events so far.
    count: usize,
    beside: Vec<(usize, Beside)>,
    answers: Rng,
    met: Vec<&'static str>,
}

/// Runs a plan; what it met. Panics where something is not as promised.
pub fn run(plan: &Plan) -> Vec<&'static str> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let plot = Plot::parse(&json!({ "prompts": plan.prompts }).to_string()).unwrap();
    let options = HostOptions {
        dialect: plan.dialect,
        cut: plan.cut,
        garbage: plan.garbage,
        seed: plan.seed,
        budget: plan.budget,
        plot: Some(plot),
        ..HostOptions::default()
    };
    let host = HostSimulator::start(options, runtime.handle()).unwrap();
    let chosen = chosen(&host);
    let mut server = Server::ready(chosen);
    server.wait_notification("bb/connection", |params| params["status"] == "connected");
    let session = server.ask("bb/createSession", json!({}))["sessionId"].as_str().unwrap().to_owned();
    let mut run = Run {
        plan,
        host,
        server: Some(server),
        session,
        seen: 0,
        count: 0,
        beside: plan.beside.clone(),
        answers: Rng::with_seed(plan.answers),
        met: Vec::new(),
    };
    for line in &plan.lines {
        run.turn(line);
    }
    run.prove();
    run.met
}

fn chosen(host: &HostSimulator) -> Options {
    Options {
        options: json!({ "engine": { "kind": "desktop", "url": host.base_url() }, "workspaceTrusted": true }),
        ..Options::default()
    }
}

impl Run<'_> {
    fn server(&mut self) -> &mut Server {
        self.server.as_mut().expect("a server")
    }

    /// One prompt, to the end of its turn.
    fn turn(&mut self, line: &str) {
        let session = self.session.clone();
        self.server().ask("bb/sendMessage", json!({ "sessionId": session, "text": line }));
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "the turn of `{line}` has no end");
            let Some(event) = self.next() else { continue };
            match event["class"].as_str().unwrap_or_default() {
                "permission.request" => {
                    let decision = if self.answers.bool() { "allow_once" } else { "deny" };
                    let params = Server::decision(&session, &event, decision);
                    self.met.push("ask");
                    // It may have been settled meanwhile, by a stop or the end of its turn.
                    let id = self.server().request("bb/approvePermission", params);
                    self.server().wait_response(&id);
                }
                "run.finished" => break,
                _ if is_waited_for_in_vain(&event) => {
                    // The question, or the answer to it, went with the socket, and the protocol has no word to ask for it again:
                    // only the user can end the turn.
                    self.met.push("in vain");
                    self.beside(Beside::Stop);
                }
                _ => {}
            }
        }
        // Where a turn failed, what waits is held until the user lets it go.
        let id = self.server().request("bb/queue/resume", json!({ "sessionId": session }));
        self.server().wait_response(&id);
    }

    /// The next event of the session; what happens beside happens before it.
    fn next(&mut self) -> Option<Value> {
        let due = self.beside.iter().position(|(at, _)| *at <= self.count);
        if let Some(at) = due {
            let (_, what) = self.beside.remove(at);
            self.beside(what);
        }
        let (session, seen) = (self.session.clone(), self.seen);
        let read = self.server().ask("bb/events/read", json!({ "sessionId": session, "fromSeq": seen + 1 }));
        let event = read["events"].as_array().and_then(|events| events.first()).cloned();
        match event {
            Some(event) => {
                self.seen = event["seq"].as_u64().expect("a number");
                self.count += 1;
                Some(event)
            }
            None => {
                self.server().wait_long("the next event", PATIENCE, |message| {
                    message["method"] == "bb/events" && message["params"]["sessionId"] == session.as_str()
                });
                None
            }
        }
    }

    fn beside(&mut self, what: Beside) {
        let session = self.session.clone();
        match what {
            Beside::Kill => {
                self.met.push("kill");
                let mut server = self.server.take().expect("a server");
                let (workspace, state) = (Arc::clone(&server.workspace), Arc::clone(&server.state));
                server.kill();
                let mut next = Server::start_in(workspace, state, chosen(&self.host));
                next.shake_hands();
                next.ask("bb/selectSession", json!({ "sessionId": session }));
                self.server = Some(next);
            }
            Beside::Cut => {
                self.met.push("cut");
                self.host.cut_sockets();
            }
            Beside::Refuse => {
                self.met.push("refuse");
                self.host.refuse_sockets(true);
                self.host.cut_sockets();
                // The next look at the events is the while.
                let read = json!({ "sessionId": session, "fromSeq": 1 });
                self.server().ask("bb/events/read", read);
                self.host.refuse_sockets(false);
            }
            Beside::Stop => {
                self.met.push("stop");
                let id = self.server().request("bb/stop", json!({ "sessionId": session }));
                self.server().wait_response(&id);
            }
        }
    }

    fn journal(&mut self) -> Vec<Value> {
        let session = self.session.clone();
        let mut events: Vec<Value> = Vec::new();
        loop {
            let from = events.last().map_or(1, |event| event["seq"].as_u64().expect("a number") + 1);
            let read = self.server().ask("bb/events/read", json!({ "sessionId": session, "fromSeq": from }));
            let page = read["events"].as_array().cloned().unwrap_or_default();
            if page.is_empty() {
                return events;
            }
            events.extend(page);
        }
    }

    fn prove(&mut self) {
        let begun = Instant::now();
        // What was said last may still be on its way.
        let (journal, compared) = loop {
            let said = self.host.said(&self.session);
            let journal = self.journal();
            match compare(&said, &journal) {
                Ok(compared) if !self.host.runs(&self.session) || begun.elapsed() > SETTLED => {
                    break (journal, compared);
                }
                Err(why) if begun.elapsed() > SETTLED => {
                    panic!("{why}\n{:?}\n{}", self.plan, shown(&journal))
                }
                Ok(_) | Err(_) => std::thread::park_timeout(Duration::from_millis(2)),
            }
        };
        // Every event has the next number.
        let numbers: Vec<u64> = journal.iter().filter_map(|event| event["seq"].as_u64()).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        // No prompt was sent twice, and one that was not sent ended as failed.
        let heard = self.host.heard();
        for line in &self.plan.lines {
            let sent = heard
                .iter()
                .filter(|said| said["type"] == "client.user_message" && said["message"] == line.as_str())
                .count();
            assert!(sent <= 1, "`{line}` was sent {sent} times\n{:?}", self.plan);
            if sent == 0 {
                self.met.push("unsent");
            }
        }
        // Each question of the host was answered once at most.
        let mut answers: Vec<&Value> = heard
            .iter()
            .filter(|said| said["type"] == "client.approval_response")
            .map(|said| &said["request_id"])
            .collect();
        let all = answers.len();
        answers.sort_by_key(|id| id.to_string());
        answers.dedup();
        assert_eq!(answers.len(), all, "a question was answered twice\n{:?}", self.plan);
        let ends = journal.iter().filter(|event| event["class"] == "run.finished").count();
        assert!(ends >= self.plan.lines.len(), "{ends} ends of {} turns", self.plan.lines.len());
        if self.plan.garbage > 0.0
            && journal.iter().any(|event| event["type"] == "unknown" || event["type"] == "assistant.tok")
        {
            self.met.push("garbage");
        }
        if compared.gaps > 0 {
            self.met.push("gap");
        }
        if compared.lost == 0 && compared.kept > 0 {
            self.met.push("whole");
        }
    }
}

/// Whether the host says behind a broken socket that it waits for an answer.
fn is_waited_for_in_vain(event: &Value) -> bool {
    let waiting = event["payload"]["state"]["pending_approvals"].as_array();
    event["type"] == "session.state" && waiting.is_some_and(|waiting| !waiting.is_empty())
}

fn shown(journal: &[Value]) -> String {
    let lines = journal.iter().map(|event| {
        let payload = event["payload"].to_string();
        format!("{} {} {}\n", event["seq"], event["type"], payload.chars().take(160).collect::<String>())
    });
    lines.collect()
}
