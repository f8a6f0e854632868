//! Which token goes where.
//!
//! Owns the binding of a token to the origin it was given for. Never reads the environment and never sends a token:
//! it only answers whether there is one for a target.

use super::failure::ModelError;
use super::target::{Origin, Provider, Target};

/// A model token in memory: never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Model tokens of the environment, as the wiring read them. Empty values count as absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HostTokens {
    /// `OPENAI_API_KEY`, for OpenAI's own origin.
    pub openai: Option<Token>,
    /// `ANTHROPIC_API_KEY`, for Anthropic's own origin.
    pub anthropic: Option<Token>,
    /// `GEMINI_API_KEY`, for Gemini's own origin.
    pub gemini: Option<Token>,
    /// `BREADBOARD_MODEL_TOKEN`, for the origin of the model that is configured at start.
    pub model: Option<Token>,
}

/// All model tokens and the origins they belong to.
#[derive(Debug, Default)]
pub(crate) struct TokenStore {
    /// From `bb/setCredentials`.
    given: Option<(Origin, Token)>,
    /// `BREADBOARD_MODEL_TOKEN` until the first model is known.
    unbound: Option<Token>,
    /// From the environment.
    bound: Vec<(Origin, Token)>,
}

impl TokenStore {
    /// The tokens of the environment.
    pub(crate) fn new(environment: HostTokens) -> Self {
        let present = |token: Option<Token>| token.filter(|token| !token.0.trim().is_empty());
        let bound = [
            (Provider::OpenAi, environment.openai),
            (Provider::Anthropic, environment.anthropic),
            (Provider::Gemini, environment.gemini),
        ]
        .into_iter()
        .filter_map(|(provider, token)| Some((provider, present(token)?)))
        .filter_map(|(provider, token)| Some((Origin::of_provider(provider)?, token)))
        .collect();
        Self { given: None, unbound: present(environment.model), bound }
    }

    /// A model was configured. The first one binds `BREADBOARD_MODEL_TOKEN`; a later one gets it only at that origin.
    pub(crate) fn model_configured(&mut self, target: &Target) {
        if let Some(token) = self.unbound.take() {
            // In front: it was given for this very endpoint, a provider's key only for its provider.
            self.bound.insert(0, (target.origin(), token));
        }
    }

    /// A token that the user has for this very endpoint.
    pub(crate) fn bind(&mut self, target: &Target, token: Option<Token>) {
        if let Some(token) = token.filter(|token| !token.0.trim().is_empty()) {
            self.bound.insert(0, (target.origin(), token));
        }
    }

    /// `bb/setCredentials`: the token belongs to the model that is configured now. Without one it belongs nowhere and is
    /// not kept; gives whether it was.
    pub(crate) fn give(&mut self, token: Option<Token>, target: Option<&Target>) -> bool {
        let token = token.filter(|token| !token.0.trim().is_empty());
        self.given = match (token, target) {
            (Some(token), Some(target)) => Some((target.origin(), token)),
            (None, _) | (_, None) => None,
        };
        self.given.is_some()
    }

