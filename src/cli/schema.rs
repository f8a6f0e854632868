//! `breadboard-ls schema`: the JSON schemas of the wire as files.
//!
//! Owns where they go. Never makes one: `protocol::schema` does.

use std::io::Write;
use std::path::Path;

use super::args::SchemaArgs;
use super::exit::Exit;
use crate::protocol::schema;

/// The index of all schemas.
const INDEX: &str = "meta.json";

/// Writes every schema, or prints the index.
pub fn schema(args: &SchemaArgs) -> Exit {
    let done = if args.out == Path::new("-") { print_index() } else { write_all(&args.out) };
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

fn print_index() -> Result<String, String> {
    let index = schema::files().remove(INDEX).ok_or("This build has no index of schemas; report it.")?;
    pretty(&index)
}

fn write_all(out: &Path) -> Result<String, String> {
    let files = schema::files();
    for (name, value) in &files {
        let path = out.join(name);
        let folder = path.parent().unwrap_or(out);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, pretty(value).map_err(std::io::Error::other)?))
            .map_err(|error| format!("{} could not be written: {error}; choose another --out.", path.display()))?;
    }
    Ok(format!("{} schemas written to {}\n", files.len(), out.display()))
}

fn pretty(value: &serde_json::Value) -> Result<String, String> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| format!("A schema is broken: {error}."))
}
