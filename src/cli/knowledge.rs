//! What the checks of `doctor` know of other rooms, as functions.

use std::path::PathBuf;

use url::Url;

use crate::protocol::settings::ModelSetting;

/// What the doctor asks of the rooms that know. Functions, so that its tests need none of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knowledge {
    /// The state directory that holds for a given `--state-dir`.
    pub state_dir: fn(Option<&str>) -> Option<PathBuf>,
    /// The base URL to which a model setting leads, or why it leads nowhere.
    pub model_base: fn(&ModelSetting) -> Result<Url, String>,
    /// The known agents that are on a `PATH`.
    pub agents_on: fn(&str) -> Vec<&'static str>,
}
