//! The settings of models: one that answers, one that compares meanings, one that reads what a search found.
//!
//! Owns their shapes and what stands where nothing is said. Which of several layers counts is `settings`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model setting; also the params of `bb/models/set`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelSetting {
    /// `openai` (and anything compatible), `anthropic`, `gemini` or `ollama`. Default: `openai` when `url` is given,
    /// else guessed from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The provider's name of the model.
    pub name: String,
    /// Base URL. Default: the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How hard it thinks before it answers: `low`, `medium` or `high`. Default: as the provider has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// How freely it chooses its words, from 0 to 2. Default: as the provider has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Tokens that it can read at once. Default: what is known of a model of this name, else 128000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Whether it sees images. Default: what is known of a model of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// What it costs. Without, costs are told only where the endpoint tells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
}

/// The embedding model: each piece of the files of a trusted workspace is sent to it once, and each question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddingsSetting {
    /// `openai` (and anything compatible) or `ollama`. Default: `openai` when `url` is given, else guessed from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The provider's name of the model.
    pub name: String,
    /// Base URL. Default: the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What a million tokens cost. Without, only tokens are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// What the model wants before each question, as in `query: `. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_prefix: Option<String>,
    /// What the model wants before each piece of a file, as in `passage: `. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_prefix: Option<String>,
}

/// The reranker: with each question the best passages of a trusted workspace are sent to it, in one request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RerankerSetting {
    /// How it is asked. Default: `chat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<RerankerProtocol>,
    /// Of a chat model: `openai` (and anything compatible), `anthropic`, `gemini` or `ollama`. Default: `openai` when `url` is given,
    /// else guessed from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The provider's name of the model.
    pub name: String,
    /// Base URL; for `rerank` and `tei` the address of the request itself will do, as in `http://localhost:8080/rerank`. Default: the
    /// provider's own; `rerank` and `tei` have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How hard a chat model thinks before it answers: `low`, `medium` or `high`. Default: as the provider has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// What it costs. Without, costs are told only where the endpoint tells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
    /// Seconds that a question waits for it, from 1 to 60; then words decide. Default: 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// How a reranker is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RerankerProtocol {
    /// A chat model, which is asked for the numbers of the passages that answer.
    #[default]
    Chat,
    /// `/rerank` as Cohere, Jina, vLLM and llama.cpp have it.
    Rerank,
    /// `/rerank` of Hugging Face's text-embeddings-inference.
    Tei,
}

impl RerankerProtocol {
    /// The one that a word means.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Chat, Self::Rerank, Self::Tei].into_iter().find(|protocol| protocol.as_str() == word)
    }

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Rerank => "rerank",
            Self::Tei => "tei",
        }
    }
}

/// How hard a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// A little.
    Low,
    /// More.
    Medium,
    /// As much as it can.
    High,
}

/// What a model costs, for a million tokens each, in whatever currency the budget is in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    /// Of what it reads.
    pub input: f64,
    /// Of what it writes.
    pub output: f64,
    /// Of what it reads from the provider's cache. Default: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
}
