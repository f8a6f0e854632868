//! The models of the endpoint in use, as `bb/models/list` has them.
//!
//! Owns what is told of each: of the one in use what its settings say, of others what their names tell. Never guesses a price.

use std::time::Duration;

use crate::host::models::{ModelError, known};
use crate::host::request::ModelInUse;
use crate::protocol::request::{ModelEntry, ModelsResult};
use crate::protocol::settings::ModelPrice;

/// Longest wait for the endpoint's list.
const LIST_TIME: Duration = Duration::from_secs(20);

/// Models in one list; an aggregator has a few hundred.
const LIST_LENGTH: usize = 2_000;

/// Asks the endpoint.
pub(super) async fn list(model: &ModelInUse) -> Result<ModelsResult, ModelError> {
    let names = tokio::time::timeout(LIST_TIME, model.client.list(&model.target, model.token.as_ref()))
        .await
        .unwrap_or_else(|_| {
            Err(ModelError::passing(format!(
                "The model at {} did not list its models within 20 s; try again.",
                model.target.origin().as_str()
            )))
        })?;
    Ok(ModelsResult {
        models: names.into_iter().take(LIST_LENGTH).map(|name| entry(model, name)).collect(),
        current: Some(format!("{}/{}", model.target.provider.as_str(), model.target.name)),
    })
}

fn entry(model: &ModelInUse, name: String) -> ModelEntry {
    let (provider, tuning) = (model.target.provider, &model.tuning);
    let is_current = name == model.target.name;
    let (window, sees) = match is_current {
        true => (tuning.window, tuning.sees),
        false => (known::window(provider, &name), known::sees(&name)),
    };
    let price = tuning.price.as_ref().filter(|_| is_current);
    ModelEntry {
        context_window: Some(window),
        images: Some(sees),
        price: price.map(|price| ModelPrice {
            input: price.input,
            output: price.output,
            cached_input: Some(price.cached_input),
        }),
        ..ModelEntry::named(name.clone(), name, Some(provider.as_str().to_owned()))
    }
}
