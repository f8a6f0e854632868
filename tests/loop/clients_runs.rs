//! Clients that come, read late or not at all, leave and come back at random, while turns run: each sees exactly the journal's
//! events from where it began to follow the session, and ends with the view that the server has.
//!
//! `BREADBOARD_CLIENT_RUNS` sets how many runs; `BREADBOARD_SEED` the first.

use breadboard_ls::testing::app::inbox::StartUp;
use serde_json::{Value, json};

use crate::desk::{Desk, Setup, Window};

/// Steps of one run.
const STEPS: usize = 40;

/// People who may be there at one time.
const PEOPLE: usize = 4;

/// Numbers that look random and are the same for one seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// What a client is to know of a session, by the rules of the wire.
#[derive(Default)]
pub struct Chat {
    pub seq: u64,
    pub blocks: Vec<Value>,
}

impl Chat {
    /// The answer of `bb/selectSession`, or a snapshot.
    pub fn take(&mut self, view: &Value) {
        self.seq = view["seq"].as_u64().unwrap();
        self.blocks = view["lanes"]["chat"]["blocks"].as_array().unwrap().clone();
    }

    /// One `bb/view`.
    pub fn apply(&mut self, told: &Value) {
        let to_seq = told["toSeq"].as_u64().unwrap();
        if to_seq <= self.seq {
            return;
        }
        if let Some(snapshot) = told.get("snapshot") {
            return self.take(snapshot);
        }
        assert!(told["fromSeq"].as_u64().unwrap() > self.seq, "a change spans what is known: {told}");
        self.seq = to_seq;
        for change in told["changes"].as_array().unwrap().iter().filter(|change| change["lane"] == "chat") {
            let at = self.blocks.iter().position(|block| block["id"] == change["id"]);
            match (change["op"].as_str().unwrap(), at) {
                ("put", Some(at)) => self.blocks[at] = change["block"].clone(),
                ("put", None) => self.blocks.push(change["block"].clone()),
                ("append", Some(at)) => {
                    let text = self.blocks[at]["text"].as_str().unwrap().to_owned();
                    self.blocks[at]["text"] = json!(text + change["text"].as_str().unwrap());
                }
                ("remove", Some(at)) => drop(self.blocks.remove(at)),
                other => panic!("{other:?}: {change}"),
            }
        }
    }
}

/// What somebody asks to hear.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hears {
    Everything,
    Events,
    View,
}

impl Hears {
    fn subscribe(self) -> Value {
        json!({"events": self != Self::View, "view": self != Self::Events})
    }
}

/// Somebody who may be there, and remembers what was seen.
struct Person {
    hears: Hears,
    /// Whether the session was followed before.
    knows: bool,
    window: Option<Window>,
    read: usize,
    /// The number of the event that this connection is sent next, once that is known.
    next: Option<u64>,
    events: Vec<Value>,
    chat: Chat,
}

impl Person {
    fn new(hears: Hears) -> Self {
        Self {
            hears,
            knows: false,
            window: None,
            read: 0,
            next: None,
            events: Vec::new(),
            chat: Chat::default(),
        }
    }

    /// Reads what came since the last time.
    fn look(&mut self) {
        let Some(window) = &self.window else { return };
        let messages = window.paper.messages.lock().unwrap().split_off(self.read);
        window.paper.messages.lock().unwrap().extend(messages.iter().cloned());
        self.read += messages.len();
        for message in messages {
            let params = &message["params"];
            if message["method"] == "bb/events" {
                for event in params["events"].as_array().unwrap() {
                    let seq = event["seq"].as_u64().unwrap();
                    assert_eq!(seq, self.next.unwrap_or(seq), "a hole or a double");
                    self.next = Some(seq + 1);
                    // What an earlier connection was sent, and its view was not, comes again.
                    if self.events.last().is_none_or(|last| last["seq"].as_u64() < Some(seq)) {
                        self.events.push(event.clone());
                    }
                }
            } else if message["method"] == "bb/view" {
                self.chat.apply(params);
            }
        }
    }

    /// The last event that is known in every form that is asked for.
    fn seen(&self) -> u64 {
        let last = self.events.last().map_or(self.chat.seq, |last| last["seq"].as_u64().unwrap());
        match self.hears {
            Hears::View => self.chat.seq,
            Hears::Events => last,
            Hears::Everything => last.min(self.chat.seq),
        }
    }
}

struct Run {
    chance: Chance,
    desk: Desk,
    epoch: Value,
    session: String,
    people: Vec<Person>,
    turn: u64,
    waiting: u64,
    running: bool,
    prompts: u64,
    asks: u64,
}

impl Run {
    async fn begin(seed: u64, dir: &tempfile::TempDir) -> Self {
        let desk = Desk::at(dir.path(), Setup::default());
        let epoch = desk.ask("bb/init", json!({})).await.unwrap()["epoch"].clone();
        // A tab would follow it; nobody does so far, and the first client never will.
        let session = desk.session().await;
        desk.ask("bb/init", json!({"subscribe": {"events": false, "view": false, "tabs": false}}))
            .await
            .unwrap();
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let kinds = [Hears::Everything, Hears::Events, Hears::View];
        let people = (0..PEOPLE).map(|_| Person::new(kinds[chance.below(3) as usize])).collect();
        Self {
            chance,
            desk,
            epoch,
            session,
            people,
            turn: 0,
            waiting: 0,
            running: false,
            prompts: 0,
            asks: 0,
        }
    }

