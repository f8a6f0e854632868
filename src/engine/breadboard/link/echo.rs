//! The prompts that the engine told of on a link, for whoever waits to know whether one arrived.
//!
//! Owns how many of them are remembered. Never judges what a prompt is of: that is the domain's.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::domain::dialect::breadboard::told_prompt;
use crate::domain::event::EngineEvent;
use crate::domain::view::is_echo;

/// Prompts that are remembered: nobody waits for longer than a few runs.
const PROMPTS: usize = 4;

/// The longest time in which other events can put a verdict off, as those of another client's run.
const LONGEST: Duration = Duration::from_secs(300);

/// What one link heard.
#[derive(Debug, Default)]
struct ToldPrompts {
    /// The newest prompts, each with its number on this link.
    prompts: VecDeque<(u64, String)>,
    count: u64,
}

/// The side that hears.
#[derive(Debug, Clone)]
pub(super) struct Echoes(Arc<watch::Sender<ToldPrompts>>);

impl Default for Echoes {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(ToldPrompts::default())))
    }
}

impl Echoes {
    /// An event came. Others than prompts count too: the engine is not idle.
    pub(super) fn hear(&self, event: &EngineEvent) {
        let prompt = told_prompt(event);
        self.0.send_modify(|told| {
            let Some(prompt) = prompt else { return };
            told.count += 1;
            if told.prompts.len() >= PROMPTS {
                told.prompts.pop_front();
            }
            told.prompts.push_back((told.count, prompt));
        });
    }

    /// Listens from now on.
    pub(super) fn listen(&self) -> Listener {
        let told = self.0.subscribe();
        let from = told.borrow().count;
        Listener { told, from }
    }
}

/// The side that waits.
pub struct Listener {
    told: watch::Receiver<ToldPrompts>,
    from: u64,
}

impl Listener {
    /// The engine tells of another prompt than this one, and then of nothing for `quiet`. `false`: it tells of this one, or its
    /// link is over.
    pub async fn falls_quiet_behind_another(&mut self, sent: &str, quiet: Duration) -> bool {
        loop {
            let (mine, another) = {
                let told = self.told.borrow_and_update();
                let mut since = told.prompts.iter().filter(|(at, _)| *at > self.from);
                (since.any(|(_, said)| is_echo(said, sent)), told.count > self.from)
            };
            if mine {
                return false;
            }
            match timeout(quiet, self.told.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return false,
                Err(_) if another => return true,
                Err(_) => {}
            }
        }
    }

    /// The engine says something more. `false`: its link is over.
    pub async fn hears_more(&mut self) -> bool {
        self.told.changed().await.is_ok()
    }

    /// Whether the engine tells of this prompt before it says nothing for `idle`.
    pub async fn tells_of(mut self, sent: &str, idle: Duration) -> bool {
        let end = Instant::now() + LONGEST;
        loop {
            let told = |(at, said): &(u64, String)| *at > self.from && is_echo(said, sent);
            if self.told.borrow_and_update().prompts.iter().any(told) {
                return true;
            }
            if Instant::now() >= end || !matches!(timeout(idle, self.told.changed()).await, Ok(Ok(()))) {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(kind: &str, text: &str) -> EngineEvent {
        let payload = serde_json::from_value(json!({ "text": text })).unwrap();
        EngineEvent {
            id: String::new(),
            kind: kind.to_owned(),
            turn: None,
            ts: None,
            payload,
            repaired: false,
        }
    }

    const IDLE: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn a_prompt_that_is_told_of_arrived_and_one_of_another_client_or_of_before_did_not() {
        let echoes = Echoes::default();
        echoes.hear(&event("user_message", "fix it"));
        let listener = echoes.listen();
        echoes.hear(&event("user_message", "another's"));
        echoes.hear(&event("assistant_message", "fix it"));
        let begun = Instant::now();
        assert!(!listener.tells_of("fix it", IDLE).await, "it was told of before");
        assert_eq!(begun.elapsed(), IDLE);

        let listener = echoes.listen();
        for other in ["a", "b", "c"] {
            echoes.hear(&event("user_message", other));
        }
        echoes.hear(&event("user.message", " fix it\n\n[Attachment 1: a -> b]"));
        assert!(listener.tells_of("fix it ", IDLE).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_falls_quiet_behind_another_prompt_is_noticed_and_one_that_works_or_tells_of_ours_is_not()
     {
        let echoes = Echoes::default();
        // Given an engine that says nothing at all, then works on another prompt, and then says nothing more
        let mut listener = echoes.listen();
        let speak = async {
            tokio::time::sleep(IDLE * 3).await;
            echoes.hear(&event("user_message", "in other words"));
            for _ in 0..6 {
                tokio::time::sleep(IDLE / 2).await;
                echoes.hear(&event("ctree_node", ""));
            }
        };
        let begun = Instant::now();
        let (quiet, ()) = tokio::join!(listener.falls_quiet_behind_another("mine", IDLE), speak);
        assert_eq!((quiet, begun.elapsed()), (true, IDLE * 7));
        // When it tells of ours after all, or its link is over, then that is no silence
        echoes.hear(&event("user_message", "mine"));
        assert!(!listener.falls_quiet_behind_another("mine", IDLE).await);
        let mut listener = echoes.listen();
        drop(echoes);
        assert!(!listener.falls_quiet_behind_another("mine", IDLE).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_is_busy_is_waited_for_and_not_for_ever() {
        let echoes = Echoes::default();
        let (late, never) = (echoes.listen(), echoes.listen());
        let speak = async {
            for at in 0..200 {
                tokio::time::sleep(IDLE / 2).await;
                echoes.hear(&event(if at == 9 { "user_message" } else { "ctree_node" }, "mine"));
            }
        };
        let begun = Instant::now();
        let (arrived, other, ()) =
            tokio::join!(late.tells_of("mine", IDLE), never.tells_of("his", IDLE), speak);
        assert_eq!((arrived, other), (true, false));
        assert!(begun.elapsed() < LONGEST * 2);
    }
}
