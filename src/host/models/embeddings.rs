//! Texts as vectors: one request, one answer.
//!
//! Owns the two protocols that are spoken, OpenAI's `/embeddings` and Ollama's `/api/embed`, and what of an answer is believed. Never
//! sends anything.

use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::dialects::below;
use super::failure::ModelError;
use super::fault::ModelFault;
use super::target::{Provider, Target};

/// Numbers of one vector: the largest models of today have 4,096.
const MOST_DIMENSIONS: usize = 8_192;

/// Vectors of texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Embeddings {
    /// One for each text, in their order; all of one length, and none of them zero.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that were read, where the endpoint tells them.
    pub tokens: Option<u64>,
}

/// Where vectors are asked for.
///
/// # Errors
/// Where the provider has no such protocol.
pub(super) fn url(target: &Target) -> Result<Url, ModelError> {
    match target.provider {
        Provider::OpenAi => Ok(below(&target.base, "embeddings")),
        Provider::Ollama => Ok(below(&target.base, "api/embed")),
        Provider::Anthropic | Provider::Gemini => Err(ModelError::setting(format!(
            "{} cannot be asked for embeddings; name a model of openai (and anything compatible) or ollama.",
            target.provider.label()
        ))),
    }
}

/// What is asked: both protocols take the same.
pub(super) fn body(model: &str, texts: &[String]) -> Vec<u8> {
    // A JSON value always serialises.
    serde_json::to_vec(&json!({ "model": model, "input": texts })).unwrap_or_default()
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<OpenAiVector>,
    usage: Option<OpenAiUsage>,
}

#[derive(Deserialize)]
struct OpenAiVector {
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct OpenAiUsage {
    total_tokens: Option<u64>,
    prompt_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<Vec<f32>>,
    prompt_eval_count: Option<u64>,
}

/// The vectors of so many texts. The body is bounded, and so is what it holds.
///
/// # Errors
/// When it is not that many vectors of one length.
pub(super) fn read(provider: Provider, body: &[u8], texts: usize) -> Result<Embeddings, ModelFault> {
    let unreadable = |_| ModelFault::Unreadable;
    let embeddings = if provider == Provider::Ollama {
        let answer: OllamaAnswer = serde_json::from_slice(body).map_err(unreadable)?;
        Embeddings { vectors: answer.embeddings, tokens: answer.prompt_eval_count }
    } else {
        let answer: OpenAiAnswer = serde_json::from_slice(body).map_err(unreadable)?;
        let tokens = answer.usage.and_then(|usage| usage.total_tokens.or(usage.prompt_tokens));
        Embeddings { vectors: in_order(answer.data)?, tokens }
    };
    let length = embeddings.vectors.first().map_or(0, Vec::len);
    let is_good = |vector: &Vec<f32>| {
        vector.len() == length
            && vector.iter().all(|number| number.is_finite())
            && vector.iter().any(|number| *number != 0.0)
    };
    let fits = embeddings.vectors.len() == texts && (1..=MOST_DIMENSIONS).contains(&length);
    if fits && embeddings.vectors.iter().all(is_good) { Ok(embeddings) } else { Err(ModelFault::Unreadable) }
}

/// By their numbers, where they have any: some servers answer in another order.
fn in_order(data: Vec<OpenAiVector>) -> Result<Vec<Vec<f32>>, ModelFault> {
    let mut numbered: Vec<(usize, Vec<f32>)> =
        data.into_iter().enumerate().map(|(at, one)| (one.index.unwrap_or(at), one.embedding)).collect();
    numbered.sort_by_key(|(at, _)| *at);
    if numbered.iter().enumerate().any(|(at, (number, _))| at != *number) {
        return Err(ModelFault::Unreadable);
    }
    Ok(numbered.into_iter().map(|(_, vector)| vector).collect())
}

#[cfg(test)]
mod tests {
    use super::super::client::{Limits, ModelClient};
    use super::super::target::ModelChoice;
    use super::super::tokens::Token;
    use super::*;
    use crate::host::fake_model::{FakeModel, Script};

