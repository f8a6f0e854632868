//! A spec that is written, killed, opened again and sent, with real files (seed 004).

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Server, uri};
use crate::model::{Model, says};

/// What a PNG begins with: a small image is shown as it is, and its type is told by that.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

fn file(dir: &Path, name: &str, bytes: &[u8]) -> String {
    std::fs::write(dir.join(name), bytes).unwrap();
    uri(&dir.join(name))
}

fn submission(description: &str, images: &[&Value]) -> Value {
    let uris: Vec<&Value> = images.iter().map(|image| &image["uri"]).collect();
    json!({ "description": description, "imageUris": uris })
}

#[test]
fn r004_05_r004_33_r004_46_a_spec_survives_a_kill_and_goes_to_the_model_with_its_images() {
    let model = Model::start(vec![says("understood")]);
    let (workspace, state) = (Arc::new(TempDir::new().unwrap()), Arc::new(TempDir::new().unwrap()));
    let elsewhere = TempDir::new().unwrap();
    let mut server = Server::start_in(Arc::clone(&workspace), Arc::clone(&state), model.chosen(false));
    server.shake_hands();
    assert_eq!(server.ask("bb/createSpec/ready", json!({})), json!({ "shouldFocusPrimaryField": true }));
    let saved = server.ask("bb/createSpec/autosave", json!({ "description": "Build a bridge." }));
    let noise = noise(900, 600);
    let uris = [
        file(elsewhere.path(), "plan 1.png", PNG),
        file(elsewhere.path(), "photo.jpg", &noise),
        file(elsewhere.path(), "drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
    ];
    let picked = json!({ "uris": uris, "currentCount": 0 });
    let attached = server.ask("bb/createSpec/attachImages", picked);
    let images = attached["images"].as_array().expect("images").clone();
    let shown = |key: &str| -> Vec<Value> { images.iter().map(|image| image[key].clone()).collect() };
    assert_eq!(shown("uri"), uris);
    assert_eq!(shown("name"), ["plan 1.png", "photo.jpg", "drawing.svg"]);
    assert_eq!(images[0]["dataUrl"], "data:image/png;base64,iVBORw0KGgpyZXN0");
    let thumbnail = images[1]["dataUrl"].as_str().expect("a data URL");
    assert!(noise.len() > 262_144 && thumbnail.starts_with("data:image/png;base64,"));
    assert!(images[2]["dataUrl"].as_str().is_some_and(|url| url.starts_with("data:image/svg+xml;base64,")));
    server.kill();

    let mut server = Server::start_in(workspace, state, model.chosen(false));
    server.shake_hands();
    let draft =
        json!({ "formData": { "description": "Build a bridge." }, "lastUpdated": saved["lastUpdated"] });
    let init = json!({ "draft": draft, "shouldFocusPrimaryField": true });
    assert_eq!(server.ask("bb/createSpec/ready", json!({})), init);
    let session = server.session();
    let sent = submission(" Build a bridge of stone.\n", &[&images[1], &images[0]]);
    let sent = server.ask("bb/createSpec/submit", sent);
    assert_eq!((&sent["sessionId"], &sent["disposition"]), (&json!(session), &json!("started")));
    let asked = model.asked().body["messages"].to_string();
    for part in ["Build a bridge of stone.", "photo.jpg", "plan 1.png"] {
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
    server.wait_end(&session);
    let events = server.events(&session);
    let prompt = events.iter().find(|event| event["type"] == "local.prompt").expect("a prompt");
    assert_eq!(prompt["payload"]["text"], "Build a bridge of stone.");
    assert_eq!(prompt["payload"]["attachmentIds"].as_array().map(Vec::len), Some(2));
    // The bytes went whole, not the thumbnail.
    let kept: Vec<Vec<u8>> = std::fs::read_dir(server.state.path().join("attachments"))
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect();
    assert!(kept.len() == 2 && kept.contains(&noise) && kept.contains(&PNG.to_vec()), "{}", kept.len());
    assert_eq!(server.ask("bb/createSpec/ready", json!({})), json!({ "shouldFocusPrimaryField": true }));
}

#[test]
fn r004_21_r004_40_r004_41_r004_50_files_that_are_picked_are_read_or_refused_in_the_words_of_the_seed() {
    let model = Model::start(vec![]);
    let mut server = Server::ready(model.chosen(false));
    let dir = TempDir::new().unwrap();
    for (name, bytes, then) in [
        ("spec.md", &b"\xef\xbb\xbf# Spec\r\n"[..], json!({ "content": "# Spec\r\n" })),
        ("wide.md", b"\xff\xfe#\0", json!({ "content": "#" })),
        ("empty.md", b"", json!({ "content": "", "warning": "The selected file is empty." })),
        ("edge.md", vec![b'a'; 524_288].as_slice(), json!({ "content": "a".repeat(524_288) })),
        ("large.md", vec![b'a'; 524_289].as_slice(), json!({ "error": "File exceeds the 512 KB limit." })),
        ("spec.txt", b"x", json!({ "error": "Only Markdown files (.md) can be imported." })),
    ] {
        let params = json!({ "uri": file(dir.path(), name, bytes) });
        assert_eq!(server.ask("bb/createSpec/importMarkdown", params), then, "{name}");
    }
    let failed = json!({ "error": "Failed to read the selected file." });
    std::fs::create_dir(dir.path().join("folder.md")).unwrap();
    for name in ["missing.md", "folder.md"] {
        let params = json!({ "uri": uri(&dir.path().join(name)) });
        assert_eq!(server.ask("bb/createSpec/importMarkdown", params), failed, "{name}");
    }
    let good = file(dir.path(), "good.png", PNG);
    for (bytes, then) in [
        (&b"text"[..], "One or more files are not valid image files."),
        (vec![0; 10_485_761].as_slice(), "One or more files exceed the 10 MB size limit."),
    ] {
        let uris = [good.clone(), file(dir.path(), "bad.png", bytes)];
        let params = json!({ "uris": uris, "currentCount": 0 });
        assert_eq!(server.ask("bb/createSpec/attachImages", params), json!({ "error": then }));
    }
    let params = json!({ "uris": [uri(&dir.path().join("missing.png"))], "currentCount": 0 });
    let failed = json!({ "error": "Failed to read one or more image files." });
    assert_eq!(server.ask("bb/createSpec/attachImages", params), failed);
    // Beyond the cap nothing is read, so nothing is wrong with it.
    let uris = [good, uri(&dir.path().join("missing.png"))];
    let capped = server.ask("bb/createSpec/attachImages", json!({ "uris": uris, "currentCount": 4 }));
    assert_eq!((capped["images"].as_array().map(Vec::len), &capped["capped"]), (Some(1), &json!(true)));
}

#[test]
fn a_thin_host_passes_the_form_through_in_envelopes() {
    let model = Model::start(vec![]);
    let mut server = Server::ready(model.chosen(false));
    let mut call = |id: &str, method: &str, params: Value| {
        let envelope = json!({ "v": 1, "kind": "req", "id": id, "method": method, "params": params });
        server.ask("bb/rpc", envelope)
    };
    call("1", "bb.createSpec.autosave", json!({ "description": "text" }));
    let closing = call("2", "bb.createSpec.closeAttempt", json!({ "hasDirtyChanges": false }));
    assert_eq!(closing["result"], json!({ "shouldClose": false }));
    assert_eq!(call("3", "bb.createSpec.discard", json!({}))["ok"], true);
    let init = call("4", "bb.createSpec.ready", json!({}));
    assert_eq!(init["result"], json!({ "shouldFocusPrimaryField": true }));
    let refused = call("5", "bb.createSpec.submit", json!({ "description": " ", "imageUris": [] }));
    assert_eq!((&refused["ok"], &refused["error"]["code"]), (&json!(false), &json!("invalid_params")));
}

/// A PNG of noise, so that it stays large.
fn noise(width: u32, height: u32) -> Vec<u8> {
    let mut state = 7_u32;
    let picture = image::RgbaImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        image::Rgba(state.to_be_bytes())
    });
    let mut out = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut out, image::ImageFormat::Png).unwrap();
    out.into_inner()
}
