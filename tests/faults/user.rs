//! The user of a run: prompts, answers, stops, and waits until nothing happens any more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::simulate::breadboard::Simulator;
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::plan::{Beside, Dice, Plan};
use crate::process::{Client, Process, Start};

/// Longest run; one that takes longer hangs. Far longer than any takes on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);
/// How often the simulator is looked at, which wakes nobody.
const LOOK: Duration = Duration::from_millis(4);
/// Events after which an eager prompt follows the one before.
const EAGER: u64 = 4;
/// A user who lets a paused queue go on so often gives up.
const RESUMES: u32 = 20;

/// What became of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Not,
    Taken,
    Refused,
}

pub struct User<'a> {
    plan: &'a Plan,
    engine: &'a Simulator,
    start: Start,
    place: PathBuf,
    /// None only between two.
    process: Option<Process>,
    pub session_id: String,
    /// Processes that are over, oldest first.
    pub before: Vec<Arc<Client>>,
    /// Messages of this process that were looked at.
    listened: usize,
    /// All events that are known, by our number.
    events: BTreeMap<u64, Value>,
    /// Events heard in all.
    heard: u64,
    /// The newest of the engine's numbers that came or was said to be lost.
    accounted: u64,
    /// Whether that is the engine's whole log because of a gap without an end.
    open_gap: bool,
    /// As last told in `bb/state`.
    status: String,
    pub pending: u64,
    asks: BTreeMap<String, Asked>,
    pub sent: Vec<Sent>,
    /// When the last prompt went.
    sent_at: u64,
    done: BTreeSet<usize>,
    resumes: u32,
    pub met: BTreeMap<String, u64>,
    begun: Instant,
    answers: Dice,
    /// The engine's newest number when everything had come to rest. A stop may still be on its way then.
    pub rested: u64,
    /// Verdicts that `bb/selectSession` gave.
    pub resumes_told: Vec<Value>,
    /// Prompts of another client.
    pub foreign: Vec<String>,
    /// What another client does.
    elsewhere: Vec<JoinHandle<()>>,
}

enum Asked {
    Waits,
    Answered,
}

impl<'a> User<'a> {
    pub async fn begin(plan: &'a Plan, engine: &'a Simulator, place: &Path) -> Result<Self, String> {
        let workspace = place.join("workspace");
        std::fs::create_dir_all(&workspace).unwrap();
        let start = Start { url: engine.base_url().to_owned(), workspace, latency_ms: plan.latency_ms };
        let process = Process::start(&place.join("state-0"), &start);
        let mut user = Self {
            plan,
            engine,
            start,
            place: place.to_owned(),
            process: Some(process),
            session_id: String::new(),
            before: Vec::new(),
            listened: 0,
            events: BTreeMap::new(),
            heard: 0,
            accounted: 0,
            open_gap: false,
            status: String::new(),
            pending: 0,
            asks: BTreeMap::new(),
            sent: vec![Sent::Not; plan.prompts.len()],
            sent_at: 0,
            done: BTreeSet::new(),
            resumes: 0,
            met: BTreeMap::new(),
            begun: Instant::now(),
            answers: Dice(Rng::with_seed(plan.answers)),
            rested: 0,
            resumes_told: Vec::new(),
            foreign: Vec::new(),
            elsewhere: Vec::new(),
        };
        let params = json!({"configPath": "agent_configs/x.yaml", "permissionMode": "prompt"});
        let made = user.must("bb/createSession", params).await?;
        user.session_id = made["sessionId"].as_str().unwrap().to_owned();
        Ok(user)
    }

    /// Until nothing happens any more.
    pub async fn live(&mut self) -> Result<(), String> {
        loop {
            let mut news = self.process().client.count.subscribe();
            self.listen();
            if self.begun.elapsed() > LONGEST {
                return Err(format!("it never comes to rest: {}", self.standing()));
            }
            if self.do_beside(false).await? || self.answer().await? || self.prompt(false).await? {
                continue;
            }
            if self.is_at_rest() {
                if self.do_beside(true).await? || self.prompt(true).await? || self.resume().await? {
                    continue;
                }
                self.listen();
                self.rested = self.engine.history(&self.session_id).len() as u64;
                if self.is_at_rest() {
                    return Ok(());
                }
                continue;
            }
            // Woken by the client; the engine wakes nobody.
            let _ = tokio::time::timeout(LOOK, news.changed()).await;
        }
    }

    /// The end of the last process; what it told.
    pub async fn leave(self) -> Vec<Arc<Client>> {
        let mut clients = self.before;
        if let Some(process) = self.process {
            clients.push(process.close().await);
        }
        clients
    }

    fn process(&self) -> &Process {
        self.process.as_ref().unwrap()
    }

    pub fn met(&mut self, what: &str) {
        *self.met.entry(what.to_owned()).or_default() += 1;
    }

    pub fn status(&self) -> &str {
        &self.status
    }

    pub fn is_over(&self) -> bool {
        !matches!(self.status.as_str(), "idle" | "running" | "waiting" | "")
    }

