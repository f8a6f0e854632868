//! What an agent needs before it works: a sentence for a person, and the same as data.
//!
//! Owns the words and which of an agent's ways to log in are told. Never logs in.

use super::agent::Agent;
use super::presets::preset_of;
use super::sentence::one_line;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::decode::AcpError;
use crate::domain::dialect::acp::results::AuthMethod;
use crate::domain::remedy::{Login, LoginBy, LoginMethod, Remedy, Retry, RetryWhen};

impl Agent {
    /// The refusal until somebody has logged in: for a known agent what to type, else what it says itself.
    pub(super) fn login(&self, error: &AcpError) -> CodedError {
        let methods = &self.process.hello().auth_methods;
        let known = preset_of(&self.line.program).map(|preset| preset.first_use);
        let how = match known.and_then(|first_use| first_use.how_to_log_in()) {
            Some(how) => format!("log in {how}"),
            None if methods.is_empty() => format!("it says: {}", one_line(&error.message)),
            None => {
                let ways: Vec<String> = methods.iter().map(words).collect();
                format!("choose {}", ways.join(", or "))
            }
        };
        let text = format!("The agent `{}` wants a login first; {how}.", self.name());
        let methods: Vec<LoginMethod> = methods.iter().map(told).collect();
        let login = match known {
            Some(first_use) => first_use.login(methods),
            None => Login { methods, ..Login::default() },
        };
        let retry = Some(Retry::not_taken(RetryWhen::Changed));
        let remedy = Remedy { retry, login: Some(login.cut()) };
        CodedError::new(ErrorCode::EngineUnauthorized, text).with_remedy(remedy)
    }
}

fn words(method: &AuthMethod) -> String {
    let name = name_of(method);
    let what = method.description.as_deref().map(one_line).filter(|text| !text.is_empty());
    let what = what.map(|text| format!(": {text}")).unwrap_or_default();
    match by(method) {
        LoginBy::Terminal => format!("“{name}” in a terminal{what}"),
        LoginBy::Agent => format!("“{name}”{what}"),
    }
}

fn told(method: &AuthMethod) -> LoginMethod {
    let by = by(method);
    let description = method.description.as_deref().map(str::trim).filter(|text| !text.is_empty());
    LoginMethod {
        id: method.id.clone(),
        name: name_of(method),
        description: description.map(str::to_owned),
        by,
        // Agents name it in their prose, as code.
        command: description.filter(|_| by == LoginBy::Terminal).and_then(code_in).map(str::to_owned),
    }
}

fn by(method: &AuthMethod) -> LoginBy {
    if method.kind.as_deref() == Some("terminal") { LoginBy::Terminal } else { LoginBy::Agent }
}

fn name_of(method: &AuthMethod) -> String {
    one_line(if method.name.trim().is_empty() { &method.id } else { &method.name })
}

/// The first code between backticks.
fn code_in(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once('`')?;
    let (code, _) = behind.split_once('`')?;
    let code = code.trim();
    (!code.is_empty() && !code.contains('\n')).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str, description: Option<&str>, kind: Option<&str>) -> AuthMethod {
        AuthMethod {
            id: "key".to_owned(),
            name: name.to_owned(),
            description: description.map(str::to_owned),
            kind: kind.map(str::to_owned),
        }
    }

    #[test]
    fn a_way_of_an_agent_is_told_with_the_command_that_it_names() {
        let row = |method: &AuthMethod| {
            let LoginMethod { name, by, command, .. } = told(method);
            (words(method), name, by, command)
        };
        let text = str::to_owned;
        assert_eq!(
            row(&method("API key", None, None)),
            (text("“API key”"), text("API key"), LoginBy::Agent, None)
        );
        // What the agent does itself nobody types, whatever its prose has as code.
        assert_eq!(
            row(&method(" ", Some("uses `KEY`"), None)),
            (text("“key”: uses `KEY`"), text("key"), LoginBy::Agent, None)
        );
        assert_eq!(
            row(&method("Log in", Some("Run `sim login`."), Some("terminal"))),
            (
                text("“Log in” in a terminal: Run `sim login`"),
                text("Log in"),
                LoginBy::Terminal,
                Some(text("sim login"))
            )
        );
        assert_eq!(row(&method("Log in", Some("Run ``."), Some("terminal"))).3, None);
    }
}
