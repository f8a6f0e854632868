//! A simulator, a session in it, a link to that session, and what was heard of it.

use std::sync::Arc;
use std::time::Duration;

use breadboard_ls::testing::app::ports::{EngineCursor, EngineReport, LinkNews, ResumedLink, StreamReport};
use breadboard_ls::testing::engine::breadboard::client::{Client, EngineTimeouts};
use breadboard_ls::testing::engine::breadboard::link::{LinkTiming, Links};
use breadboard_ls::testing::http::BaseUrl;
use breadboard_ls::testing::simulate::breadboard::{Simulator, SimulatorOptions};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Longer than anything here takes; what hangs fails.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Desk {
    pub simulator: Simulator,
    pub session: String,
    pub links: Links<Client>,
    reports: mpsc::Receiver<EngineReport>,
    pub heard: Heard,
}

/// What was heard since the last attach of the test.
#[derive(Debug, Default)]
pub struct Heard {
    /// Numbers of events, as they came.
    pub numbers: Vec<u64>,
    /// Their ids and what they say, as they came.
    pub said: Vec<(String, String)>,
    /// Types of events without a number.
    pub loose: Vec<String>,
    /// Stretches told as missing.
    pub gaps: Vec<(u64, Option<u64>)>,
    /// The other news.
    pub news: Vec<LinkNews>,
}

impl Heard {
    pub fn verdicts(&self) -> Vec<ResumedLink> {
        let verdict =
            |news: &LinkNews| if let LinkNews::Resumed(it) = news { Some(it.clone()) } else { None };
        self.news.iter().filter_map(verdict).collect()
    }

    pub fn last(&self) -> u64 {
        self.numbers.last().copied().unwrap_or(0)
    }
}

/// Short times, so that a test need not wait as a person would.
pub fn pace() -> LinkTiming {
    let ms = Duration::from_millis;
    LinkTiming {
        quiet: ms(60),
        first_quiet: ms(120),
        doubt: ms(300),
        drained: ms(200),
        probe_silence: ms(300),
        renew_busy: ms(600),
        renew_idle: ms(600),
        retry_base: ms(20),
        retry_cap: ms(200),
        retry_least: ms(5),
        ..LinkTiming::default()
    }
}

impl Desk {
    /// A session without a task: nothing is said in it but what the test has said.
    pub async fn new(options: SimulatorOptions) -> Self {
        let simulator = Simulator::start(options, &Handle::current()).unwrap();
        let place = BaseUrl::parse(simulator.base_url()).unwrap();
        let client = Client::new(place, None, None, EngineTimeouts::default());
        let wish = json!({ "config_path": "agent_configs/x.yaml", "task": "" });
        let made: Value = client.post(&["v1", "sessions"], &wish).await.unwrap();
        let session = made["session_id"].as_str().unwrap().to_owned();
        let (sender, reports) = mpsc::channel(256);
        let links = Links::new(Arc::new(client), sender, Handle::current(), Arc::new(|| 0), pace(), 7);
        Self { simulator, session, links, reports, heard: Heard::default() }
    }

    /// Says so many events; the number of the last one.
    pub fn say(&self, events: usize) -> u64 {
        let say = |n| self.simulator.emit(&self.session, "warning", &json!({ "message": format!("{n}") }));
        (0..events).filter_map(say).last().unwrap()
    }

    pub fn attach(&mut self, seq: u64) {
        self.heard = Heard::default();
        self.links.attach(&self.session, (seq > 0).then(|| EngineCursor { seq, id: seq.to_string() }));
    }

    /// Detaches, and hears what was on its way.
    pub fn detach(&mut self) {
        self.links.detach(&self.session);
        while self.reports.try_recv().is_ok() {}
    }

    /// Hears until it is so.
    pub async fn until(&mut self, so: impl Fn(&Heard) -> bool) {
        while !so(&self.heard) {
            let next = tokio::time::timeout(PATIENCE, self.reports.recv()).await;
            let Ok(Some(report)) = next else { panic!("nothing more comes: {:?}", self.heard) };
            self.hear(report);
        }
    }

    fn hear(&mut self, report: EngineReport) {
        match report {
            EngineReport::SaidMany { session_id, events } => {
                for (event, cursor) in events {
                    self.hear(EngineReport::Said { session_id: session_id.clone(), event, cursor });
                }
            }
            EngineReport::Said { session_id, event, cursor } => {
                assert_eq!(session_id, self.session);
                match cursor {
                    None => self.heard.loose.push(event.kind),
                    Some(cursor) => {
                        assert_eq!(cursor.id, event.id);
                        self.heard.numbers.push(cursor.seq);
                        let text =
                            event.payload.get("message").and_then(|text| text.as_str().map(str::to_owned));
                        self.heard.said.push((event.id, text.unwrap_or_default()));
                    }
                }
            }
            EngineReport::Stream(StreamReport::Link { session_id, news }) => {
                assert_eq!(session_id, self.session);
                match news {
                    LinkNews::Gap { from, to, .. } => self.heard.gaps.push((from, to)),
                    other => self.heard.news.push(other),
                }
            }
            other => panic!("a link never says {other:?}"),
        }
    }

    /// The values of a header of every request for the stream, so far; nothing where a request had none.
    pub fn streams(&self, header: &str) -> Vec<Option<String>> {
        let requests = self.simulator.requests();
        let streams = requests.iter().filter(|request| request.path.contains("/events"));
        streams
            .map(|request| {
                let found = request.headers.iter().find(|(name, _)| name == header);
                found.map(|(_, value)| value.clone())
            })
            .collect()
    }
}
