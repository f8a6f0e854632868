//! Whether the engine answers, and what it has.
//!
//! Owns the one task that looks. It asks at the start, again with growing pauses while nothing answers, and at once when a
//! request fails to reach the engine or a token comes. What an engine can do is read from the paths it has, never from a
//! version: engines that differ say the same number.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::EngineParts;
use super::engine_error::{Denied, EngineError};
use crate::app::ports::{Connectivity, EngineReport};

/// First pause between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Longest pause: whoever starts the engine sees it found within some seconds.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What an engine was found to have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Has {
    words: BTreeSet<&'static str>,
}

/// Our word for each path.
const WORDS: &[(&str, &str)] = &[
    ("sessions", "/v1/sessions"),
    ("input", "/v1/sessions/{session_id}/input"),
    ("events", "/v1/sessions/{session_id}/events"),
    ("commands", "/v1/sessions/{session_id}/command"),
    ("attachments", "/v1/sessions/{session_id}/attachments"),
    ("files", "/v1/sessions/{session_id}/files"),
    ("fileContent", "/v1/sessions/{session_id}/files/content"),
    ("download", "/v1/sessions/{session_id}/download"),
    ("skills", "/v1/sessions/{session_id}/skills"),
    ("ctrees", "/v1/sessions/{session_id}/ctrees"),
    ("records", "/v1/sessions/{session_id}/records"),
    ("models", "/v1/models"),
    ("cancel", "/v1/sessions/{session_id}/turns/{turn_id}/cancel"),
    ("identity", "/v1/engine/identity"),
];

/// What every engine has that does not show its paths.
const USUAL: &[&str] =
    &["sessions", "input", "events", "commands", "attachments", "files", "fileContent", "download", "models"];

impl Has {
    /// By the paths that the engine shows; whatever the parameters in them are called.
    fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let shown: BTreeSet<String> = paths.map(nameless).collect();
        let has = |path: &str| shown.contains(&nameless(path));
        Self { words: WORDS.iter().filter(|(_, path)| has(path)).map(|(word, _)| *word).collect() }
    }

    fn usual() -> Self {
        Self { words: USUAL.iter().copied().collect() }
    }

    /// For `bb/init`.
    pub(super) fn words(&self) -> Vec<String> {
        self.words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Whether it has this; `word` is one of ours.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }
}

fn nameless(path: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { "{}".to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Looks until the engine is dropped.
pub(super) async fn watch(shared: Arc<EngineParts>, mut dropped: watch::Receiver<()>) {
    tokio::select! {
        // It is never sent to: an end means that the engine is gone.
        _ = dropped.changed() => {}
        () = look(&shared) => {}
    }
}

async fn look(shared: &EngineParts) {
    shared.report(EngineReport::Connectivity(Connectivity::Connecting { retry: 0 })).await;
    let mut retry = 0;
    let mut connected = false;
    loop {
        match probe(shared).await {
            Ok(has) => {
                retry = 0;
                let changed =
                    shared.has.send_if_modified(|before| std::mem::replace(before, has.clone()) != has);
                if !connected || changed {
                    connected = true;
                    shared.links.nudge();
                }
                // Also where nothing changed: the request that failed may have been told as an engine that is gone.
                let capabilities = has.words();
                shared.report(EngineReport::Connectivity(Connectivity::Connected { capabilities })).await;
                shared.client.trouble().await;
            }
            Err(trouble) => {
                let wants_token = matches!(trouble, EngineError::Unauthorized(Denied::Missing));
                if wants_token && shared.client.waits_for_first_token().await {
                    continue;
                }
                connected = false;
                let error = shared.told(&trouble);
                let wait = trouble.wait().unwrap_or_default();
                shared.report(EngineReport::Connectivity(Connectivity::Failed { retry, error })).await;
                retry = retry.saturating_add(1);
                tokio::select! {
                    () = tokio::time::sleep(pause(retry, uuid::Uuid::new_v4().as_u128()).max(wait)) => {}
                    () = shared.client.new_token() => {}
                }
            }
        }
    }
}

/// Doubled at each try up to the longest, and up to a quarter shorter, so that several windows do not ask in step.
fn pause(retry: u32, chance: u128) -> Duration {
    let whole = FIRST_PAUSE.saturating_mul(1 << retry.saturating_sub(1).min(10)).min(LONGEST_PAUSE);
    let part = u32::try_from(chance % 256).unwrap_or_default();
    whole - whole.saturating_mul(part) / 1_024
}

async fn probe(shared: &EngineParts) -> Result<Has, EngineError> {
    #[derive(Deserialize)]
    struct Paths {
        paths: std::collections::BTreeMap<String, IgnoredAny>,
    }
    let health = shared.client.health().await?;
    let known = health.as_object().is_some_and(is_breadboard);
    if !known {
        let why = "it does not speak of its health as one does".to_owned();
        return Err(EngineError::Broken { status: 200, why });
    }
    match shared.client.read::<Paths>(&["openapi.json"], &[]).await {
        Ok(shown) => Ok(Has::of(shown.paths.keys().map(String::as_str))),
        // It may hide its paths, or a proxy does.
        Err(
            EngineError::NoRoute
            | EngineError::Gone { .. }
            | EngineError::Broken { .. }
            | EngineError::NotHttp
            | EngineError::Refused { .. },
        ) => Ok(Has::usual()),
        Err(
            trouble @ (EngineError::Unreachable { .. }
            | EngineError::TimedOut { .. }
            | EngineError::Unauthorized(_)
            | EngineError::Busy { .. }
            | EngineError::WindowExceeded(_)),
        ) => Err(trouble),
    }
}

fn is_breadboard(health: &Map<String, Value>) -> bool {
    health.contains_key("status") && health.contains_key("protocol_version")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Has, pause};

    #[test]
    fn capabilities_are_read_from_paths_and_not_from_names_in_them() {
        let has = Has::of(
            ["/v1/sessions", "/v1/sessions/{sid}/input", "/v1/sessions/{id}/turns/{t}/cancel", "/sessions"]
                .into_iter(),
        );
        assert_eq!(has.words(), ["cancel", "input", "sessions"]);
        assert!(has.has("cancel") && !has.has("files"));
    }

    #[test]
    fn pauses_grow_to_a_bound_and_differ_by_chance() {
        let millis = |retry, chance| pause(retry, chance).as_millis();
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 60].map(|retry| millis(retry, 0)),
            [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]
        );
        assert!(pause(6, 255) > Duration::from_millis(7_500) && pause(6, 255) < pause(6, 0));
    }
}
