//! The user's reranker, asked by whoever searches: an endpoint for reranking, or a chat model.
//!
//! Owns its endpoint and which token goes along: the rules are those of the other models. Blocking: it is used on threads that may wait.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::runtime::Handle;

use super::embeddings::{EndpointAccess, set};
use super::tuned;
use crate::host::index::Indexes;
use crate::host::index::reranker::{ReadPassage, ReadingBounds, ReadingRound, Reranker};
use crate::host::models::{
    Conversation, Delta, Limits, ModelChoice, ModelClient, ModelError, ReadOrder, RerankProtocol, Target,
    Token, Tuning,
};
use crate::host::retrieval::listwise;
use crate::protocol::settings::{ModelSetting, RerankerProtocol, RerankerSetting};

/// Passages that a chat model is given: the first forty or so with their text, and of the others where they stand and what they are
/// called, so that the right one is among them though the code has other words.
const CHAT_PASSAGES: usize = 100;

/// Passages that an endpoint for reranking is given: as many as the smallest of the usual servers takes in one request.
const RERANK_PASSAGES: usize = 32;

/// Seconds that a search waits without a word of the user, two requests together: a hosted model needs one or two for each, one on this
/// machine some more, and who waits longer thinks that nothing happens.
const PATIENCE_SECONDS: u64 = 8;

/// Most seconds that a user can have a search wait.
const MOST_SECONDS: u64 = 60;

/// How much longer an answer is waited for that comes too late for its question: a model that had to be loaded is there for the next one.
const LATE: Duration = Duration::from_secs(15);

/// Bytes of a reply: a list of numbers, behind what some models think aloud before.
const REPLY_BYTES: usize = 64 * 1024;

/// See the module.
pub(super) struct EndpointReranker {
    runtime: Handle,
    access: EndpointAccess,
    target: Target,
    tuning: Tuning,
    protocol: RerankerProtocol,
    patience: Duration,
}

impl EndpointReranker {
    /// Of a setting.
    ///
    /// # Errors
    /// In one sentence where it names no endpoint.
    pub(super) fn new(
        runtime: Handle,
        access: EndpointAccess,
        setting: &RerankerSetting,
    ) -> Result<Self, ModelError> {
        let protocol = setting.protocol.unwrap_or_default();
        let target = target(setting, protocol)?;
        let RerankerSetting { name, effort, price, seconds, .. } = setting.clone();
        let tuning = tuned::tuning(&target, &ModelSetting { name, effort, price, ..ModelSetting::default() });
        let seconds = seconds.unwrap_or(PATIENCE_SECONDS).clamp(1, MOST_SECONDS);
        Ok(Self { runtime, access, target, tuning, protocol, patience: Duration::from_secs(seconds) })
    }

    /// Where it is.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    async fn order(
        &self,
        (client, token): (&ModelClient, Option<&Token>),
        (question, passages): (&str, &[ReadPassage]),
        round: ReadingRound,
    ) -> Result<ReadOrder, ModelError> {
        let protocol = match self.protocol {
            RerankerProtocol::Chat => return self.chat((client, token), (question, passages), round).await,
            RerankerProtocol::Rerank => RerankProtocol::Usual,
            RerankerProtocol::Tei => RerankProtocol::Tei,
        };
        let texts: Vec<String> =
            passages.iter().map(|ReadPassage { head, text }| format!("{head}\n{text}")).collect();
        let read = client.rerank(&self.target, token, protocol, (question, &texts)).await?;
        let price = self.tuning.price;
        let cost = price.zip(read.tokens).map(|(price, tokens)| price.input * tokens as f64 / 1e6);
        Ok(ReadOrder { cost, ..read })
    }

    async fn chat(
        &self,
        (client, token): (&ModelClient, Option<&Token>),
        (question, passages): (&str, &[ReadPassage]),
        round: ReadingRound,
    ) -> Result<ReadOrder, ModelError> {
        let mut conversation = Conversation::new(&listwise::rules(round), &[]).tuned(self.tuning);
        conversation.user(&listwise::words(question, passages));
        let mut stream = client.stream(&self.target, token, &conversation).await?;
        let mut reply = String::new();
        while let Some(delta) = stream.next().await {
            match delta? {
                Delta::Text(text) => reply.push_str(&text),
                Delta::Reasoning(_) => {}
                Delta::Finished(finished) => {
                    let order = listwise::order_in(&reply, passages.len());
                    let order = order.ok_or_else(|| self.without_order())?;
                    let cost =
                        finished.usage.cost.or(self.tuning.price.map(|price| price.of(finished.usage)));
                    let tokens = Some(finished.tokens_used).filter(|tokens| *tokens > 0);
                    let words = listwise::words_in(&reply);
                    return Ok(ReadOrder { order, tokens, cost, words });
                }
            }
            if reply.len() > REPLY_BYTES {
                break;
            }
        }
        Err(self.without_order())
    }

    fn without_order(&self) -> ModelError {
        ModelError::passing(format!("{} answered with no order of passages.", self.name()))
    }

    fn too_slow(&self) -> ModelError {
        ModelError::passing(format!("{} did not answer in time.", self.name()))
    }
}

