//! A command of the user for a session of an agent: its names and their arguments.

use serde_json::{Map, Value};

use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::commands::COMMANDS;
use crate::domain::dialect::acp::encode::ConfigValue;

/// One command, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// `set_mode { modeId }`.
    Mode(String),
    /// `set_config_option { configId, value }`.
    Option(String, ConfigValue),
    /// `set_model { model }`: the option of the category `model`.
    Model(String),
    /// `authenticate { methodId }`.
    Authenticate(String),
    /// `logout`.
    Logout,
}

/// The refusal of another name, with those that there are.
fn no_such() -> CodedError {
    let names: Vec<String> = COMMANDS.iter().map(|command| format!("`{}`", command.name)).collect();
    let names = names.join(", ");
    CodedError::new(ErrorCode::Unsupported, format!("An agent has no such command; there are {names}."))
}

impl Command {
    /// Reads a command by its name.
    ///
    /// # Errors
    /// There is no such command, or its arguments do not fit.
    pub(super) fn read(name: &str, args: &Map<String, Value>) -> Result<Self, CodedError> {
        let text = |field: &str| {
            let value = args.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            value.map(str::to_owned).ok_or_else(|| {
                CodedError::new(
                    ErrorCode::InvalidParams,
                    format!("The command `{name}` needs the text `{field}` in its `args`."),
                )
            })
        };
        match name.trim() {
            "set_mode" => Ok(Self::Mode(text("modeId")?)),
            "set_config_option" => {
                let value = match args.get("value") {
                    Some(Value::Bool(switch)) => ConfigValue::Switch(*switch),
                    _ => ConfigValue::Choice(text("value")?),
                };
                Ok(Self::Option(text("configId")?, value))
            }
            "set_model" => Ok(Self::Model(text("model")?)),
            "authenticate" => Ok(Self::Authenticate(text("methodId")?)),
            "logout" => Ok(Self::Logout),
            _ => Err(no_such()),
        }
    }

    /// Whether it is for the agent and not for one session.
    pub(super) fn is_for_the_agent(&self) -> bool {
        matches!(self, Self::Authenticate(_) | Self::Logout)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_command_of_the_document_is_read_with_its_args_and_no_other_one() {
        for command in &COMMANDS {
            let args: Map<String, Value> =
                command.args.iter().map(|(name, _)| ((*name).to_owned(), json!("x"))).collect();
            assert!(Command::read(command.name, &args).is_ok(), "{}", command.name);
            for (missing, _) in command.args {
                let mut fewer = args.clone();
                fewer.remove(*missing);
                let refused = Command::read(command.name, &fewer).unwrap_err();
                assert_eq!(
                    refused.message,
                    format!("The command `{}` needs the text `{missing}` in its `args`.", command.name)
                );
            }
        }
        let refused = Command::read("dance", &Map::new()).unwrap_err();
        assert_eq!(
            (refused.code, refused.message.as_str()),
            (
                ErrorCode::Unsupported,
                "An agent has no such command; there are `set_mode`, `set_model`, `set_config_option`, `authenticate`, \
                 `logout`."
            )
        );
    }
}
