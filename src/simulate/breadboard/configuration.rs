//! Which configurations the engine has.
//!
//! Owns the rule and the sentence of the refusal. Never reads one.

use std::path::Path;

/// Relative paths start at the engine's own directory, which has every configuration below this folder.
const FOLDER: &str = "agent_configs/";

/// Looks for a configuration. The refusal is what the engine's language says of a file that is not there.
pub(super) fn read(path: &str) -> Result<(), String> {
    if path.starts_with(FOLDER) || (Path::new(path).is_absolute() && Path::new(path).is_file()) {
        return Ok(());
    }
    Err(format!("[Errno 2] No such file or directory: '{path}'"))
}