    pub fn standing(&self) -> String {
        format!(
            "status {}, {} pending, heard {} events, engine's number {} of {:?}, engine busy {}, ended {}, prompts {:?}",
            self.status,
            self.pending,
            self.heard,
            self.accounted,
            self.engine.head(&self.session_id),
            self.engine.busy(&self.session_id),
            self.engine.has_ended(&self.session_id),
            self.sent,
        )
    }

    /// A request whose answer comes.
    pub async fn ask(&self, method: &str, params: Value) -> Result<Result<Value, CodedError>, String> {
        let left = LONGEST.saturating_sub(self.begun.elapsed());
        tokio::time::timeout(left, self.process().ask(method, params))
            .await
            .map_err(|_| format!("{method} was not answered: {}", self.standing()))
    }

    pub async fn must(&self, method: &str, params: Value) -> Result<Value, String> {
        self.ask(method, params).await?.map_err(|error| format!("{method} was refused: {error:?}"))
    }

    /// All events of the journal.
    pub async fn journal(&self) -> Result<Vec<Value>, String> {
        let mut events = Vec::new();
        loop {
            let params = json!({"sessionId": self.session_id, "fromSeq": events.len() + 1, "limit": 5000});
            let page = self.must("bb/events/read", params).await?;
            events.extend(page["events"].as_array().unwrap().iter().cloned());
            if page["hasMore"] == json!(false) {
                return Ok(events);
            }
        }
    }

    fn listen(&mut self) {
        let messages = self.process().client.from(self.listened);
        self.listened += messages.len();
        for message in messages {
            let params = &message["params"];
            match message["method"].as_str().unwrap_or_default() {
                "bb/events" if params["sessionId"] == self.session_id.as_str() => {
                    for event in params["events"].as_array().unwrap() {
                        self.heard += 1;
                        self.learn(event);
                    }
                }
                "bb/state" => {
                    let sessions = params["sessions"].as_array().unwrap();
                    let ours =
                        sessions.iter().find(|session| session["sessionId"] == self.session_id.as_str());
                    if let Some(ours) = ours {
                        self.status = ours["status"].as_str().unwrap().to_owned();
                        self.pending = ours["pendingPermissionCount"].as_u64().unwrap_or(0);
                    }
                }
                _ => {}
            }
        }
    }

    fn learn(&mut self, event: &Value) {
        self.events.insert(event["seq"].as_u64().unwrap(), event.clone());
        if let Some(seq) = crate::proof::engine_number(event) {
            self.account(seq);
        }
        match event["type"].as_str().unwrap() {
            "local.gap" => {
                match event["payload"]["to"].as_u64() {
                    Some(to) => self.account(to),
                    // Without an end it speaks of all that the engine said so far.
                    None => {
                        let head = self.engine.head(&self.session_id).unwrap_or(0);
                        self.accounted = self.accounted.max(head);
                        self.open_gap = true;
                    }
                }
            }
            "local.permission_settled" => {
                let id = event["payload"]["requestId"].as_str().unwrap().to_owned();
                self.asks.insert(id, Asked::Answered);
            }
            _ => {
                if let Some(id) = event["permission"]["requestId"].as_str() {
                    self.asks.entry(id.to_owned()).or_insert(Asked::Waits);
                }
            }
        }
    }

    /// Everything up to this number of the engine's came or was said to be lost. A gap without an end ends with it, so what
    /// stands behind it is still to come: on a busy machine a history may arrive after the link had given it up.
    fn account(&mut self, seq: u64) {
        let ends_a_gap = std::mem::take(&mut self.open_gap);
        self.accounted = if ends_a_gap { seq } else { self.accounted.max(seq) };
    }

    /// Whether nothing more comes by itself.
    fn is_at_rest(&self) -> bool {
        if !self.elsewhere.iter().all(JoinHandle::is_finished) {
            return false;
        }
        match self.engine.head(&self.session_id) {
            None => self.is_over(),
            Some(_) if self.engine.has_ended(&self.session_id) => self.is_over(),
            Some(_) if self.engine.busy(&self.session_id) => false,
            Some(head) => {
                // An older engine says nothing of a log that is empty again before it was ever read; its next event shows it.
                let unknowable =
                    !self.plan.pr40 && self.accounted == 0 && self.engine.has_forgotten_all(&self.session_id);
                self.is_over() || (self.status == "idle" && (self.accounted >= head || unknowable))
            }
        }
    }

    /// Answers one ask that waits.
    async fn answer(&mut self) -> Result<bool, String> {
        let waits = self.asks.iter().find(|(_, asked)| matches!(asked, Asked::Waits));
        let Some(request_id) = waits.map(|(id, _)| id.clone()) else { return Ok(false) };
        let decision = match self.answers.below(10) {
            0..=5 => "allow_once",
            6 | 7 => "allow_rule",
            _ => "deny",
        };
        self.met("ask");
        let params = json!({"sessionId": self.session_id, "requestId": request_id, "decision": decision});
        match self.ask("bb/approvePermission", params).await? {
            // The engine waits no more, or it waits still and is asked again.
            Err(error) if error.code == ErrorCode::Conflict => {
                self.asks.insert(request_id, Asked::Answered);
            }
            Err(_) => {
                // Not in a tight circle: whatever refused it is told.
                let mut news = self.process().client.count.subscribe();
                let _ = tokio::time::timeout(LOOK, news.changed()).await;
            }
            Ok(_) => {
                self.asks.insert(request_id, Asked::Answered);
            }
        }
        Ok(true)
    }

