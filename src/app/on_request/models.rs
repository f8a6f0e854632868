//! `bb/models/*` and `bb/setCredentials`.
//!
//! Owns what is checked of them before an engine or an endpoint hears of it, and that no token stays readable.

use crate::app::inbox::Reply;
use crate::app::ports::{EngineCall, ModelEndpoint, Secret};
use crate::app::record::Record;
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::policy::provider::provider_of;
use crate::domain::policy::token::{NoToken, token_in};
use crate::protocol::request::*;
use crate::protocol::settings::{EngineKind, ModelSetting};

const PROVIDERS: [&str; 4] = ["openai", "anthropic", "gemini", "ollama"];

/// Whether this can be an address at all; the engine reads it in full when it calls.
fn names_a_web_address(url: &str) -> bool {
    url.trim().split_once("://").is_some_and(|(scheme, rest)| {
        ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
            && rest.starts_with(|first: char| first.is_alphanumeric() || first == '[')
    })
}

impl App {
    pub(in crate::app) fn models_list(&mut self, reply: Reply<ModelsResult>) {
        let chosen = self.chosen_model.as_ref().map(|model| model.name.clone());
        match &self.engines.main {
            Ok(engine) => engine.call(EngineCall::ListModels { chosen, reply }),
            Err(error) => reply.refuse(error.clone()),
        }
    }

    pub(in crate::app) fn models_set(&mut self, setting: ModelSetting) -> Result<ModelsResult, CodedError> {
        if setting.name.trim().is_empty() {
            return Err(CodedError::new(ErrorCode::InvalidParams, "The model needs a `name`."));
        }
        // An engine that runs the turns itself has its own providers, and its list of models names them.
        if let Some(provider) = &setting.provider
            && self.names_models_by_provider()
            && !PROVIDERS.contains(&provider.as_str())
        {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                format!("There is no such provider; choose one of {}.", PROVIDERS.join(", ")),
            ));
        }
        if setting.url.as_deref().is_some_and(|url| !names_a_web_address(url)) {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                "The `url` is not an http or https URL; give the base URL of the model's endpoint.",
            ));
        }
        self.engines.main.as_ref().map_err(Clone::clone)?;
        self.chosen_model = Some(setting);
        self.tell_model();
        Ok(ModelsResult { models: Vec::new(), current: self.current_model() })
    }

    pub(in crate::app) fn models_providers(&self) -> ProvidersResult {
        ProvidersResult { providers: self.models.providers() }
    }

    /// Whichever engine is in use: one may be about to be chosen.
    pub(in crate::app) fn models_check(
        &mut self,
        params: ModelsCheckParams,
        reply: Reply<ModelsCheckResult>,
    ) {
        let ModelsCheckParams { provider, name, url, token } = params;
        match self.hidden_token(token.as_deref()) {
            Ok(token) => self.models.check(ModelEndpoint { provider, name, url, token }, reply),
            Err(error) => reply.refuse(error),
        }
    }

    pub(in crate::app) fn set_credentials(
        &mut self,
        params: SetCredentialsParams,
    ) -> Result<Empty, CodedError> {
        let token = self.hidden_token(params.token.as_deref())?;
        if let Some(agents) = &self.engines.agents {
            agents.call(EngineCall::SetToken { scope: params.scope, token: token.clone() });
        }
        let engine = self.engines.main.as_ref().map_err(Clone::clone)?;
        engine.call(EngineCall::SetToken { scope: params.scope, token });
        Ok(Empty {})
    }

    /// A token that came, as a header can carry it; from here on it is replaced in everything that leaves.
    fn hidden_token(&mut self, text: Option<&str>) -> Result<Option<Secret>, CodedError> {
        let token = token_in(text.unwrap_or_default()).map_err(|NoToken| {
            CodedError::new(
                ErrorCode::InvalidParams,
                "The token has a line end or another control character in its middle, and none was set; copy it again, as one line.",
            )
        })?;
        let token = token.map(|token| Secret(token.to_owned()));
        self.hide(token.iter().cloned());
        Ok(token)
    }

    /// What was chosen, or else what is set.
    fn model_in_use(&self) -> Option<&ModelSetting> {
        self.chosen_model.as_ref().or(self.settings.model.as_ref())
    }

    /// The model of the next turn of a session: its own, or else what was chosen. The setting is the embedded engine's.
    pub(in crate::app) fn model_of(&self, record: &Record) -> Option<ModelSetting> {
        let general = match record.engine {
            EngineKind::Embedded => self.model_in_use(),
            EngineKind::Breadboard | EngineKind::Acp | EngineKind::Desktop => self.chosen_model.as_ref(),
        };
        let Some(name) = record.model.clone() else { return general.cloned() };
        let general = general.cloned().unwrap_or_default();
        if general.name == name {
            return Some(general);
        }
        // What a model can and costs is another's.
        let ModelSetting { provider, url, effort, temperature, .. } = general;
        Some(ModelSetting { provider, name, url, effort, temperature, ..ModelSetting::default() })
    }

    /// Who answers a prompt in this session, in a word: the name of its agent or the kind of its engine; and the model, where it
    /// is known.
    pub(in crate::app) fn answerer_of(&self, record: &Record) -> (String, Option<String>) {
        let held = record.held.as_ref();
        match held.and_then(|held| held.agent.clone()) {
            Some(agent) => {
                let snapshot = held.and_then(|held| held.snapshot.as_deref());
                (agent, snapshot.and_then(|snapshot| snapshot.state.model()).map(str::to_owned))
            }
            None => (record.engine.as_str().to_owned(), self.model_of(record).map(|model| model.name)),
        }
    }

    /// Tells the engine that calls the models itself which is in use between turns.
    pub(in crate::app) fn tell_model(&self) {
        if let Ok(engine) = &self.engines.main
            && engine.kind() == EngineKind::Embedded
        {
            engine.call(EngineCall::SetModel(self.model_in_use().cloned()));
        }
    }

    /// Whether we call the models; an engine that calls them knows its own by one id.
    fn names_models_by_provider(&self) -> bool {
        match self.settings.engine.kind {
            EngineKind::Breadboard | EngineKind::Desktop => false,
            EngineKind::Embedded | EngineKind::Acp => true,
        }
    }

    /// `provider/name` of the model in use, or the id that the engine has for it.
    pub(in crate::app) fn current_model(&self) -> Option<String> {
        self.model_in_use().map(|model| match &model.provider {
            _ if !self.names_models_by_provider() => model.name.clone(),
            Some(provider) => format!("{provider}/{}", model.name),
            None => format!("{}/{}", provider_of(&model.name, model.url.is_some()), model.name),
        })
    }
}
