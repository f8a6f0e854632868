//! The Node peers: built once into the target directory, so that the checkout stays clean.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::client::Program;

/// Builds both peers where that was not done yet.
pub fn build() -> Result<Vec<Program>, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches").join("node_peer");
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node_peer");
    std::fs::create_dir_all(&built).map_err(|error| error.to_string())?;
    let mut changed = false;
    for name in ["package.json", ".npmrc", "answers.js", "jsonrpc.js", "languageserver.js"] {
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
    Ok(bundles
        .into_iter()
        .map(|bundle| Program { program: "node".into(), arguments: vec![bundle.into_os_string()] })
        .collect())
}
