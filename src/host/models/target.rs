//! From a model setting to an endpoint.
//!
//! Owns providers, their own base URLs and what an origin is. Never sends anything.

use url::{Host, Url};

use super::failure::ModelError;
use crate::domain::policy::provider::provider_of;

/// A model as the user chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelChoice {
    /// `openai` (and anything compatible), `anthropic`, `gemini` or `ollama`; guessed when absent.
    pub provider: Option<String>,
    /// The provider's name of the model.
    pub name: String,
    /// Base URL; the provider's own when absent.
    pub url: Option<String>,
}

/// The four ways to talk to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    /// OpenAI and everything that speaks like it.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google Gemini.
    Gemini,
    /// Ollama's own protocol.
    Ollama,
}

impl Provider {
    /// The word in settings.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// All of them, in the order in which they are offered.
    pub(crate) const ALL: [Self; 4] = [Self::Anthropic, Self::OpenAi, Self::Gemini, Self::Ollama];

    /// What a person calls it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI, or anything compatible",
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Google Gemini",
            Self::Ollama => "Ollama",
        }
    }

    /// Whether its own endpoint answers nobody without a key.
    pub(crate) fn needs_key(self) -> bool {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Gemini => true,
            Self::Ollama => false,
        }
    }

    /// The provider's own base URL.
    pub(crate) fn base(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1/",
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Self::Ollama => "http://localhost:11434/",
        }
    }

    /// The path under which its API lies on a host of one's own.
    fn usual_path(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic => "/v1/",
            Self::Gemini => "/v1beta/",
            Self::Ollama => "/",
        }
    }

    fn named(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "openai" => Some(Self::OpenAi),
            "anthropic" => Some(Self::Anthropic),
            "gemini" | "google" => Some(Self::Gemini),
            "ollama" => Some(Self::Ollama),
            _ => None,
        }
    }

    fn guessed(name: &str, has_url: bool) -> Self {
        Self::named(provider_of(name, has_url)).unwrap_or(Self::Ollama)
    }
}

/// Scheme, host and port: what a token is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin(String);

impl Origin {
    /// The origin of a URL.
    pub(crate) fn of(url: &Url) -> Self {
        Self(url.origin().ascii_serialization())
    }

    /// The origin of a provider's own endpoint.
    pub(crate) fn of_provider(provider: Provider) -> Option<Self> {
        Url::parse(provider.base()).ok().map(|url| Self::of(&url))
    }

    /// `scheme://host[:port]`.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A model with its endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// How to talk to it.
    pub provider: Provider,
    /// Name of the model.
    pub name: String,
    /// Base URL, with a `/` at its end.
    pub base: Url,
    /// Whether `base` is the provider's own.
    pub is_default: bool,
}

impl Target {
    /// Resolves a choice. Refused, in one sentence, when the provider is not known or the URL is none.
    pub(crate) fn resolve(choice: &ModelChoice) -> Result<Self, ModelError> {
        let provider = match &choice.provider {
            Some(word) => Provider::named(word).ok_or_else(|| {
                ModelError::setting(format!(
                    "The model provider `{}` is not known; use openai (and anything compatible), anthropic, gemini or \
                     ollama.",
                    super::failure::excerpt(word)
                ))
            })?,
            None => Provider::guessed(&choice.name, choice.url.is_some()),
        };
        if choice.name.trim().is_empty() {
            return Err(ModelError::setting("The model has no name; name it in the settings.".to_owned()));
        }
        let text = choice.url.as_deref().unwrap_or(provider.base());
        let bad = || {
            ModelError::setting(
                "The model's URL must be an http or https URL without a user name or a query, such as http://localhost:8000/v1."
                    .to_owned(),
            )
        };
        let mut base = Url::parse(text.trim()).map_err(|_| bad())?;
        let named = !base.username().is_empty() || base.password().is_some();
        if !matches!(base.scheme(), "http" | "https")
            || base.host().is_none()
            || named
            || base.query().is_some()
        {
            return Err(bad());
        }
        base.set_fragment(None);
        let path = match base.path() {
            "/" | "" => provider.usual_path().to_owned(),
            // Ollama's own protocol lies beside its OpenAI compatible one.
            "/v1" | "/v1/" if provider == Provider::Ollama => "/".to_owned(),
            path if path.ends_with('/') => path.to_owned(),
            path => format!("{path}/"),
        };
        base.set_path(&path);
        let is_default = base.as_str() == provider.base();
        Ok(Self { provider, name: choice.name.trim().to_owned(), base, is_default })
    }