    async fn step(&mut self) {
        let who = self.chance.below(PEOPLE as u64) as usize;
        let is_there = self.people[who].window.is_some();
        match self.chance.below(12) {
            0 | 1 if !is_there => self.come(who).await,
            2 if is_there => {
                self.people[who].look();
                self.people[who].window.take().unwrap().leave();
            }
            3 => {
                let room = self.chance.below(4) as usize;
                self.people[who].window.iter().for_each(|window| window.takes(room));
            }
            4 => self.people[who].window.iter().for_each(Window::drain),
            5 => self.prompt(who).await,
            6 if self.running => {
                self.asks += 1;
                self.desk.ask_to_run(&self.session, &format!("r{}", self.asks), "make").await;
            }
            7 => self.decide(who).await,
            8 if self.running => self.finish().await,
            9 => self.desk.caught_up().await,
            _ if self.running => {
                for _ in 0..=self.chance.below(5) {
                    self.desk.token(&self.session, "word ").await;
                }
            }
            _ => {}
        }
    }

    /// Somebody comes, for the first time or with what was seen before.
    async fn come(&mut self, who: usize) {
        let window = self.desk.connect(true, StartUp::default());
        let person = &mut self.people[who];
        (person.read, person.next) = (0, None);
        person.window = Some(window.clone());
        let subscribe = person.hears.subscribe();
        if !person.knows {
            window.ask("bb/init", json!({"subscribe": subscribe})).await.unwrap();
            let selected = window.ask("bb/selectSession", json!({"sessionId": self.session})).await.unwrap();
            let head = selected["seq"].as_u64().unwrap();
            person.chat.take(&selected["view"]);
            person.knows = true;
            person.look();
            // What follows the head comes, and nothing between is missing.
            assert!(person.events.first().is_none_or(|event| event["seq"].as_u64().unwrap() <= head + 1));
        } else {
            person.next = Some(person.seen() + 1);
            let seen = json!({"epoch": self.epoch, "sessions": {self.session.clone(): person.seen()}});
            let init =
                window.ask("bb/init", json!({"subscribe": subscribe, "lastSeen": seen})).await.unwrap();
            let verdict = init["resume"][&self.session]["verdict"].as_str().unwrap();
            assert!(matches!(verdict, "complete" | "replayed"), "{verdict}");
        }
    }

    async fn prompt(&mut self, who: usize) {
        let Some(window) = self.people[who].window.clone() else { return };
        self.desk.caught_up().await;
        self.prompts += 1;
        let sent = window.prompt(&self.session, &format!("p{}", self.prompts)).await;
        if sent["disposition"] == "started" {
            assert!(!self.running);
            self.turn += 1;
            self.running = true;
        } else {
            assert!(self.running);
            self.waiting += 1;
        }
    }

    /// Whoever is there answers what waits.
    async fn decide(&mut self, who: usize) {
        let Some(window) = self.people[who].window.clone() else { return };
        self.desk.caught_up().await;
        let listed = window.ask("bb/permission/list", json!({"sessionId": self.session})).await.unwrap();
        let decision = if self.chance.below(2) == 0 { "allow_once" } else { "deny" };
        for pending in listed["pending"].as_array().unwrap() {
            let request = &pending["permission"]["requestId"];
            let answer = json!({"sessionId": self.session, "requestId": request, "decision": decision});
            let recorded = window.ask("bb/approvePermission", answer).await.unwrap();
            assert_eq!(recorded["outcome"], "recorded");
        }
    }

    async fn finish(&mut self) {
        self.desk.finish(&self.session, self.turn, "done").await;
        self.desk.caught_up().await;
        self.running = self.waiting > 0;
        if self.running {
            self.waiting -= 1;
            self.turn += 1;
        }
    }

    async fn end(mut self) {
        while self.running {
            self.finish().await;
        }
        for who in 0..PEOPLE {
            if self.people[who].window.is_none() && self.people[who].knows {
                self.come(who).await;
            }
            self.people[who].window.iter().for_each(Window::drain);
        }
        let stored = self.desk.events(&self.session).await;
        let late = self.desk.connect(true, StartUp::default());
        let view =
            late.ask("bb/selectSession", json!({"sessionId": self.session})).await.unwrap()["view"].clone();
        for person in &mut self.people {
            person.look();
            if let Some(first) = person.events.first() {
                let from = first["seq"].as_u64().unwrap() as usize;
                assert!(person.hears != Hears::View);
                assert_eq!(person.events, stored[from - 1..]);
            } else if person.knows && person.hears != Hears::View {
                assert_eq!(
                    person.chat.seq,
                    stored.len() as u64,
                    "nothing came after the session was selected"
                );
            }
            if person.knows && person.hears != Hears::Events {
                assert_eq!(json!(person.chat.seq), view["seq"]);
                assert_eq!(json!(person.chat.blocks), view["lanes"]["chat"]["blocks"]);
            }
        }
        // The first client asked for nothing, and heard nothing.
        assert_eq!(self.desk.heard("bb/events"), Vec::<Value>::new());
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test]
async fn r000_50_whoever_comes_and_goes_sees_exactly_the_events_of_the_journal() {
    let first = number("BREADBOARD_SEED", 1);
    for seed in first..first + number("BREADBOARD_CLIENT_RUNS", 300) {
        println!("seed {seed}");
        let dir = tempfile::tempdir().unwrap();
        let mut run = Run::begin(seed, &dir).await;
        for _ in 0..STEPS {
            run.step().await;
        }
        run.end().await;
    }
}
