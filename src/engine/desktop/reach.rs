//! Whether the host answers, and what it has.
//!
//! Owns the one task that looks. It asks at the start, again with growing pauses while nothing answers, and at once when a request
//! fails to reach the host or a token comes. What a host has is found by asking for it: a route that is missing is no fault.

use std::sync::Arc;

use tokio::sync::watch;

use super::DesktopParts;
use super::link::wake::{LISTS, pause};
use super::sessions;
use super::trouble::HostTrouble;
use crate::app::ports::{Connectivity, EngineReport, EngineSession};
use crate::domain::dialect::desktop::http;

/// What every host has that can be worked with.
const USUAL: &[&str] = &["sessions", "stream", "permissions", "patches", "commands", "stop"];

/// Looks until the engine is dropped.
pub(super) async fn watch(parts: Arc<DesktopParts>, mut dropped: watch::Receiver<()>) {
    tokio::select! {
        // It is never sent to: an end means that the engine is gone.
        _ = dropped.changed() => {}
        () = look(&parts) => {}
    }
}

async fn look(parts: &Arc<DesktopParts>) {
    parts.report(EngineReport::Connectivity(Connectivity::Connecting { retry: 0 })).await;
    let mut retry = 0;
    loop {
        match probe(parts).await {
            Ok(capabilities) => {
                retry = 0;
                parts.state().capabilities.clone_from(&capabilities);
                parts.report(EngineReport::Connectivity(Connectivity::Connected { capabilities })).await;
                look_for_sessions(parts).await;
            }
            Err(trouble) => {
                if trouble.wants_token() && parts.client.waits_for_first_token().await {
                    continue;
                }
                let error = parts.told(&trouble);
                let wait = trouble.wait().unwrap_or_default();
                parts.report(EngineReport::Connectivity(Connectivity::Failed { retry, error })).await;
                retry = retry.saturating_add(1);
                tokio::select! {
                    () = tokio::time::sleep(pause(retry, uuid::Uuid::new_v4().as_u128()).max(wait)) => {}
                    () = parts.client.new_token() => {}
                }
            }
        }
    }
}

/// Looks for sessions that other clients made, named, deleted or work in, until a request meets trouble. The loop hears of a list that is
/// another than the one before.
async fn look_for_sessions(parts: &Arc<DesktopParts>) {
    let mut before = None;
    loop {
        tokio::select! {
            () = parts.client.trouble() => return,
            () = tokio::time::sleep(LISTS) => {}
        }
        // What is wrong with the host is met by a request, which tells.
        let Ok(listed) = sessions::listed(parts).await else { continue };
        let told = |one: &EngineSession| (one.session_id.clone(), one.title.clone(), one.work);
        let mut all: Vec<_> = listed.sessions.iter().map(told).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        if before.as_ref() != Some(&all) {
            before = Some(all);
            parts.report(EngineReport::SessionsListed { outcome: Ok(listed), reply: None }).await;
        }
    }
}

/// What the host has, in our words.
async fn probe(parts: &DesktopParts) -> Result<Vec<String>, HostTrouble> {
    let health = parts.client.get(&["v1", "health"], &[]).await?;
    if !http::is_healthy(&health) {
        return Err(HostTrouble::Strange(0, "it does not speak of its health as one does".to_owned()));
    }
    // A host that guards its routes lets anybody ask for its health.
    parts.client.get(&["v1", "workspaces"], &[]).await?;
    let mut words: Vec<String> = USUAL.iter().map(|word| (*word).to_owned()).collect();
    match parts.client.get(&["v1", "models"], &[]).await {
        Ok(_) => words.push("models".to_owned()),
        Err(trouble) if trouble.is_of_the_host() => return Err(trouble),
        Err(_) => {}
    }
    Ok(words)
}
