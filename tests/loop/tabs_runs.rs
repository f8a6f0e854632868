//! Tabs that are hidden, shown, left, found again and restarted at random, by a client that follows the rules of seed 001:
//! each ends with exactly the transcript that the server has.
//!
//! `BREADBOARD_TAB_RUNS` sets how many; `BREADBOARD_SEED` the first.

use std::sync::atomic::Ordering;

use breadboard_ls::testing::app::Event;
use breadboard_ls::testing::domain::dialect::desktop::message::{ServerMessage, ThinkingPhase};
use serde_json::json;

use crate::desk::{Desk, Setup};
use crate::tabs_client::{TabClient, say_in, uuid};

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

struct Run {
    chance: Chance,
    desk: Desk,
    session: String,
    /// What the view has that is there now.
    client: TabClient,
    /// What earlier views had, as a webview saves its state.
    saved: Vec<TabClient>,
    /// Whether a view is there, and whether it is seen.
    there: bool,
    seen: bool,
    read: usize,
    prompts: u64,
    turn: u64,
    running: bool,
}

impl Run {
    fn tab(&self) -> String {
        uuid(1)
    }

    fn look(&mut self) {
        if self.there {
            self.read = self.client.read(&self.desk, self.read);
        } else {
            self.read = self.desk.paper.messages.lock().unwrap().len();
        }
    }

    /// Nothing is sent to nobody.
    fn assert_silent(&self) {
        let messages = self.desk.paper.messages.lock().unwrap();
        for message in messages.iter().skip(self.read) {
            let method = message["method"].as_str().unwrap_or_default();
            assert!(!matches!(method, "bb/tab" | "bb/events" | "bb/view"), "sent to nobody: {message}");
        }
    }

    async fn say(&mut self) {
        if !self.running {
            self.prompts += 1;
            let message_id = uuid(100 + self.prompts);
            let params =
                json!({"tabId": self.tab(), "messageId": message_id, "text": format!("p{}", self.prompts)});
            self.desk.ask("bb/tab/prompt", params).await.unwrap();
            self.turn += 1;
            self.running = true;
        }
        let many = if self.chance.below(40) == 0 { 300 } else { 1 + self.chance.below(6) };
        for _ in 0..many {
            match self.chance.below(8) {
                0 => {
                    let message = format!("thought {} ", self.chance.below(9));
                    let thinking = ServerMessage::Thinking { phase: ThinkingPhase::Planning, message };
                    self.tell(thinking).await;
                }
                1 => {
                    let id = format!("permission_{}", self.chance.below(1_000_000));
                    self.desk.ask_to_run(&self.session, &id, "cargo test").await;
                }
                _ => {
                    let token = format!("w{} ", self.chance.below(100));
                    self.tell(ServerMessage::Token { token, cumulative_text: None }).await;
                }
            }
            if many > 6 {
                // Batches of their own, so that there are many messages.
                self.sync().await;
            }
        }
        self.sync().await;
    }

    async fn tell(&self, message: ServerMessage) {
        say_in(&self.desk, &self.session, self.turn, message).await;
    }

    async fn sync(&self) {
        self.desk.caught_up().await;
        let read = json!({"sessionId": self.session, "fromSeq": 1, "limit": 1});
        self.desk.ask("bb/events/read", read).await.unwrap();
    }

    async fn finish(&mut self) {
        if self.running {
            self.desk.end(&self.session, self.turn).await;
            self.running = false;
            self.sync().await;
        }
    }

    async fn show(&mut self, visible: bool) {
        if self.there && self.seen != visible {
            if self.seen {
                self.look();
            } else {
                self.assert_silent();
            }
            let params = json!({"tabId": self.tab(), "visible": visible});
            self.desk.ask("bb/tab/visibility", params).await.unwrap();
            self.seen = visible;
            self.look();
        }
    }

    async fn detach(&mut self) {
        if self.there {
            self.look();
            self.saved.push(self.client.clone());
            self.desk.ask("bb/tab/detach", json!({"tabIds": [self.tab()]})).await.unwrap();
            self.there = false;
            self.seen = false;
            self.look();
        }
    }

