//! A command of the user for a session of an agent: its names and their arguments.

use serde_json::{Map, Value};

use crate::domain::dialect::acp::encode::ConfigValue;
use crate::protocol::{ErrorCode, WireError};

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

impl Command {
    /// Reads a command by its name.
    ///
    /// # Errors
    /// There is no such command, or its arguments do not fit.
    pub(super) fn read(name: &str, args: &Map<String, Value>) -> Result<Self, WireError> {
        let text = |field: &str| {
            let value = args.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            value.map(str::to_owned).ok_or_else(|| {
                WireError::new(
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
            _ => Err(WireError::new(
                ErrorCode::Unsupported,
                "An agent has no such command; there are `set_mode`, `set_config_option`, `set_model`, \
                 `authenticate` and `logout`.",
            )),
        }
    }

    /// Whether it is for the agent and not for one session.
    pub(super) fn is_for_the_agent(&self) -> bool {
        matches!(self, Self::Authenticate(_) | Self::Logout)
    }
}
