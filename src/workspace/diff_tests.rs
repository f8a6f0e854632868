//! Both sides of a diff, from wherever they come, in workspaces of every shape.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::diff;
use crate::app::Reply;
use crate::app::ports::{DiffFor, DiffJob, DiffRoot, DiffSide, Found, PatchText};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::diff::unified_diff;
use crate::domain::edits::overlay::Overlay;
use crate::domain::edits::reference::Reference;
use crate::domain::edits::text::content_hash;
use crate::domain::policy::path::WorkspacePath;
use crate::workspace::git::tests::{commit, git, on_a_waiting_thread, repository};
use crate::workspace::root::{Roots, tests::folder};
use crate::workspace::side::MOST_BYTES;

fn side(text: &str) -> DiffSide {
    DiffSide { reference: Reference::parse(text).unwrap(), found: Found::Nothing }
}

/// A workspace, its open buffers, and what is asked about them.
struct Desk {
    dir: tempfile::TempDir,
    overlay: Overlay,
    root: DiffRoot,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir, overlay: Overlay::new(), root: DiffRoot::Named(None) }
    }

    fn at(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.at().join(path).parent().unwrap()).unwrap();
        std::fs::write(self.at().join(path), bytes).unwrap();
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", self.at().display())
    }

    fn open(&mut self, path: &str, text: &str) {
        let uri = self.uri(path);
        self.overlay.open(&uri, "rust", 1, text);
    }

    fn ask(&self, path: &str, left: DiffSide, purpose: DiffFor) {
        let job = DiffJob {
            client: crate::app::inbox::Inbox::new().0.name_client(),
            session_id: "s".to_owned(),
            root: self.root.clone(),
            path: WorkspacePath::parse(path).unwrap(),
            left,
            purpose,
        };
        let (roots, overlay) = (Roots::open(&[folder("ws", self.at())]), self.overlay.clone());
        on_a_waiting_thread(move || diff(&roots, &overlay, job));
    }

    fn diff(&self, path: &str, left: &str, right: &str) -> Result<Value, CodedError> {
        self.compare(path, side(left), side(right))
    }

    fn compare(&self, path: &str, left: DiffSide, right: DiffSide) -> Result<Value, CodedError> {
        let (reply, mut answer) = Reply::new();
        self.ask(path, left, DiffFor::Comparison { right, reply });
        answer.try_recv().unwrap().map(|result| json!(result))
    }

    fn document(&self, path: &str, of: &str) -> Result<Value, CodedError> {
        self.read(path, side(of))
    }

    fn read(&self, path: &str, of: DiffSide) -> Result<Value, CodedError> {
        let (reply, mut answer) = Reply::new();
        self.ask(path, of, DiffFor::Document { reply });
        answer.try_recv().unwrap().map(|result| json!(result))
    }
}

#[test]
fn r000_32_a_commit_against_the_open_buffer() {
    let mut desk = Desk::new();
    repository(desk.at(), &[("src/a.rs", b"one\ntwo\n")]);
    desk.write("src/a.rs", "one\ndisk\n");
    desk.open("src/a.rs", "one\nbuffer\n");
    assert_eq!(
        desk.diff("src/a.rs", "git:HEAD", "buffer"),
        Ok(json!({
            "title": "src/a.rs (git:HEAD ↔ buffer)",
            "left": { "uri": "bb-diff:/s/~/git~3AHEAD/src/a.rs" },
            "right": { "uri": desk.uri("src/a.rs") },
            "unified": "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+buffer\n",
            "added": 1, "removed": 1, "truncated": false,
        }))
    );
    let disk = desk.diff("src/a.rs", "disk", "buffer").unwrap();
    assert_eq!(
        disk["left"]["uri"], "bb-diff:/s/~/disk/src/a.rs",
        "the editor would show the buffer for both"
    );
    assert_eq!(desk.document("src/a.rs", "disk"), Ok(json!({ "text": "one\ndisk\n", "languageId": "rust" })));
    assert_eq!(desk.document("src/a.rs", "git:HEAD").unwrap()["text"], "one\ntwo\n");
}

