//! The user's own settings file: who answers where no editor, option or variable says so (decision 0045).
//!
//! Owns where it lies, who may have written it, and how it is written. It names models, agents and addresses; no key is ever in it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::args::{ServerArgs, overrides};
use super::private_file;
use crate::protocol::settings::{Overrides, UserChoice};

/// Largest file that is read, in bytes: it holds two short objects.
const MOST_BYTES: u64 = 64 << 10;

/// Where the file lies, from the environment as `variable` gives it; `None` where that does not say where the user's home is.
pub(super) fn settings_path(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    // The XDG specification has relative paths ignored.
    let set = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        set("APPDATA")
    } else {
        set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))
    };
    base.map(|base| base.join("breadboard-ls").join("settings.json"))
}

/// What flags and environment state, with the choice of the user's file below them.
pub(super) fn with_user_choice(args: &ServerArgs, env: impl Fn(&str) -> Option<String>) -> Overrides {
    let flags = overrides(args, &env);
    Overrides { user: settings_path(&env).map(|path| read(&path)).unwrap_or_default(), ..flags }
}

/// The same for a command that speaks for no editor: the choice is then what holds.
pub(super) fn stated(args: &ServerArgs, env: impl Fn(&str) -> Option<String>) -> Overrides {
    let mut overrides = with_user_choice(args, env);
    if overrides.engine.is_none() && overrides.model.is_none() {
        overrides.engine = overrides.user.engine.clone();
        overrides.model = overrides.user.model.clone();
    }
    overrides
}

/// What the file says; what is wrong with it stands in the choice, which is then empty.
fn read(path: &Path) -> UserChoice {
    let read = document(path).and_then(|document| {
        let text = Value::Object(document);
        serde_json::from_value::<UserChoice>(text).map_err(|error| format!("does not fit ({error})"))
    });
    read.unwrap_or_else(|why| UserChoice {
        problem: Some(format!(
            "The settings file {} {why}, so nothing of it counts; mend it, or run `breadboard-ls setup`.",
            path.display()
        )),
        ..UserChoice::default()
    })
}

/// The whole document; empty where there is no file.
fn document(path: &Path) -> Result<Map<String, Value>, String> {
    use std::io::Read;
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(format!("cannot be read ({error})")),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let written_by_others = file.metadata().is_ok_and(|file| file.mode() & 0o022 != 0);
        if written_by_others {
            return Err("can be written by others".to_owned());
        }
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(|error| format!("cannot be read ({error})"))?;
    serde_json::from_str(&text).map_err(|error| format!("is no JSON object ({error})"))
}

/// Puts a choice into the file in place of the one there; everything else in it stays. Whoever reads it has the old or the new one.
///
/// # Errors
/// A sentence, when it cannot be written, or holds something that would be lost.
pub(super) fn keep(path: &Path, engine: Option<Value>, model: Option<Value>) -> Result<(), String> {
    let refused = |why: String| format!("The settings file {} {why}; nothing was changed.", path.display());
    let mut whole = document(path).map_err(refused)?;
    for (key, value) in [("engine", engine), ("model", model)] {
        match value {
            Some(value) => whole.insert(key.to_owned(), value),
            None => whole.remove(key),
        };
    }
    let text = format!("{:#}\n", Value::Object(whole));
    private_file::replace(path, &text).map_err(|error| refused(format!("cannot be written ({error})")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    #[cfg(unix)]
    fn the_file_lies_in_the_place_for_configurations_of_an_absolute_home() {
        let path = |pairs: &[(&str, &str)]| {
            settings_path(|name| pairs.iter().find(|(one, _)| *one == name).map(|(_, is)| (*is).to_owned()))
        };
        let at = |place: &str| Some(PathBuf::from(place));
        assert_eq!(path(&[("HOME", "/h")]), at("/h/.config/breadboard-ls/settings.json"));
        assert_eq!(path(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")]), at("/c/breadboard-ls/settings.json"));
        assert_eq!(
            path(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "c")]),
            at("/h/.config/breadboard-ls/settings.json")
        );
        assert_eq!(path(&[("HOME", "h")]), None);
    }

    #[test]
    fn a_choice_takes_the_place_of_the_one_before_and_of_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new").join("settings.json");
        assert_eq!(read(&path), UserChoice::default());
        keep(&path, None, Some(json!({ "provider": "ollama", "name": "qwen3" }))).unwrap();
        let mut text: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(text, json!({ "model": { "provider": "ollama", "name": "qwen3" } }));
        text["mine"] = json!(1);
        std::fs::write(&path, text.to_string()).unwrap();
        keep(&path, Some(json!({ "kind": "acp", "name": "opencode" })), None).unwrap();
        let text: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(text, json!({ "mine": 1, "engine": { "kind": "acp", "name": "opencode" } }));
        assert_eq!(read(&path).engine.and_then(|engine| engine.name).as_deref(), Some("opencode"));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no other file is left");
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_is_wrong_or_that_others_may_write_counts_for_nothing_and_is_not_written_over() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        for (text, mode, said) in [
            ("[1]", 0o600, "is no JSON object"),
            ("{\"model\":{}}", 0o600, "does not fit"),
            ("{}", 0o620, "can be written by others"),
        ] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let choice = read(&path);
            assert_eq!((choice.engine, choice.model), (None, None));
            let problem = choice.problem.unwrap();
            assert!(problem.contains(said), "{problem}");
        }
        assert!(keep(&path, None, None).unwrap_err().ends_with("nothing was changed."));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
    }
}
