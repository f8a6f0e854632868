//! `breadboard-ls schema`: the JSON schemas of the wire as files.
//!
//! Owns where they go. Never makes one: `protocol::schema` does.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde_json::Value;

use super::args::SchemaArgs;
use super::exit::Exit;

/// The index of all schemas.
const INDEX: &str = "meta.json";

/// Writes every schema, or prints the index.
pub(super) fn schema(args: &SchemaArgs, files: BTreeMap<String, Value>) -> Exit {
    let done = if args.out == Path::new("-") { print_index(&files) } else { write_all(&files, &args.out) };
    match done {
        Ok(text) => {
            // A reader that has gone away has what it wanted.
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
            Exit::Done
        }
        Err(sentence) => {
            let _ = writeln!(std::io::stderr(), "breadboard-ls: {sentence}");
            Exit::Failed
        }
    }
}

fn print_index(files: &BTreeMap<String, Value>) -> Result<String, String> {
    let index = files.get(INDEX).ok_or("This build has no index of schemas; report it.")?;
    pretty(index)
}

fn write_all(files: &BTreeMap<String, Value>, out: &Path) -> Result<String, String> {
    for (name, value) in files {
        let path = out.join(name);
        let folder = path.parent().unwrap_or(out);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, pretty(value).map_err(std::io::Error::other)?))
            .map_err(|error| {
                format!("{} could not be written: {error}; choose another --out.", path.display())
            })?;
    }
    Ok(format!("{} schemas written to {}\n", files.len(), out.display()))
}

fn pretty(value: &Value) -> Result<String, String> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| format!("A schema is broken: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_schema_becomes_a_file_and_ends_in_a_newline() {
        let place = tempfile::tempdir().expect("a folder");
        let out = place.path().join("new");
        let files =
            BTreeMap::from([(INDEX.to_owned(), json!({"v": 1})), ("bb/x.json".to_owned(), json!({}))]);
        assert!(write_all(&files, &out).expect("is written").starts_with("2 schemas"));
        assert_eq!(std::fs::read_to_string(out.join(INDEX)).expect("is there"), "{\n  \"v\": 1\n}\n");
        assert_eq!(std::fs::read_to_string(out.join("bb/x.json")).expect("is there"), "{}\n");
        assert_eq!(print_index(&files).expect("is there"), "{\n  \"v\": 1\n}\n");
        assert!(print_index(&BTreeMap::new()).is_err());
    }
}