#[test]
fn r000_32_new_deleted_and_missing_files() {
    let desk = Desk::new();
    repository(desk.at(), &[("old.txt", b"x\n")]);
    std::fs::rename(desk.at().join("old.txt"), desk.at().join("new.txt")).unwrap();
    let new = desk.diff("new.txt", "git:HEAD", "buffer").unwrap();
    assert_eq!(new["unified"], "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+x\n");
    assert_eq!(new["right"]["uri"], desk.uri("new.txt"), "not open, it is the file on disk");
    assert_eq!(desk.document("new.txt", "git:HEAD"), Ok(json!({ "text": "" })));
    let gone = desk.diff("old.txt", "git:HEAD", "disk").unwrap();
    assert_eq!(gone["unified"], "--- a/old.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n");
    assert_eq!(gone["right"]["uri"], "bb-diff:/s/~/disk/old.txt", "the editor has no such file");
    let none = desk.diff("none.txt", "git:HEAD", "disk").unwrap_err();
    assert_eq!(none.code, ErrorCode::NotFound);
}

#[test]
fn r000_32_line_ends_encodings_and_binaries() {
    let desk = Desk::new();
    repository(desk.at(), &[("a", b"x\r\ny\r\n"), ("b", b"\0\x01"), ("c", b"caf\xe9\n")]);
    desk.write("a", "x\ny\n");
    let ends = desk.diff("a", "git:HEAD", "disk").unwrap();
    assert_eq!((&ends["added"], &ends["removed"]), (&json!(2), &json!(2)));
    assert!(ends["unified"].as_str().unwrap().contains("-x\r\n"), "{ends}");
    assert_eq!(desk.diff("b", "git:HEAD", "disk").unwrap_err().code, ErrorCode::NotText);
    assert_eq!(desk.document("c", "git:HEAD").unwrap()["text"], "café\n");
    desk.write("c", "\u{feff}café\n");
    assert_eq!(
        desk.diff("c", "git:HEAD", "disk").unwrap()["unified"],
        "",
        "the same text in another encoding"
    );
}

#[test]
fn r000_32_a_large_file_is_cut_after_a_line_and_said_to_be() {
    let desk = Desk::new();
    let text: String = (0..600_000).map(|n| format!("line {n}\n")).collect();
    repository(desk.at(), &[("a", text.as_bytes())]);
    desk.write("a", format!("new\n{text}"));
    let found = desk.diff("a", "git:HEAD", "disk").unwrap();
    assert_eq!(
        (&found["truncated"], &found["added"], &found["removed"]),
        (&json!(true), &json!(1), &json!(0))
    );
    let left = desk.document("a", "git:HEAD").unwrap();
    let shown = left["text"].as_str().unwrap();
    assert!(text.starts_with(shown) && shown.ends_with('\n'));
    assert!(shown.len() <= MOST_BYTES && shown.len() > MOST_BYTES - 20, "{}", shown.len());
    assert_eq!(left["truncated"], true);
    // One line that never ends, cut within a character.
    desk.write("a", format!("x{}", "ü".repeat(3 << 20)));
    let right = desk.document("a", "disk").unwrap();
    assert_eq!(right["text"].as_str().map(str::len), Some(MOST_BYTES - 1));
    // All of it differs: the answer stays bounded.
    desk.write("a", text.replace("line", "LINE"));
    let all = desk.diff("a", "git:HEAD", "disk").unwrap();
    assert!(all["unified"].as_str().unwrap().len() <= super::MOST_UNIFIED_BYTES);
    assert!(all["added"].as_u64().unwrap() > 200_000 && all["truncated"] == true);
}

