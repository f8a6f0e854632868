//! `bb/models/list`: the models of the engine's configuration.
//!
//! Owns the translation only.

use super::EngineParts;
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::breadboard::http::Models;
use crate::protocol::request::{ModelEntry, ModelsResult};

/// Models in one list; a configuration names a few.
const MOST_MODELS: usize = 2_000;

/// Lists them. The current one, that of sessions made from now on, was chosen or is the configuration's.
pub(super) async fn list(shared: &EngineParts, chosen: Option<String>) -> Result<ModelsResult, CodedError> {
    let Models { models, default_model } = shared
        .client
        .read(&["v1", "models"], &[("config_path", &shared.config_path)])
        .await
        .map_err(|trouble| shared.told(&trouble))?;
    let entry = |model: crate::domain::dialect::breadboard::http::Model| {
        let name = model.name.unwrap_or_else(|| model.id.clone());
        ModelEntry::named(model.id, name, model.provider)
    };
    Ok(ModelsResult {
        models: models.into_iter().take(MOST_MODELS).map(entry).collect(),
        current: chosen.or(default_model),
    })
}
