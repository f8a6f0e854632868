//! Section 2: listing, text and bytes of a workspace.

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::Desk;

async fn workspace(desk: &Desk) -> (TempDir, String) {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("ws/Sub")).unwrap();
    let root = place.path().join("ws");
    std::fs::write(root.join("b.txt"), "a\r\nb\r\n").unwrap();
    std::fs::write(root.join("A.bin"), b"\xff\x00").unwrap();
    std::fs::write(root.join("Sub/c.txt"), "c").unwrap();
    std::fs::write(place.path().join("outside.txt"), "secret").unwrap();
    let id = desk.create(&json!({"workspace": root})).await;
    (place, id)
}

fn invalid(detail: &str) -> (u16, Value) {
    (400, json!({"error": "invalid_request", "detail": detail, "path": null}))
}

#[tokio::test]
async fn a_listing_is_one_level_with_folders_first_and_hides_nothing() {
    let desk = Desk::plain();
    let (_place, id) = workspace(&desk).await;
    let list = |query: &str| desk.get_owned(format!("/v1/sessions/{id}/files{query}"));
    let folder = |path: &str| json!({"path": path, "type": "directory", "size": null, "updated_at": null});
    let file =
        |path: &str, size: u64| json!({"path": path, "type": "file", "size": size, "updated_at": null});
    let all = json!([folder(".breadboard"), folder("Sub"), file("A.bin", 2), file("b.txt", 6)]);
    assert_eq!(list("").await.pair(), (200, all));
    assert_eq!(list("?path=Sub").await.pair(), (200, json!([file("Sub/c.txt", 1)])));
    assert_eq!(list("?path=b.txt").await.pair(), (200, json!([file("b.txt", 6)])));
    assert_eq!(list("?path=nothing").await.status, 404);
    for escape in ["..", "../outside.txt", "/etc", "Sub/../../outside.txt"] {
        let answer = list(&format!("?path={escape}")).await;
        assert_eq!(answer.pair(), invalid("file paths must be workspace-relative"), "{escape}");
    }
}

#[tokio::test]
async fn text_is_not_byte_faithful_and_bytes_are() {
    let desk = Desk::plain();
    let (_place, id) = workspace(&desk).await;
    let content = |query: &str| desk.get_owned(format!("/v1/sessions/{id}/files/content{query}"));
    let text = |path: &str, content: &str, truncated: bool, total: u64| {
        (200, json!({"path": path, "content": content, "truncated": truncated, "total_bytes": total}))
    };
    assert_eq!(content("?path=b.txt").await.pair(), text("b.txt", "a\nb\n", false, 6));
    assert_eq!(content("?path=A.bin").await.pair(), text("A.bin", "\u{fffd}\0", false, 2));
    assert_eq!(content("?path=b.txt&max_bytes=3").await.pair(), text("b.txt", "b\n", true, 6));
    assert_eq!(
        content("?path=b.txt&mode=snippet&max_bytes=2&head_lines=1&tail_lines=1").await.pair(),
        text("b.txt", "a\n\u{2026} (truncated) \u{2026}\nb", true, 6)
    );
    assert_eq!(content("?path=b.txt&mode=what&max_bytes=1").await.pair(), text("b.txt", "a\nb\n", false, 6));
    assert_eq!(content("?path=Sub").await.status, 404);
    assert_eq!(content("?path=.").await.pair(), invalid("file path required"));
    assert_eq!(content("").await.status, 422);
    assert_eq!(content("?path=b.txt&max_bytes=x").await.status, 422);

    let bytes =
        desk.send(Method::GET, &format!("/v1/sessions/{id}/download?artifact=A.bin"), None, &[]).await;
    assert_eq!(bytes.bytes().await.unwrap().as_ref(), b"\xff\x00");
}

#[tokio::test]
async fn a_download_is_exact_by_range_too_and_never_leaves_the_workspace() {
    let desk = Desk::plain();
    let (place, id) = workspace(&desk).await;
    let path = |artifact: &str| format!("/v1/sessions/{id}/download?artifact={artifact}");
    let part = desk.send(Method::GET, &path("b.txt"), None, &[("range", "bytes=1-2")]).await;
    assert_eq!(
        (part.status().as_u16(), part.headers()["content-range"].to_str().unwrap()),
        (206, "bytes 1-2/6")
    );
    assert_eq!(part.text().await.unwrap(), "\r\n");
    let inside = place.path().join("ws/b.txt");
    assert_eq!(desk.get(&path(inside.to_str().unwrap())).await.text, "a\r\nb\r\n");
    let outside = place.path().join("outside.txt");
    for escape in ["../outside.txt", "../nothing", outside.to_str().unwrap(), "/nothing/at/all"] {
        assert_eq!(
            desk.get(&path(escape)).await.pair(),
            invalid("artifact path outside workspace"),
            "{escape}"
        );
    }
    assert_eq!(desk.get(&path("nothing")).await.status, 404);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_that_leads_out_is_listed_and_not_read() {
    let desk = Desk::plain();
    let (place, id) = workspace(&desk).await;
    std::os::unix::fs::symlink(place.path().join("outside.txt"), place.path().join("ws/link.txt")).unwrap();
    let list = desk.get(&format!("/v1/sessions/{id}/files")).await.json();
    let link = json!({"path": "link.txt", "type": "file", "size": 6, "updated_at": null});
    assert!(list.as_array().unwrap().contains(&link), "{list}");
    assert_eq!(
        desk.get(&format!("/v1/sessions/{id}/files/content?path=link.txt")).await.pair(),
        invalid("invalid path")
    );
    assert_eq!(
        desk.get(&format!("/v1/sessions/{id}/download?artifact=link.txt")).await.pair(),
        invalid("artifact path outside workspace")
    );
}