#[test]
fn r000_36_no_link_leads_out() {
    let mut desk = Desk::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret\n").unwrap();
    symlink(outside.path().join("secret"), desk.at().join("out")).unwrap();
    symlink(outside.path(), desk.at().join("dir")).unwrap();
    repository(desk.at(), &[("a", b"x\n")]);
    desk.open("dir/secret", "buffer\n");
    for path in ["out", "dir/secret"] {
        for of in ["disk", "buffer"] {
            assert_eq!(
                desk.document(path, of).unwrap_err().code,
                ErrorCode::PathOutsideWorkspace,
                "{path} {of}"
            );
        }
        assert_eq!(desk.diff(path, "git:HEAD", "buffer").unwrap_err().code, ErrorCode::PathOutsideWorkspace);
    }
    // git has what the link says, and does not follow it.
    let link = desk.document("out", "git:HEAD").unwrap();
    assert_eq!(link["text"], json!(outside.path().join("secret").to_str().unwrap()));
}

#[test]
fn r000_32_links_within_are_followed_on_both_sides() {
    let desk = Desk::new();
    desk.write("lib/a", "x\n");
    symlink("lib", desk.at().join("src")).unwrap();
    symlink("lib/a", desk.at().join("b")).unwrap();
    repository(desk.at(), &[]);
    for path in ["src/a", "b"] {
        assert_eq!(desk.diff(path, "git:HEAD", "disk").unwrap()["unified"], "", "{path}");
    }
}

#[test]
fn r000_32_a_repository_in_a_folder_of_the_workspace_is_found() {
    let desk = Desk::new();
    repository(desk.at(), &[("a", b"outer\n")]);
    std::fs::create_dir(desk.at().join("inner")).unwrap();
    repository(&desk.at().join("inner"), &[("d/a", b"inner\n")]);
    assert_eq!(desk.document("inner/d/a", "git:HEAD").unwrap()["text"], "inner\n");
    std::fs::remove_dir_all(desk.at().join("inner/d")).unwrap();
    assert_eq!(desk.document("inner/d/a", "git:HEAD").unwrap()["text"], "inner\n", "its folder is gone");
    assert_eq!(desk.document("a", "git:HEAD").unwrap()["text"], "outer\n");
}

#[test]
fn r000_32_a_checkpoint_is_read_from_the_engines_own_repository() {
    let desk = Desk::new();
    desk.write("a", "now\n");
    assert_eq!(desk.document("a", "checkpoint:c-1").unwrap_err().code, ErrorCode::NotFound);
    let elsewhere = tempfile::tempdir().unwrap();
    repository(elsewhere.path(), &[("a", b"then\n")]);
    let id = std::fs::read_to_string(elsewhere.path().join(".git/refs/heads/main")).unwrap();
    let kept = desk.at().join(".breadboard/checkpoints");
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::rename(elsewhere.path().join(".git"), kept.join("git")).unwrap();
    git(&kept, &["--git-dir", "git", "config", "core.worktree", "/nowhere"]);
    let list = |commit: &str| {
        let list = json!([7, { "checkpoint_id": "c-0" }, { "checkpoint_id": "c-1", "git_commit": commit, "more": 1 }]);
        std::fs::write(kept.join("checkpoints.json"), list.to_string()).unwrap();
    };
    list(id.trim());
    assert_eq!(desk.document("a", "checkpoint:c-1").unwrap()["text"], "then\n");
    let found = desk.diff("a", "checkpoint:c-1", "disk").unwrap();
    assert_eq!((&found["added"], &found["removed"]), (&json!(1), &json!(1)));
    for (id, commit) in [("c-0", id.trim()), ("c-2", id.trim()), ("c-1", "--help"), ("c-1", "HEAD")] {
        list(commit);
        assert_eq!(
            desk.document("a", &format!("checkpoint:{id}")).unwrap_err().code,
            ErrorCode::NotFound,
            "{id}"
        );
    }
    list(&id);
    std::fs::rename(kept.join("git"), elsewhere.path().join("git")).unwrap();
    symlink(elsewhere.path().join("git"), kept.join("git")).unwrap();
    list(
        std::str::from_utf8(&std::fs::read(elsewhere.path().join("git/refs/heads/main")).unwrap())
            .unwrap()
            .trim(),
    );
    let out = desk.document("a", "checkpoint:c-1").unwrap_err();
    assert_eq!(out.code, ErrorCode::PathOutsideWorkspace);
}

