//! Endpoints that may be chosen: asked on the loop's word, whichever engine is in use.
//!
//! Owns how many are asked at a time, and which key goes along: the one that came with the question, or that of the environment for
//! this very address. Keeps nothing that it was given.

use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::app::inbox::Reply;
use crate::app::ports::{ModelEndpoint, ModelEndpoints};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::host::models::{
    Checked, HostTokens, Limits, ModelChoice, ModelClient, ModelError, Provider, Target, Token, TokenStore,
    check,
};
use crate::protocol::request::{ModelProvider, ModelsCheckResult};

/// Endpoints that are asked at the same time: a dialog asks a few side by side. One more is refused as overloaded.
const CHECKS: usize = 8;

/// Stands for a model where none is named, so that there is an endpoint to ask.
const ANY_MODEL: &str = "any";

/// The endpoints.
pub(crate) struct Endpoints {
    runtime: Handle,
    tokens: HostTokens,
    /// By provider, the variable that its key is read from.
    variables: Vec<(Provider, &'static str)>,
    /// Built at first use: reading certificates takes a moment.
    client: Arc<OnceLock<Result<ModelClient, ModelError>>>,
    checks: Arc<Semaphore>,
}

impl Endpoints {
    /// Those that are asked on `runtime`, with the tokens of the environment and the variables that they came from.
    pub(crate) fn new(runtime: Handle, tokens: HostTokens, variables: Vec<(Provider, &'static str)>) -> Self {
        let checks = Arc::new(Semaphore::new(CHECKS));
        Self { runtime, tokens, variables, client: Arc::default(), checks }
    }

    fn key_is_set(&self, provider: Provider) -> bool {
        match provider {
            Provider::OpenAi => self.tokens.openai.is_some(),
            Provider::Anthropic => self.tokens.anthropic.is_some(),
            Provider::Gemini => self.tokens.gemini.is_some(),
            Provider::Ollama => false,
        }
    }
}

impl ModelEndpoints for Endpoints {
    fn providers(&self) -> Vec<ModelProvider> {
        let told = |provider: Provider| ModelProvider {
            provider: provider.as_str().to_owned(),
            label: provider.label().to_owned(),
            needs_key: provider.needs_key(),
            key_variable: self
                .variables
                .iter()
                .find(|(of, _)| *of == provider)
                .map(|(_, variable)| (*variable).to_owned()),
            key_is_set: self.key_is_set(provider),
            default_url: Some(provider.base().to_owned()),
        };
        Provider::ALL.into_iter().map(told).collect()
    }

    fn check(&self, endpoint: ModelEndpoint, reply: Reply<ModelsCheckResult>) {
        let Ok(place) = Arc::clone(&self.checks).try_acquire_owned() else {
            reply.refuse(CodedError::new(
                ErrorCode::Overloaded,
                "Too many endpoints are being asked already; wait for an answer and try again.",
            ));
            return;
        };
        let (client, tokens) = (Arc::clone(&self.client), self.tokens.clone());
        self.runtime.spawn(async move {
            let _place = place;
            reply.answer(match look(endpoint, client, tokens).await {
                Ok(Checked { models, problem }) => {
                    ModelsCheckResult { ok: problem.is_none(), models, problem }
                }
                Err(error) => ModelsCheckResult { problem: Some(error.message), ..Default::default() },
            });
        });
    }
}

async fn look(
    endpoint: ModelEndpoint,
    client: Arc<OnceLock<Result<ModelClient, ModelError>>>,
    tokens: HostTokens,
) -> Result<Checked, ModelError> {
    let ModelEndpoint { provider, name, url, token } = endpoint;
    let wanted = name.filter(|name| !name.trim().is_empty());
    let url = url.filter(|url| !url.trim().is_empty());
    let target = Target::resolve(&ModelChoice {
        provider: Some(provider),
        name: wanted.clone().unwrap_or_else(|| ANY_MODEL.to_owned()),
        url,
    })?;
    let mut store = TokenStore::new(tokens);
    store.give(token.map(|secret| Token(secret.0)), Some(&target));
    let token = store.for_target(&target)?;
    let client = tokio::task::spawn_blocking(move || {
        client.get_or_init(|| ModelClient::new(Limits::default())).clone()
    })
    .await
    .unwrap_or_else(|_| Err(ModelError::passing("The endpoint could not be asked; try again.".to_owned())))?;
    Ok(check(&client, &target, token.as_ref(), wanted.as_deref()).await)
}
