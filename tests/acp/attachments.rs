//! Attachments in a prompt.

use breadboard_ls::testing::app::ports::Attachment;
use serde_json::{Value, json};

use crate::desk::Desk;

#[tokio::test(flavor = "multi_thread")]
async fn attachments_go_as_what_the_agent_reads_and_as_links_otherwise() {
    for (takes, wanted) in [
        (json!({ "image": true, "embeddedContext": true }), ["image", "resource", "resource_link"]),
        (json!({}), ["resource_link", "resource_link", "resource_link"]),
    ] {
        let mut desk = Desk::of(json!({ "agent": { "capabilities": { "promptCapabilities": takes } } }));
        desk.make("a").await;
        let attach = |name: &str, mime: &str, bytes: &[u8]| {
            let path = desk.place.path().join(name);
            std::fs::write(&path, bytes).expect("a file");
            Attachment {
                id: name.to_owned(),
                name: name.to_owned(),
                mime: mime.to_owned(),
                bytes: bytes.len() as u64,
                path,
            }
        };
        let large = vec![b'x'; (8 << 20) + 1];
        let attachments = vec![
            attach("a.png", "image/png", b"foo"),
            attach("b.txt", "text/plain", "grüße".as_bytes()),
            attach("c.txt", "text/plain", &large),
        ];
        desk.start_with("a", 1, "look", attachments);
        desk.turn("a").await;
        let blocks = desk.until_sent("session/prompt").await[0]["prompt"].clone();
        let kinds: Vec<&str> =
            blocks.as_array().expect("blocks").iter().filter_map(|block| block["type"].as_str()).collect();
        assert_eq!(kinds, [&["text"], &wanted[..]].concat());
        if wanted[0] == "image" {
            assert_eq!(blocks[1]["data"], Value::from("Zm9v"));
            assert_eq!(blocks[2]["resource"]["text"], Value::from("grüße"));
        }
        let uri = format!("file://{}", desk.place.path().join("c.txt").display());
        assert_eq!((&blocks[3]["uri"], &blocks[3]["size"]), (&Value::from(uri), &json!((8 << 20) + 1)));
    }
}