    /// A view by a state that some view once had, or by none.
    async fn attach(&mut self) {
        if self.there && self.seen {
            self.look();
            self.saved.push(self.client.clone());
        }
        if !self.seen {
            self.assert_silent();
        }
        let tab_id = self.tab();
        let at = self.chance.below(self.saved.len() as u64 + 1) as usize;
        self.client = self.saved.get(at).cloned().unwrap_or_else(|| TabClient::new(&tab_id));
        self.read = self.desk.paper.messages.lock().unwrap().len();
        let seen = if self.client.epoch.is_some() {
            json!({"tabId": tab_id, "epoch": self.client.epoch, "lastSeenIndex": self.client.last})
        } else {
            json!({"tabId": tab_id})
        };
        self.desk.ask("bb/tab/attach", json!({"tabs": [seen]})).await.unwrap();
        (self.there, self.seen) = (true, true);
        // What the new view gets is a snapshot, or follows on what it has.
        let own = self.client.epoch.clone();
        let first = self.desk.paper.messages.lock().unwrap()[self.read..]
            .iter()
            .find(|message| message["method"] == "bb/tab")
            .cloned();
        if let Some(first) = first.filter(|first| first["params"]["epoch"].as_str() != own.as_deref()) {
            assert_eq!(first["params"]["kind"], "snapshot", "a new epoch begins with a snapshot");
        }
        self.look();
    }

    async fn restart(&mut self, dir: &std::path::Path, number: i64) {
        self.look();
        if self.there {
            self.saved.push(self.client.clone());
        }
        // The file is locked as long as the old one lives, so a loop without one stands in for a moment.
        let nothing = Desk::with_journal(
            Box::new(|_| Box::new(breadboard_ls::testing::store::SqliteJournal::open(None))),
            Setup::default(),
        );
        std::mem::replace(&mut self.desk, nothing).kill().await;
        self.desk = Desk::at(dir, Setup { first_id: 10_000 * number, ..Setup::default() });
        (self.there, self.seen, self.running, self.read) = (false, false, false, 0);
    }

    fn drain(&mut self) {
        self.desk.paper.room.store(usize::MAX, Ordering::SeqCst);
        self.desk.inbox.send(Event::OutboxDrained { client: self.desk.client }).unwrap();
    }
}

async fn run(seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::at(dir.path(), Setup::default());
    let tab_id = uuid(1);
    desk.ask("bb/tab/open", json!({"tabId": tab_id})).await.unwrap();
    let session = crate::tabs::session(&desk).await;
    let mut run = Run {
        chance: Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        desk,
        session,
        client: TabClient::new(&tab_id),
        saved: Vec::new(),
        there: true,
        seen: true,
        read: 0,
        prompts: 0,
        turn: 0,
        running: false,
    };
    let mut restarts = 1;
    for _ in 0..14 {
        match run.chance.below(16) {
            0..=4 => run.say().await,
            5 | 6 => run.finish().await,
            7 | 8 => run.show(false).await,
            9 | 10 => run.show(true).await,
            11 => run.detach().await,
            12 => run.attach().await,
            13 => {
                let room = run.chance.below(5) as usize;
                run.desk.paper.room.store(room, Ordering::SeqCst);
            }
            14 => {
                run.look();
                let index = run.client.last;
                run.desk.ask("bb/tab/ack", json!({"tabId": tab_id, "index": index})).await.unwrap();
            }
            _ if run.chance.below(3) == 0 => {
                run.drain();
                run.sync().await;
                run.restart(dir.path(), restarts).await;
                restarts += 1;
            }
            _ => {
                run.drain();
                run.sync().await;
            }
        }
    }
    run.drain();
    run.finish().await;
    if !run.there {
        run.attach().await;
    }
    run.show(true).await;
    for _ in 0..2 {
        run.sync().await;
        run.look();
        let index = run.client.last;
        run.desk.ask("bb/tab/ack", json!({"tabId": tab_id, "index": index})).await.unwrap();
    }
    run.sync().await;
    run.look();
    run.client.assert_level(&run.desk, &format!("seed {seed}")).await;
    for prompt in 1..=run.prompts {
        assert!(
            run.client.complete.contains_key(&uuid(100 + prompt)),
            "seed {seed}: prompt {prompt} has no end"
        );
    }
    run.desk.heard_events(&run.session);
}

#[tokio::test]
async fn r001_11_29_53_54_59_to_63_68_whatever_becomes_of_its_view_a_tab_ends_with_the_whole_transcript() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("BREADBOARD_SEED").unwrap_or(1);
    for seed in first..first + number("BREADBOARD_TAB_RUNS").unwrap_or(200) {
        run(seed).await;
    }
}