    fn vectors(provider: Provider, body: &str, texts: usize) -> Option<(Vec<Vec<f32>>, Option<u64>)> {
        read(provider, body.as_bytes(), texts).ok().map(|read| (read.vectors, read.tokens))
    }

    #[test]
    fn both_protocols_are_read_and_vectors_stand_in_the_order_of_their_texts() {
        let openai = r#"{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}],"usage":{"prompt_tokens":7,"total_tokens":7}}"#;
        let wanted = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
        assert_eq!(vectors(Provider::OpenAi, openai, 2), Some((wanted.clone(), Some(7))));
        let ollama = r#"{"model":"m","embeddings":[[1,0],[0,1]],"prompt_eval_count":9}"#;
        assert_eq!(vectors(Provider::Ollama, ollama, 2), Some((wanted, Some(9))));
        let unnumbered = r#"{"data":[{"embedding":[3]}]}"#;
        assert_eq!(vectors(Provider::OpenAi, unnumbered, 1), Some((vec![vec![3.0]], None)));
    }

    #[test]
    fn what_is_not_that_many_vectors_of_one_length_is_not_believed() {
        for body in [
            "",
            "[]",
            r#"{"data":[]}"#,
            r#"{"data":[{"embedding":[1]}]}"#,
            r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#,
            r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#,
            r#"{"data":[{"embedding":[0]},{"embedding":[1]}]}"#,
            r#"{"data":[{"embedding":[1e999]},{"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":18446744073709551615,"embedding":[1]}]}"#,
        ] {
            assert_eq!(vectors(Provider::OpenAi, body, 2), None, "{body}");
        }
        let wide = format!(r#"{{"embeddings":[[{}1]]}}"#, "1,".repeat(MOST_DIMENSIONS));
        assert_eq!(vectors(Provider::Ollama, &wide, 1), None);
    }

    #[tokio::test]
    async fn an_endpoint_is_asked_with_its_token_and_what_it_refuses_is_a_sentence_without_it() {
        let good = r#"{"data":[{"embedding":[1,2]}],"usage":{"total_tokens":3}}"#.to_owned();
        let server = FakeModel::start(vec![
            Script::Stream("application/json", vec![good]),
            Script::Status(401, r#"{"error":{"message":"wrong key secret-4711"}}"#.to_owned()),
        ])
        .await;
        let choice = ModelChoice {
            provider: None,
            name: "tiny".to_owned(),
            url: Some(format!("{}/v1", server.url())),
        };
        let target = Target::resolve(&choice).unwrap();
        let client = ModelClient::new(Limits::default()).unwrap();
        let token = Token("secret-4711".to_owned());
        let texts = ["a piece".to_owned()];
        let told = client.embed(&target, Some(&token), &texts).await;
        assert_eq!(told, Ok(Embeddings { vectors: vec![vec![1.0, 2.0]], tokens: Some(3) }));
        let refused = client.embed(&target, Some(&token), &texts).await.unwrap_err();
        assert!(refused.message.ends_with('.') && !refused.message.contains("4711"), "{}", refused.message);
        let asked = server.asked();
        assert_eq!(asked[0].uri.path(), "/v1/embeddings");
        assert_eq!(asked[0].headers["authorization"], "Bearer secret-4711");
        assert_eq!(asked[0].body, json!({ "model": "tiny", "input": ["a piece"] }));
        let other = ModelChoice { provider: Some("anthropic".to_owned()), name: "x".to_owned(), url: None };
        let refused = client.embed(&Target::resolve(&other).unwrap(), None, &texts).await.unwrap_err();
        assert!(
            refused.message.starts_with("Anthropic cannot be asked for embeddings"),
            "{}",
            refused.message
        );
    }
}
