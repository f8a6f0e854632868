//! The user's embedding model, asked for vectors by whoever searches.
//!
//! Owns its endpoint and which token goes along: the rules are those of the other models. Blocking: it is used on threads that may wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;

use crate::host::index::Indexes;
use crate::host::index::vectors::Embedder;
use crate::host::models::{Embeddings, Limits, ModelChoice, ModelClient, ModelError, Target, Token};
use crate::protocol::settings::EmbeddingsSetting;

/// How long an endpoint may take for pieces of files: a small model on this machine needs seconds for a few dozen.
const PIECES_TIME: Duration = Duration::from_secs(120);

/// How long it may take for a question, which a person waits for; without an answer words are compared alone.
const QUESTION_TIME: Duration = Duration::from_secs(8);

/// How often a wait looks whether it is stopped.
const LOOK: Duration = Duration::from_millis(20);

/// The client of this moment, and the token for a target, where there is one.
pub(super) type EndpointAccess =
    Box<dyn Fn(&Target) -> Result<(ModelClient, Option<Token>), ModelError> + Send + Sync>;

/// See the module.
pub(super) struct EndpointEmbedder {
    runtime: Handle,
    access: EndpointAccess,
    target: Target,
    setting: EmbeddingsSetting,
}

impl EndpointEmbedder {
    /// Of a setting.
    ///
    /// # Errors
    /// In one sentence where it names no endpoint.
    pub(super) fn new(
        runtime: Handle,
        access: EndpointAccess,
        setting: EmbeddingsSetting,
    ) -> Result<Self, ModelError> {
        let EmbeddingsSetting { provider, name, url, .. } = setting.clone();
        let target = Target::resolve(&ModelChoice { provider, name, url })?;
        Ok(Self { runtime, access, target, setting })
    }

    /// Where it is.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    fn ask(&self, texts: &[String], time: Duration, cancel: &AtomicBool) -> Result<Embeddings, ModelError> {
        let (client, token) = (self.access)(&self.target)?;
        self.runtime.block_on(async {
            tokio::select! {
                answer = tokio::time::timeout(time, client.embed(&self.target, token.as_ref(), texts)) => {
                    answer.unwrap_or_else(|_| Err(self.too_slow(time)))
                }
                () = set(cancel) => Err(ModelError::passing("The search was stopped; ask again.".to_owned())),
            }
        })
    }

    fn too_slow(&self, time: Duration) -> ModelError {
        ModelError::passing(format!(
            "The embedding model at {} did not answer within {} s; look whether it is overloaded.",
            self.target.origin().as_str(),
            time.as_secs()
        ))
    }
}

impl Embedder for EndpointEmbedder {
    fn identity(&self) -> String {
        let prefix = self.setting.text_prefix.as_deref().unwrap_or_default();
        format!("{} {} {} {prefix}", self.target.provider.as_str(), self.target.base, self.target.name)
    }

    fn name(&self) -> String {
        format!("`{}` at {}", self.target.name, self.target.origin().as_str())
    }

    fn price(&self) -> Option<f64> {
        self.setting.price
    }

    fn pieces(&self, texts: Vec<String>, cancel: &AtomicBool) -> Result<Embeddings, ModelError> {
        self.ask(&prefixed(texts, self.setting.text_prefix.as_deref()), PIECES_TIME, cancel)
    }

    fn question(&self, text: String, cancel: &AtomicBool) -> Result<Embeddings, ModelError> {
        self.ask(&prefixed(vec![text], self.setting.question_prefix.as_deref()), QUESTION_TIME, cancel)
    }
}

fn prefixed(texts: Vec<String>, prefix: Option<&str>) -> Vec<String> {
    match prefix {
        Some(prefix) => texts.into_iter().map(|text| format!("{prefix}{text}")).collect(),
        None => texts,
    }
}

/// Ends when the flag is set.
pub(super) async fn set(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Has the searches of these indexes compare meanings by an endpoint without a token: for measuring.
#[doc(hidden)]
pub fn embed_by(indexes: &Indexes, runtime: Handle, url: &str, name: &str) {
    let setting = EmbeddingsSetting {
        name: name.to_owned(),
        url: Some(url.to_owned()),
        ..EmbeddingsSetting::default()
    };
    let client = ModelClient::new(Limits::default());
    let access: EndpointAccess = Box::new(move |_| Ok((client.clone()?, None)));
    let embedder = EndpointEmbedder::new(runtime, access, setting).ok();
    indexes.vectors().make_with(embedder.map(|one| Arc::new(one) as Arc<dyn Embedder>));
}
