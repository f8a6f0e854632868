//! The views of every fixture and of 1,200 seeded sessions are those of the build before.
//!
//! What they are is kept as digests in `tests/fixtures/view_digests.json`, one of the fixtures and one of each dialect, so a change
//! that moves a view has to say so: `BREADBOARD_UPDATE=1 cargo test --package breadboard-core --test view_streams` writes them anew. Where they differ,
//! `BREADBOARD_VIEWS=<file>` has the sessions written there, one a line; two builds' files are compared with `diff`.

mod seeded;
mod views;

use std::path::Path;

use serde_json::{Value, json};

#[test]
fn views_are_those_of_the_build_before() {
    let groups = views::lines();
    if let Some(file) = std::env::var_os("BREADBOARD_VIEWS") {
        let all: Vec<&str> = groups.iter().flat_map(|(_, lines)| lines).map(String::as_str).collect();
        std::fs::write(file, all.concat()).unwrap();
    }
    let sessions: usize = groups.iter().map(|(_, lines)| lines.len()).sum();
    assert!(sessions > 1_200, "{sessions} sessions were read and made");
    let now: Value =
        groups.iter().map(|(name, lines)| (name.to_string(), json!(views::digest(lines)))).collect();

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/view_digests.json");
    if std::env::var_os("BREADBOARD_UPDATE").is_some() {
        std::fs::write(&path, format!("{now:#}\n")).unwrap();
    }
    let kept: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(
        now, kept,
        "views changed. Name the difference in the commit, and write the digests anew: \
         BREADBOARD_UPDATE=1 cargo test --package breadboard-core --test view_streams"
    );
}

#[test]
fn another_view_is_another_digest() {
    let line = "desktop-0\t00\t[]\t{}\t[]\n".to_owned();
    let other = line.replace("{}", "{\"main\":[]}");
    assert_ne!(views::digest(&[line]), views::digest(&[other]));
}