    /// The token for a target, if there is one; refused when it would travel in the clear.
    pub(crate) fn for_target(&self, target: &Target) -> Result<Option<Token>, ModelError> {
        let origin = target.origin();
        let found = self.given.iter().chain(&self.bound).find(|(bound, _)| *bound == origin);
        match found {
            Some(_) if !target.may_carry_token() => Err(ModelError::setting(format!(
                "The token for {} was not sent, because plain http would show it to the network; use https, or remove \
                 the token.",
                origin.as_str()
            ))),
            Some((_, token)) => Ok(Some(token.clone())),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::ModelChoice;
    use super::*;

    fn target(name: &str, url: Option<&str>) -> Target {
        Target::resolve(&ModelChoice { provider: None, name: name.to_owned(), url: url.map(str::to_owned) })
            .unwrap()
    }

    fn token(text: &str) -> Option<Token> {
        Some(Token(text.to_owned()))
    }

    fn environment() -> HostTokens {
        HostTokens {
            openai: token("env-openai"),
            anthropic: token("env-anthropic"),
            gemini: token("env-gemini"),
            model: None,
        }
    }

    #[test]
    fn a_provider_key_goes_to_its_own_origin_only() {
        let store = TokenStore::new(environment());
        assert_eq!(store.for_target(&target("gpt-4o", None)), Ok(token("env-openai")));
        assert_eq!(store.for_target(&target("claude-x", None)), Ok(token("env-anthropic")));
        assert_eq!(store.for_target(&target("gemini-x", None)), Ok(token("env-gemini")));
        assert_eq!(store.for_target(&target("gpt-4o", Some("https://proxy.example/v1"))), Ok(None));
        assert_eq!(store.for_target(&target("gpt-4o", Some("http://api.openai.com/v1"))), Ok(None));
        assert_eq!(store.for_target(&target("gpt-4o", Some("https://api.openai.com:8443/v1"))), Ok(None));
        assert_eq!(store.for_target(&target("qwen", None)), Ok(None));
    }

    #[test]
    fn a_given_token_belongs_to_the_model_of_that_moment() {
        let mut store = TokenStore::new(environment());
        let first = target("m", Some("https://one.example/v1"));
        assert!(store.give(token("given"), Some(&first)));
        assert_eq!(store.for_target(&first), Ok(token("given")));
        assert_eq!(store.for_target(&target("m", Some("https://two.example/v1"))), Ok(None));
        assert_eq!(store.for_target(&target("gpt-4o", None)), Ok(token("env-openai")));
    }

    #[test]
    fn a_given_token_wins_over_the_environment_and_null_forgets_it() {
        let mut store = TokenStore::new(environment());
        let openai = target("gpt-4o", None);
        store.give(token("given"), Some(&openai));
        assert_eq!(store.for_target(&openai), Ok(token("given")));
        store.give(None, Some(&openai));
        assert_eq!(store.for_target(&openai), Ok(token("env-openai")));
    }

    #[test]
    fn a_token_without_a_model_belongs_nowhere() {
        let mut store = TokenStore::new(HostTokens::default());
        assert!(!store.give(token("given"), None));
        assert_eq!(store.for_target(&target("gpt-4o", None)), Ok(None));
    }

    #[test]
    fn the_model_token_of_the_environment_stays_with_the_first_origin() {
        let mut store = TokenStore::new(HostTokens { model: token("env-model"), ..environment() });
        let first = target("m", Some("https://one.example/v1"));
        let second = target("m", Some("https://two.example/v1"));
        store.model_configured(&first);
        store.model_configured(&second);
        assert_eq!(store.for_target(&first), Ok(token("env-model")));
        assert_eq!(store.for_target(&second), Ok(None));
    }

    #[test]
    fn a_token_over_plain_http_to_another_machine_is_refused_before_sending() {
        let mut store = TokenStore::new(HostTokens::default());
        let plain = target("m", Some("http://box.example:8000/v1"));
        store.give(token("given"), Some(&plain));
        let refused = store.for_target(&plain).unwrap_err();
        assert!(refused.message.contains("http://box.example:8000") && !refused.message.contains("given"));
        let here = target("m", Some("http://127.0.0.1:8000/v1"));
        store.give(token("given"), Some(&here));
        assert_eq!(store.for_target(&here), Ok(token("given")));
    }

    #[test]
    fn an_empty_token_is_none_and_a_token_is_never_printed() {
        let mut store = TokenStore::new(HostTokens { openai: token("  "), ..HostTokens::default() });
        let openai = target("gpt-4o", None);
        assert_eq!(store.for_target(&openai), Ok(None));
        store.give(token("hush"), Some(&openai));
        assert!(!format!("{store:?}").contains("hush"));
    }
}