fn patch(path: &str, old: Option<&str>, new: &str) -> DiffSide {
    let found = Found::Patch(PatchText {
        diff: unified_diff(path, old, new).unified,
        file_path: path.to_owned(),
        base_hash: old.map(|old| content_hash(old.as_bytes())),
    });
    DiffSide { reference: Reference::Patch("p".to_owned()), found }
}

#[test]
fn r000_32_a_patch_is_shown_on_its_base_wherever_that_still_is() {
    let mut desk = Desk::new();
    let (old, new) = ("1\n2\n3\n", "1\ntwo\n3\n");
    let text = |desk: &Desk| {
        desk.read("a", patch("a", Some(old), new)).map(|answer| answer["text"].as_str().unwrap().to_owned())
    };
    repository(desk.at(), &[("a", old.as_bytes())]);
    assert_eq!(text(&desk).as_deref(), Ok(new), "on disk");
    let shown = desk.compare("a", side("disk"), patch("a", Some(old), new)).unwrap();
    assert_eq!(shown["right"]["uri"], "bb-diff:/s/~/patch~3Ap/a");
    assert_eq!((&shown["added"], &shown["removed"]), (&json!(1), &json!(1)));
    desk.write("a", "1\ntwo\n3\nfour\n");
    assert_eq!(text(&desk).as_deref(), Ok("1\ntwo\n3\nfour\n"), "it is in the file already");
    desk.write("a", "other\n");
    assert_eq!(text(&desk).as_deref(), Ok(new), "in the last commit");
    commit(desk.at(), &[], "without it");
    assert_eq!(text(&desk).unwrap_err().code, ErrorCode::Conflict);
    desk.open("a", old);
    assert_eq!(text(&desk).as_deref(), Ok(new), "in the buffer");
    let other = desk.read("b", patch("a", Some(old), new)).unwrap_err();
    assert_eq!(other.code, ErrorCode::NotFound);
    let made = desk.read("n", patch("n", None, "new\n")).unwrap();
    assert_eq!(made["text"], "new\n");
}

#[test]
fn r000_32_an_artifact_is_read_and_deleted() {
    let desk = Desk::new();
    desk.write("a", "x\n");
    let state = tempfile::tempdir().unwrap();
    let place = |bytes: &[u8]| -> (PathBuf, DiffSide) {
        let folder = state.path().join("id");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("out"), bytes).unwrap();
        let found = Found::Downloaded(folder.join("out"));
        (folder, DiffSide { reference: Reference::Artifact("logs/out".to_owned()), found })
    };
    let (folder, artifact) = place(b"y\n");
    let found = desk.compare("a", artifact, side("disk")).unwrap();
    assert_eq!(found["unified"], "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-y\n+x\n");
    assert_eq!(found["left"]["uri"], "bb-diff:/s/~/artifact~3Alogs~2Fout/a");
    assert!(!folder.exists());
    let (folder, artifact) = place(b"\0");
    assert_eq!(desk.compare("a", artifact, side("git:HEAD")).unwrap_err().code, ErrorCode::NotText);
    assert!(!folder.exists(), "also when nothing comes of it");
}

#[test]
fn r000_32_36_paths_are_relative_to_the_folder_where_the_session_works() {
    let mut desk = Desk::new();
    desk.write("a", "x\n");
    let link = tempfile::tempdir().unwrap();
    symlink(desk.at(), link.path().join("ws")).unwrap();
    for (root, outcome) in [
        (DiffRoot::At(desk.at().to_owned(), None), Ok(())),
        (DiffRoot::At(link.path().join("ws"), Some("ws".to_owned())), Ok(())),
        (DiffRoot::At(desk.at().to_owned(), Some("other".to_owned())), Err(ErrorCode::NotFound)),
        (DiffRoot::At(link.path().to_owned(), None), Err(ErrorCode::NotFound)),
        (DiffRoot::Named(Some("other".to_owned())), Err(ErrorCode::NotFound)),
        (DiffRoot::Unknown, Err(ErrorCode::Unsupported)),
    ] {
        desk.root = root.clone();
        let found = desk.document("a", "disk").map(|_| ()).map_err(|error| error.code);
        assert_eq!(found, outcome, "{root:?}");
    }
}
