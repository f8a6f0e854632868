//! Models of a host: the list, the one in use, and another one.
//!
//! Owns the way to set one: the seed's route, and where that is missing the one of its public source.

use reqwest::Method;

use super::DesktopParts;
use super::trouble::HostTrouble;
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::desktop::http;
use crate::protocol::request::{ModelEntry, ModelsResult};
use crate::protocol::settings::ModelSetting;

/// Models in one list.
const MOST_MODELS: usize = 2_000;

/// Answers `bb/models/list`.
pub(super) async fn list(parts: &DesktopParts, chosen: Option<String>) -> Result<ModelsResult, CodedError> {
    let told = |trouble: HostTrouble| parts.told(&trouble);
    let listed = http::models(&parts.client.get(&["v1", "models"], &[]).await.map_err(told)?);
    let entry = |model: http::HostModel| ModelEntry::named(model.id, model.name, model.provider);
    let current = match chosen {
        Some(chosen) => Some(chosen),
        // None is loaded, or the host does not say.
        None => match parts.client.get(&["v1", "models", "current"], &[]).await {
            Ok(body) => http::current_model(&body),
            Err(_) => None,
        },
    };
    Ok(ModelsResult { models: listed.into_iter().take(MOST_MODELS).map(entry).collect(), current })
}

/// Sets the model of the host.
pub(super) async fn set(parts: &DesktopParts, model: &ModelSetting) -> Result<(), HostTrouble> {
    // To set what is set would make the public source forget its context window and temperature.
    let current = parts.client.get(&["v1", "models", "current"], &[]).await;
    if current.is_ok_and(|current| {
        http::is_current(&current, model.provider.as_deref(), &model.name, model.url.as_deref())
    }) {
        return Ok(());
    }
    let (mut provider, mut url) = (model.provider.clone(), model.url.clone());
    if provider.is_none() || url.is_none() {
        // The host wants them with the name, and its list says which. The public source takes none without its address.
        let listed = http::models(&parts.client.get(&["v1", "models"], &[]).await?);
        let fits = |listed: &http::HostModel| {
            listed.id == model.name && (provider.is_none() || listed.provider == provider)
        };
        if let Some(listed) = listed.into_iter().find(fits) {
            provider = provider.or(listed.provider);
            url = url.or(listed.url);
        }
    }
    let body = http::set_model(provider.as_deref(), &model.name, url.as_deref());
    match parts.client.ask(Method::PUT, &["v1", "models", "current"], Some(&body)).await {
        Err(HostTrouble::NoRoute) => {
            parts.client.ask(Method::POST, &["v1", "models", "switch"], Some(&body)).await.map(drop)
        }
        answer => answer.map(drop),
    }
}