impl Reranker for EndpointReranker {
    fn name(&self) -> String {
        format!("`{}` at {}", self.target.name, self.target.origin().as_str())
    }

    fn bounds(&self) -> ReadingBounds {
        let patience = self.patience;
        match self.protocol {
            RerankerProtocol::Chat => ReadingBounds { passages: CHAT_PASSAGES, heads_alone: true, patience },
            RerankerProtocol::Rerank | RerankerProtocol::Tei => {
                ReadingBounds { passages: RERANK_PASSAGES, heads_alone: false, patience }
            }
        }
    }

    fn read(
        &self,
        question: &str,
        passages: &[ReadPassage],
        round: ReadingRound,
        cancel: &AtomicBool,
    ) -> Result<ReadOrder, ModelError> {
        let (client, token) = (self.access)(&self.target)?;
        self.runtime.block_on(async {
            let answer = self.order((&client, token.as_ref()), (question, passages), round);
            tokio::select! {
                answer = tokio::time::timeout(self.patience + LATE, answer) => {
                    answer.unwrap_or_else(|_| Err(self.too_slow()))
                }
                () = set(cancel) => Err(ModelError::passing("The search was stopped; ask again.".to_owned())),
            }
        })
    }
}

/// Where it is. An address that ends in `/rerank` is that of the request itself, as most servers write it down.
fn target(setting: &RerankerSetting, protocol: RerankerProtocol) -> Result<Target, ModelError> {
    let RerankerSetting { provider, name, url, .. } = setting.clone();
    if protocol == RerankerProtocol::Chat {
        return Target::resolve(&ModelChoice { provider, name, url });
    }
    let Some(url) = url else {
        return Err(ModelError::setting(
            "The reranker has no address; name the one of its endpoint, for instance http://localhost:8080/rerank."
                .to_owned(),
        ));
    };
    let provider = Some("openai".to_owned());
    let mut target = Target::resolve(&ModelChoice { provider, name, url: Some(url) })?;
    let folder = target.base.path().strip_suffix("/rerank/").map(|folder| format!("{folder}/"));
    if let Some(folder) = folder {
        target.base.set_path(&folder);
    }
    Ok(target)
}

/// Has the searches of these indexes read passages by a chat model at an endpoint that speaks as OpenAI's, without a token: for measuring.
#[doc(hidden)]
pub fn rerank_by(indexes: &Indexes, runtime: Handle, url: &str, name: &str) {
    let setting = RerankerSetting {
        name: name.to_owned(),
        url: Some(url.to_owned()),
        seconds: Some(MOST_SECONDS),
        ..RerankerSetting::default()
    };
    let client = ModelClient::new(Limits::default());
    let access: EndpointAccess = Box::new(move |_| Ok((client.clone()?, None)));
    let reranker = EndpointReranker::new(runtime, access, &setting).ok();
    indexes.reranker().read_by(reranker.map(|one| Arc::new(one) as Arc<dyn Reranker>));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(protocol: RerankerProtocol, url: &str) -> String {
        let setting =
            RerankerSetting { name: "m".to_owned(), url: Some(url.to_owned()), ..RerankerSetting::default() };
        target(&setting, protocol).unwrap().base.to_string()
    }

    #[test]
    fn an_endpoint_is_named_by_its_base_or_by_the_address_of_the_request() {
        for (url, wanted) in [
            ("http://localhost:8080", "http://localhost:8080/v1/"),
            ("http://localhost:8080/rerank", "http://localhost:8080/"),
            ("https://api.jina.ai/v1/rerank", "https://api.jina.ai/v1/"),
            ("https://api.cohere.com/v2", "https://api.cohere.com/v2/"),
        ] {
            assert_eq!(base(RerankerProtocol::Rerank, url), wanted, "{url}");
        }
        assert_eq!(base(RerankerProtocol::Chat, "http://localhost:8000/v1"), "http://localhost:8000/v1/");
    }

    #[test]
    fn an_endpoint_for_reranking_has_no_address_of_its_own() {
        let setting = RerankerSetting { name: "m".to_owned(), ..RerankerSetting::default() };
        let refused = target(&setting, RerankerProtocol::Rerank).unwrap_err();
        assert!(refused.message.starts_with("The reranker has no address; name"), "{}", refused.message);
    }
}
