//! The Node peers: built once into the target directory, so that the checkout stays clean.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::client::{Program, built};

/// Set once everything is built.
static BUILT: OnceLock<()> = OnceLock::new();

fn place() -> PathBuf {
    built().join("node_peer")
}

/// A script of the peer's; `None` where it was not built.
fn script(name: &str) -> Option<Command> {
    BUILT.get()?;
    let mut command = Command::new("node");
    command.arg(place().join("dist").join(name));
    Some(command)
}

/// The peer on a stream, with a journal where one is named. `None` also where there is no SQLite for Node.
pub fn http(url: &str, journal: Option<PathBuf>) -> Option<Command> {
    let mut command = script("http.js")?;
    command.arg(url);
    if let Some(journal) = journal {
        let binding = place().join("node_modules/better-sqlite3/build/Release/better_sqlite3.node");
        if !binding.exists() {
            eprintln!("There is no Node peer with a journal: better-sqlite3 could not be installed.");
            return None;
        }
        command.arg(journal);
    }
    Some(command)
}

/// Events a second of the peer on the bytes of a file, once a round.
pub fn ingest(file: &Path, rounds: usize) -> Option<Vec<f64>> {
    let output = script("ingest.js")?.arg(file).arg(rounds.to_string()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let rates: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    (rates.len() == rounds).then_some(rates)
}

/// Builds all peers where that was not done yet.
pub fn build() -> Result<Vec<Program>, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("node_peer");
    let built = place();
    std::fs::create_dir_all(&built).map_err(|error| error.to_string())?;
    let mut changed = false;
    for name in
        ["package.json", ".npmrc", "answers.js", "jsonrpc.js", "languageserver.js", "http.js", "ingest.js"]
    {
        let text = std::fs::read(source.join(name)).map_err(|error| format!("{name}: {error}"))?;
        if std::fs::read(built.join(name)).ok().as_ref() != Some(&text) {
            std::fs::write(built.join(name), text).map_err(|error| format!("{name}: {error}"))?;
            changed = true;
        }
    }
    let bundles: Vec<PathBuf> =
        ["jsonrpc.js", "languageserver.js"].map(|name| built.join("dist").join(name)).to_vec();
    if changed || !bundles.iter().all(|bundle| bundle.exists()) {
        for arguments in [&["install"][..], &["run", "build"][..]] {
            let status = Command::new("npm")
                .args(arguments)
                .current_dir(&built)
                .stdout(Stdio::null())
                .status()
                .map_err(|error| format!("npm does not run: {error}"))?;
            if !status.success() {
                return Err(format!("`npm {}` failed in {}", arguments.join(" "), built.display()));
            }
        }
    }
    let _ = BUILT.set(());
    Ok(bundles
        .into_iter()
        .map(|bundle| Program { program: "node".into(), arguments: vec![bundle.into_os_string()] })
        .collect())
}
