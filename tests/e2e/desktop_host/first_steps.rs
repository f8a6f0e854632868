//! What whoever starts a host for the first time does wrong, and the sentence that says what to do.

use std::process::Output;
use std::sync::Arc;

use tempfile::TempDir;

use super::{Host, command};
use crate::breadboard_desk::connected;
use crate::desktop_desk::{chosen, last_text};
use crate::harness::Server;
use crate::model::{Model, says};

fn place() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A host that does not come to serve anything.
fn refused(workspace: &TempDir, state: &TempDir, words: &[&str]) -> String {
    let Output { status, stderr, .. } =
        command(workspace, state).args(words).output().expect("the program runs");
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(status.code(), Some(2), "{said}");
    said
}

#[test]
fn a_second_host_of_the_same_folder_is_refused_until_the_first_is_gone() {
    let model = Model::start(Vec::new());
    let host = Host::of(&model);
    let said = refused(&host.workspace, &host.state, &["--listen=127.0.0.1:0"]);
    assert!(
        said.contains("with this state directory already; use that one, end it, or give this one"),
        "{said}"
    );
    // Another folder, or another directory of its own, is another host's.
    let (workspace, state) = (Arc::clone(&host.workspace), Arc::clone(&host.state));
    let other = Host::with(Arc::clone(&workspace), Arc::new(place()), &[]);
    let beside = Host::with(Arc::new(place()), Arc::clone(&state), &[]);
    drop((other, beside, host));
    Host::with(workspace, state, &[]);
}

#[test]
fn addresses_and_folders_that_are_none_are_said_and_how_they_are_written() {
    let said = refused(&place(), &place(), &["--listen=example.com:80"]);
    assert!(said.contains("give both, as 127.0.0.1:3199, or a port alone"), "{said}");
    let gone = place();
    std::fs::remove_dir(gone.path()).expect("is removed");
    let said = refused(&gone, &place(), &["--listen=127.0.0.1:0"]);
    assert!(said.contains("name a folder that is there with --workspace."), "{said}");
    let host = Host::with(Arc::new(place()), Arc::new(place()), &["--listen=localhost:0".to_owned()]);
    assert!(host.url.starts_with("http://127.0.0.1:"), "{}", host.url);
}

#[test]
fn an_address_that_was_copied_from_a_route_leads_to_the_host() {
    let model = Model::start(vec![says("Here I am.")]);
    let host = Host::of(&model);
    let options = chosen(&format!("{}/v1/", host.url), true)
        .env("BREADBOARD_API_TOKEN", &host.token)
        .env("NO_PROXY", "127.0.0.1");
    let mut server = Server::start_in(Arc::clone(&host.workspace), Arc::new(place()), options);
    server.shake_hands();
    connected(&server);
    let session = server.session();
    server.prompt(&session, "Where are you?");
    server.wait_end(&session);
    assert_eq!(last_text(&mut server, &session, "assistant").as_deref(), Some("Here I am."));
}
