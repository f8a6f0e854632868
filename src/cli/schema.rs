//! `breadboard-ls schema`: the JSON schemas of the wire as files.
//!
//! Owns where they go. Never makes one: `contract` has them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use super::args::SchemaArgs;
use super::exit::Exit;
use super::printed::print;

/// The index of all schemas.
const INDEX: &str = "meta.json";

/// Writes every schema, or prints the index.
pub(super) fn schema(args: &SchemaArgs, files: BTreeMap<String, String>) -> Exit {
    let done = if args.out == Path::new("-") { print_index(&files) } else { write_all(&files, &args.out) };
    match done {
        Ok(text) => print(text.as_bytes(), Exit::Done),
        Err(sentence) => {
            let _ = writeln!(std::io::stderr(), "breadboard-ls: {sentence}");
            Exit::Failed
        }
    }
}

fn print_index(files: &BTreeMap<String, String>) -> Result<String, String> {
    Ok(files.get(INDEX).ok_or("This build has no index of schemas; report it.")?.clone())
}

fn write_all(files: &BTreeMap<String, String>, out: &Path) -> Result<String, String> {
    for (name, text) in files {
        let path = out.join(name);
        let folder = path.parent().unwrap_or(out);
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text)).map_err(|error| {
            format!("{} could not be written: {error}; choose another --out.", path.display())
        })?;
    }
    Ok(format!("{} schemas written to {}\n", files.len(), out.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_becomes_a_file_and_the_index_is_printed() {
        let place = tempfile::tempdir().expect("a folder");
        let out = place.path().join("new");
        let (index, one) = ("{\n  \"v\": 1\n}\n".to_owned(), "{}\n".to_owned());
        let files =
            BTreeMap::from([(INDEX.to_owned(), index.clone()), ("bb/x.json".to_owned(), one.clone())]);
        assert_eq!(write_all(&files, &out), Ok(format!("2 schemas written to {}\n", out.display())));
        assert_eq!(std::fs::read_to_string(out.join(INDEX)).expect("is there"), index);
        assert_eq!(std::fs::read_to_string(out.join("bb/x.json")).expect("is there"), one);
        assert_eq!(print_index(&files), Ok(index));
        assert!(print_index(&BTreeMap::new()).is_err());
    }
}