    async fn prompt(&mut self, at_rest: bool) -> Result<bool, String> {
        let Some(at) = self.sent.iter().position(|sent| *sent == Sent::Not) else { return Ok(false) };
        let line = &self.plan.prompts[at];
        let due = at_rest || (at > 0 && line.eager && self.heard >= self.sent_at + EAGER);
        if !due {
            return Ok(false);
        }
        let params =
            json!({"sessionId": self.session_id, "text": line.text, "messageId": format!("message-{at}")});
        self.sent[at] = match self.ask("bb/sendMessage", params).await? {
            Ok(answer) => {
                if answer["disposition"] == "queued" {
                    self.met("queued");
                }
                Sent::Taken
            }
            Err(error) if error.code == ErrorCode::EngineRejected => Sent::Refused,
            Err(error) => return Err(format!("a prompt was refused: {error:?}")),
        };
        self.sent_at = self.heard;
        Ok(true)
    }

    /// Lets a queue that waits for the user go on.
    async fn resume(&mut self) -> Result<bool, String> {
        if self.is_over() {
            return Ok(false);
        }
        let params = json!({"sessionId": self.session_id});
        let queue = self.must("bb/queue/list", params.clone()).await?;
        if queue["items"].as_array().unwrap().is_empty() {
            return Ok(false);
        }
        self.listen();
        if !self.is_at_rest() {
            return Ok(true);
        }
        self.resumes += 1;
        if self.resumes > RESUMES {
            return Err(format!("the queue does not go on: {queue}, {}", self.standing()));
        }
        self.must("bb/queue/resume", params).await?;
        Ok(true)
    }

    async fn do_beside(&mut self, at_rest: bool) -> Result<bool, String> {
        let due = self.plan.beside.iter().enumerate().find(|(at, (when, _))| {
            !self.done.contains(at) && (at_rest || self.heard >= *when) && self.sent[0] != Sent::Not
        });
        let Some((at, (_, what))) = due else { return Ok(false) };
        self.done.insert(at);
        match what {
            Beside::Kill => self.kill().await?,
            Beside::Stop => {
                let stopped = self.must("bb/stop", json!({"sessionId": self.session_id})).await?;
                if stopped["stopping"] == json!(true) {
                    self.met("stop");
                }
            }
            Beside::Cut => self.engine.cut_streams(),
            Beside::Overflow => self.engine.overflow(&self.session_id),
            Beside::Evict => {
                let head = self.engine.head(&self.session_id).unwrap_or(0);
                self.engine.evict(&self.session_id, head.saturating_sub(self.answers.below(3)));
                self.engine.cut_streams();
            }
            Beside::Foreign => {
                self.met("foreign");
                let text = format!("Somebody else's words {at} #0#");
                let url = format!("{}/v1/sessions/{}/input", self.engine.base_url(), self.session_id);
                let post = reqwest::Client::new().post(url).json(&json!({"content": text}));
                self.foreign.push(text);
                // A session that is gone takes it no more.
                self.elsewhere.push(tokio::spawn(async { drop(post.send().await) }));
            }
            Beside::Delete => {
                self.met("delete");
                let url = format!("{}/v1/sessions/{}", self.engine.base_url(), self.session_id);
                // Answered once nothing runs, which may wait for an answer of our user.
                let delete = reqwest::Client::new().delete(url);
                self.elsewhere.push(tokio::spawn(async { drop(delete.send().await) }));
            }
            Beside::LosePrompt => self.engine.answer_next("/input", 502, "Bad Gateway"),
        }
        Ok(true)
    }

    /// The verdict of another process, once everything is at rest.
    pub async fn reopen(&mut self) -> Result<Value, String> {
        let status = self.status.clone();
        let verdict = self.next_process().await;
        self.status = status;
        verdict
    }

    /// Our process dies, and another one takes up its files; the editor selects the session again.
    async fn kill(&mut self) -> Result<(), String> {
        self.met("kill");
        let resume = self.next_process().await?;
        self.resumes_told.push(resume);
        for event in self.journal().await? {
            self.learn(&event);
        }
        Ok(())
    }

    async fn next_process(&mut self) -> Result<Value, String> {
        let to = self.place.join(format!("state-{}", self.before.len() + 1));
        if let Some(process) = self.process.take() {
            self.before.push(process.kill(&to).await);
        }
        self.process = Some(Process::start(&to, &self.start));
        self.listened = 0;
        self.status.clear();
        let selected = self.must("bb/selectSession", json!({"sessionId": self.session_id})).await?;
        Ok(selected["resume"].clone())
    }
}
