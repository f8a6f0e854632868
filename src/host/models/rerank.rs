//! Passages in the order of their worth for a question: one request, one answer.
//!
//! Owns the protocols of cross-encoders, and what of an answer is believed. Never sends anything.

use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::dialects::below;
use super::fault::ModelFault;
use super::target::Target;

/// How an endpoint for reranking is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RerankProtocol {
    /// As Cohere's is, which Jina, vLLM, llama.cpp and gateways speak too.
    Usual,
    /// That of Hugging Face's text-embeddings-inference, in other words.
    Tei,
}

/// An order of passages.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReadOrder {
    /// Their places among those that were sent, best first; none twice.
    pub order: Vec<usize>,
    /// Tokens that were read and written, where the endpoint tells them.
    pub tokens: Option<u64>,
    /// What it cost, where that is known.
    pub cost: Option<f64>,
    /// Words that what is looked for may have, where none of the passages is it.
    pub words: Option<String>,
}

/// Where an order is asked for.
pub(super) fn url(target: &Target) -> Url {
    below(&target.base, "rerank")
}

/// What is asked.
pub(super) fn body(protocol: RerankProtocol, model: &str, question: &str, passages: &[String]) -> Vec<u8> {
    let body = match protocol {
        RerankProtocol::Usual => {
            json!({ "model": model, "query": question, "documents": passages, "top_n": passages.len() })
        }
        // What is longer than the model reads is cut there, not refused.
        RerankProtocol::Tei => json!({ "query": question, "texts": passages, "truncate": true }),
    };
    // A JSON value always serialises.
    serde_json::to_vec(&body).unwrap_or_default()
}

/// Results stand in a list of their own, or are the whole answer.
#[derive(Deserialize)]
#[serde(untagged)]
enum RerankReply {
    Whole {
        #[serde(alias = "data")]
        results: Vec<Scored>,
        usage: Option<RerankUsage>,
    },
    Bare(Vec<Scored>),
}

#[derive(Deserialize)]
struct Scored {
    index: usize,
    #[serde(alias = "score")]
    relevance_score: f64,
}

#[derive(Deserialize)]
struct RerankUsage {
    total_tokens: Option<u64>,
}

/// The order of so many passages. The body is bounded. Passages that there are not, and what is said twice, are left out.
///
/// # Errors
/// When it is no order of any.
pub(super) fn read(body: &[u8], passages: usize) -> Result<ReadOrder, ModelFault> {
    let answer: RerankReply = serde_json::from_slice(body).map_err(|_| ModelFault::Unreadable)?;
    let (mut scored, usage) = match answer {
        RerankReply::Whole { results, usage } => (results, usage),
        RerankReply::Bare(results) => (results, None),
    };
    scored.retain(|one| one.index < passages && one.relevance_score.is_finite());
    // Of equal scores the better by words comes first.
    scored.sort_by(|a, b| b.relevance_score.total_cmp(&a.relevance_score).then(a.index.cmp(&b.index)));
    let mut order: Vec<usize> = Vec::new();
    for one in scored {
        if !order.contains(&one.index) {
            order.push(one.index);
        }
    }
    if order.is_empty() {
        return Err(ModelFault::Unreadable);
    }
    Ok(ReadOrder { order, tokens: usage.and_then(|usage| usage.total_tokens), ..ReadOrder::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(body: &str) -> Option<(Vec<usize>, Option<u64>)> {
        read(body.as_bytes(), 3).ok().map(|read| (read.order, read.tokens))
    }

    #[test]
    fn every_spelling_of_an_answer_is_an_order_by_score() {
        let cohere = r#"{"id":"x","results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":0.1}],"meta":{}}"#;
        assert_eq!(order(cohere), Some((vec![2, 0], None)));
        let jina = r#"{"model":"m","usage":{"total_tokens":7},"results":[{"index":0,"document":{"text":"x"},"relevance_score":-3.5},{"index":1,"relevance_score":2}]}"#;
        assert_eq!(order(jina), Some((vec![1, 0], Some(7))));
        let voyage =
            r#"{"object":"list","data":[{"index":1,"relevance_score":0.4}],"usage":{"total_tokens":9}}"#;
        assert_eq!(order(voyage), Some((vec![1], Some(9))));
        assert_eq!(
            order(r#"[{"index":0,"score":0.5},{"index":1,"score":0.5},{"index":2,"score":0.6}]"#),
            Some((vec![2, 0, 1], None))
        );
    }

    #[test]
    fn what_there_is_not_and_what_is_said_twice_is_left_out_and_no_order_is_none() {
        let odd = r#"{"results":[{"index":9,"relevance_score":9},{"index":1,"relevance_score":1},{"index":1,"relevance_score":3},{"index":0,"relevance_score":2}]}"#;
        assert_eq!(order(odd), Some((vec![1, 0], None)));
        for body in [
            "",
            "[]",
            "{}",
            r#"{"results":[]}"#,
            r#"{"results":[{"index":3,"relevance_score":1}]}"#,
            r#"{"results":[{"index":-1,"relevance_score":1}]}"#,
            r#"{"results":[{"index":0,"relevance_score":"high"}]}"#,
            r#"{"results":[{"index":0}]}"#,
        ] {
            assert_eq!(order(body), None, "{body}");
        }
    }

    #[test]
    fn each_protocol_is_asked_in_its_own_words() {
        let texts = ["a".to_owned(), "b".to_owned()];
        let asked = |protocol| {
            serde_json::from_slice::<serde_json::Value>(&body(protocol, "m", "why?", &texts)).unwrap()
        };
        let usual = json!({ "model": "m", "query": "why?", "documents": ["a", "b"], "top_n": 2 });
        assert_eq!(asked(RerankProtocol::Usual), usual);
        assert_eq!(
            asked(RerankProtocol::Tei),
            json!({ "query": "why?", "texts": ["a", "b"], "truncate": true })
        );
    }
}