    /// Its origin.
    pub(crate) fn origin(&self) -> Origin {
        Origin::of(&self.base)
    }

    /// Whether it is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.base.host() {
            Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// The environment variable from which its key is taken.
    pub(crate) fn key_variable(&self) -> &'static str {
        match self.provider {
            Provider::OpenAi if self.is_default => "OPENAI_API_KEY",
            Provider::Anthropic if self.is_default => "ANTHROPIC_API_KEY",
            Provider::Gemini if self.is_default => "GEMINI_API_KEY",
            Provider::OpenAi | Provider::Anthropic | Provider::Gemini | Provider::Ollama => {
                "BREADBOARD_MODEL_TOKEN"
            }
        }
    }

    /// Whether a token may travel to it: over TLS, or to this machine.
    pub(crate) fn may_carry_token(&self) -> bool {
        self.base.scheme() == "https" || self.is_loopback()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(
        provider: Option<&str>,
        name: &str,
        url: Option<&str>,
    ) -> Result<(Provider, String), ModelError> {
        Target::resolve(&ModelChoice {
            provider: provider.map(str::to_owned),
            name: name.to_owned(),
            url: url.map(str::to_owned),
        })
        .map(|target| (target.provider, target.base.to_string()))
    }

    #[test]
    fn a_key_comes_from_the_variable_of_whoever_is_asked() {
        let variable = |name: &str, url: Option<&str>| {
            let choice = ModelChoice { provider: None, name: name.to_owned(), url: url.map(str::to_owned) };
            Target::resolve(&choice).expect("names one").key_variable()
        };
        assert_eq!(variable("gpt-4o", None), "OPENAI_API_KEY");
        assert_eq!(variable("claude-sonnet-4-5", None), "ANTHROPIC_API_KEY");
        assert_eq!(variable("gemini-2.5-pro", None), "GEMINI_API_KEY");
        assert_eq!(variable("gpt-4o", Some("https://gpu.example/v1")), "BREADBOARD_MODEL_TOKEN");
    }

    #[test]
    fn a_setting_names_one_endpoint() {
        let cases = [
            (None, "claude-sonnet-4-5", None, Provider::Anthropic, "https://api.anthropic.com/v1/"),
            (None, "gpt-4o-mini", None, Provider::OpenAi, "https://api.openai.com/v1/"),
            (
                None,
                "gemini-2.5-pro",
                None,
                Provider::Gemini,
                "https://generativelanguage.googleapis.com/v1beta/",
            ),
            (None, "qwen3:8b", None, Provider::Ollama, "http://localhost:11434/"),
            (None, "gpt-oss-120b", None, Provider::Ollama, "http://localhost:11434/"),
            (None, "claude-x", Some("http://127.0.0.1:8000"), Provider::OpenAi, "http://127.0.0.1:8000/v1/"),
            (Some("OpenAI"), "x", Some("https://h/api/v2"), Provider::OpenAi, "https://h/api/v2/"),
            (Some("ollama"), "x", Some("http://box:11434/v1"), Provider::Ollama, "http://box:11434/"),
        ];
        for (provider, name, url, expected, base) in cases {
            assert_eq!(resolve(provider, name, url), Ok((expected, base.to_owned())), "{name} {url:?}");
        }
    }

    #[test]
    fn a_setting_that_names_none_is_refused_with_a_sentence() {
        for (provider, name, url) in [
            (Some("acme"), "x", None),
            (None, " ", None),
            (None, "x", Some("file:///etc/passwd")),
            (None, "x", Some("https://user:pass@h/")),
            (None, "x", Some("not a url")),
        ] {
            let refused = resolve(provider, name, url).unwrap_err();
            assert!(refused.message.ends_with('.') && !refused.message.contains("pass@"), "{refused:?}");
        }
    }

    #[test]
    fn only_this_machine_may_get_a_token_without_tls() {
        let may = |url: &str| {
            Target::resolve(&ModelChoice { provider: None, name: "x".to_owned(), url: Some(url.to_owned()) })
                .map(|target| target.may_carry_token())
        };
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:8/", true),
            ("https://example.org/", true),
            ("http://example.org/", false),
            ("http://localhost.example.org/", false),
            ("http://192.168.0.9/", false),
        ] {
            assert_eq!(may(url), Ok(expected), "{url}");
        }
    }
}
