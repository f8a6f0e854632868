//! Snippets from real files, buffers and a sparse file of 5 GiB.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::json;

use super::{Unreadable, Wanted, read, snippet};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::lines::LineRange;
use crate::domain::edits::overlay::Overlay;
use crate::protocol::request::{ReadFileSnippetParams, ReadFileSnippetResult, SnippetSource};
use crate::workspace::root::Roots;
use crate::workspace::root::tests::folder;

fn params(path: &str) -> ReadFileSnippetParams {
    ReadFileSnippetParams {
        session_id: Some("s".to_owned()),
        tab_id: None,
        path: path.to_owned(),
        root: None,
        max_bytes: None,
        head_lines: None,
        tail_lines: None,
    }
}

fn shown(root: &Path, params: &ReadFileSnippetParams) -> Result<ReadFileSnippetResult, CodedError> {
    snippet(&Roots::open(&[folder("ws", root)]), params, &Overlay::new())
}

fn code(root: &Path, path: &str) -> ErrorCode {
    shown(root, &params(path)).unwrap_err().code
}

fn lines(start_line: u64, end_line: u64) -> LineRange {
    LineRange { start_line, end_line }
}

#[test]
fn r000_31_a_small_file_comes_whole() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a.rs"), "\u{feff}one\r\ntwo\r\n").unwrap();
    assert_eq!(
        shown(root.path(), &params("./a.rs")),
        Ok(ReadFileSnippetResult {
            path: "a.rs".to_owned(),
            content: "one\r\ntwo\r\n".to_owned(),
            total_bytes: 13,
            truncated: false,
            ranges: vec![lines(1, 2)],
            source: SnippetSource::Disk,
            encoding: None,
        })
    );
}

#[test]
fn r000_34_a_bound_above_the_most_is_the_most_and_zero_shows_nothing() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), "x".repeat(3_000_000)).unwrap();
    let length = |max_bytes| {
        let result = shown(root.path(), &ReadFileSnippetParams { max_bytes, ..params("a") }).unwrap();
        (result.content.len(), result.truncated, result.total_bytes)
    };
    assert_eq!(length(None), (65_536, true, 3_000_000));
    assert_eq!(length(Some(u64::MAX)), (1_048_576, true, 3_000_000));
    assert_eq!(length(Some(0)), (0, true, 3_000_000));
}

#[test]
fn r000_31_other_encodings_are_read_and_named() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("latin"), b"Le caf\xe9 est tr\xe8s agr\xe9able \xe0 midi\n").unwrap();
    std::fs::write(root.path().join("wide"), b"\xff\xfea\0\n\0b\0\n\0").unwrap();
    let latin = shown(root.path(), &params("latin")).unwrap();
    assert_eq!(latin.content, "Le café est très agréable à midi\n");
    assert_eq!(latin.encoding.as_deref(), Some("windows-1252"));
    let wide = shown(root.path(), &ReadFileSnippetParams { tail_lines: Some(1), ..params("wide") }).unwrap();
    assert_eq!((wide.content.as_str(), wide.encoding.as_deref()), ("b\n", Some("UTF-16LE")));
    assert_eq!((wide.ranges, wide.total_bytes), (vec![lines(2, 2)], 10));
}

#[test]
fn a_file_with_a_hole_is_the_text_at_its_ends() {
    let mut bytes = b"first\nsecond\n".to_vec();
    bytes.resize(2_000_000, 0);
    bytes.extend_from_slice(b"\nlast but one\nlast\n");
    let size = bytes.len() as u64;
    let read_as = |bytes: &[u8], head, tail| {
        let wanted = Wanted { max_bytes: 65_536, head, tail };
        read(&mut std::io::Cursor::new(bytes), bytes.len() as u64, wanted).map(|part| part.selection.content)
    };
    let text = |outcome: Result<String, Unreadable>| outcome.ok();
    assert_eq!(
        text(read_as(&bytes, Some(2), Some(2))).as_deref(),
        Some("first\nsecond\n⋯\nlast but one\nlast\n")
    );
    assert_eq!(text(read_as(&bytes, Some(1), None)).as_deref(), Some("first\n"));
    assert_eq!(text(read_as(&bytes, None, Some(1))).as_deref(), Some("last\n"));
    assert_eq!(text(read_as(&vec![0; 2_000_000], Some(1), Some(1))), None, "nothing but a hole");
    bytes[20] = b'x';
    assert_eq!(bytes.len() as u64, size);
    assert_eq!(text(read_as(&bytes, Some(1), Some(1))), None, "zeros in the middle of something");
}

#[test]
fn r000_31_what_is_not_text_says_its_size() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("bin"), b"\x7fELF\0\0").unwrap();
    let refused = shown(root.path(), &params("bin")).unwrap_err();
    assert_eq!((refused.code, refused.details), (ErrorCode::NotText, Some(json!({ "size": 6 }))));
}

#[test]
fn r000_36_directories_missing_files_and_ways_out_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("ws");
    std::fs::create_dir_all(root.join("dir")).unwrap();
    std::fs::create_dir(parent.path().join("ws-evil")).unwrap();
    std::fs::write(parent.path().join("ws-evil/x"), "secret").unwrap();
    std::fs::write(root.join("file"), "x").unwrap();
    for path in ["", ".", "dir", "missing", "file/x"] {
        assert_eq!(code(&root, path), ErrorCode::NotFound, "{path:?}");
    }
    let absolute = parent.path().join("ws-evil/x").display().to_string();
    let inside = root.join("file").display().to_string();
    for path in [
        "../ws-evil/x",
        "../WS/file",
        "dir/../../ws-evil/x",
        "dir/../file",
        &absolute,
        &inside,
        "/proc/self/environ",
    ] {
        assert_eq!(code(&root, path), ErrorCode::PathOutsideWorkspace, "{path:?}");
    }
    assert_eq!(code(&root, &format!("file://{inside}")), ErrorCode::PathOutsideWorkspace);
}

#[cfg(unix)]
#[test]
fn r000_36_links_out_pipes_sockets_and_devices_are_never_read() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    std::fs::create_dir(at("d")).unwrap();
    std::fs::write(at("d/real"), "inside\n").unwrap();
    symlink("d/real", at("in")).unwrap();
    symlink(at("d/real"), at("in-absolute")).unwrap();
    symlink("/etc/passwd", at("out")).unwrap();
    symlink("/etc", at("out-dir")).unwrap();
    symlink("/dev/zero", at("device")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for (path, expected) in [
        ("out", ErrorCode::PathOutsideWorkspace),
        ("out-dir/passwd", ErrorCode::PathOutsideWorkspace),
        ("device", ErrorCode::PathOutsideWorkspace),
        ("pipe", ErrorCode::NotFound),
        ("socket", ErrorCode::NotFound),
    ] {
        assert_eq!(code(root.path(), path), expected, "{path}");
    }
    for path in ["in", "in-absolute"] {
        assert_eq!(shown(root.path(), &params(path)).unwrap().content, "inside\n", "{path}");
    }
}

#[cfg(unix)]
#[test]
fn r000_31_an_open_buffer_wins_whatever_its_uri_looks_like() {
    let parent = tempfile::tempdir().unwrap();
    let real = parent.path().canonicalize().unwrap().join("a b");
    std::fs::create_dir(&real).unwrap();
    std::fs::write(real.join("ü.rs"), "disk").unwrap();
    let base = real.parent().unwrap().display().to_string();
    for uri in [
        format!("file://{base}/a%20b/%C3%BC.rs"),
        format!("file://{base}/a%20b/%c3%bc.rs"),
        format!("FILE://localhost{base}/a b/ü.rs"),
        format!("file://{base}/a%20b/./%C3%BC.rs"),
    ] {
        let mut overlay = Overlay::new();
        overlay.open(&uri, "rust", 1, "buffer\n");
        let result = snippet(&Roots::open(&[folder("ws", &real)]), &params("ü.rs"), &overlay).unwrap();
        assert_eq!(
            (result.content.as_str(), result.source, result.total_bytes),
            ("buffer\n", SnippetSource::Buffer, 7),
            "{uri}"
        );
    }
}

#[cfg(unix)]
#[test]
fn r000_36_an_open_buffer_shows_new_files_but_nothing_from_outside() {
    let root = tempfile::tempdir().unwrap();
    let base = root.path().display().to_string();
    std::os::unix::fs::symlink("/etc/hostname", root.path().join("out")).unwrap();
    let mut overlay = Overlay::new();
    overlay.open(&format!("file://{base}/new.rs"), "rust", 1, "unsaved");
    overlay.open(&format!("file://{base}/out"), "text", 1, "outside");
    overlay.open("untitled:new.rs", "rust", 1, "untitled");
    let roots = Roots::open(&[folder("ws", root.path())]);
    assert_eq!(snippet(&roots, &params("new.rs"), &overlay).unwrap().content, "unsaved");
    assert_eq!(snippet(&roots, &params("out"), &overlay).unwrap_err().code, ErrorCode::PathOutsideWorkspace);
    assert_eq!(snippet(&roots, &params("other.rs"), &overlay).unwrap_err().code, ErrorCode::NotFound);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_the_kernel_is_not_read() {
    let refused = shown(Path::new("/proc/self"), &params("environ")).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
}

#[test]
fn a_file_that_says_to_be_empty_and_is_not_is_read() {
    let wanted = Wanted { max_bytes: 64, head: None, tail: None };
    let Ok(part) = read(&mut io::Cursor::new(b"fresh\n"), 0, wanted) else { panic!("it is text") };
    assert_eq!((part.selection.content.as_str(), part.total), ("fresh\n", 6));
}

/// Counts what is read.
struct Counted<'a> {
    file: &'a mut std::fs::File,
    bytes: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn r000_34_the_ends_of_five_gibibytes_are_read_without_the_middle() {
    const SIZE: u64 = 5 * 1_024 * 1_024 * 1_024;
    let mut file = tempfile::tempfile().unwrap();
    file.write_all("begin é\n".repeat(2_000).as_bytes()).unwrap();
    file.set_len(SIZE).unwrap();
    let end = format!("\n{}last\n", "end €\n".repeat(40_000));
    file.seek(SeekFrom::Start(SIZE - end.len() as u64)).unwrap();
    file.write_all(end.as_bytes()).unwrap();

    file.rewind().unwrap();
    let mut counted = Counted { file: &mut file, bytes: 0 };
    let wanted = Wanted { max_bytes: 65_536, head: Some(2), tail: Some(2) };
    let Ok(part) = read(&mut counted, SIZE, wanted) else { panic!("the file is text") };
    assert_eq!(part.selection.content, "begin é\nbegin é\n⋯\nend €\nlast\n");
    assert_eq!(part.selection.ranges, [lines(1, 2)], "the numbers of the tail would need the whole file");
    assert_eq!((part.selection.truncated, part.total), (true, SIZE));
    assert!(counted.bytes <= 4 * 65_536 + 256, "{} bytes were read", counted.bytes);
}

#[test]
fn r000_34_the_numbers_of_a_tail_are_counted_in_a_file_of_some_size() {
    let text = "line\n".repeat(400_000);
    let mut source = io::Cursor::new(text.as_bytes());
    let wanted = Wanted { max_bytes: 100, head: Some(1), tail: Some(2) };
    let Ok(part) = read(&mut source, text.len() as u64, wanted) else { panic!("the file is text") };
    assert_eq!(part.selection.content, "line\n⋯\nline\nline\n");
    assert_eq!(part.selection.ranges, [lines(1, 1), lines(399_999, 400_000)]);

    let wide: Vec<u8> = std::iter::once(0xfeff)
        .chain("wide é\n".repeat(100_000).encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let Ok(part) = read(&mut io::Cursor::new(&wide), wide.len() as u64, wanted) else { panic!("text") };
    assert_eq!(part.selection.content, "wide é\n⋯\nwide é\nwide é\n");
    assert_eq!(part.selection.ranges, [lines(1, 1), lines(99_999, 100_000)]);
}

#[test]
fn a_large_binary_is_told_by_its_start() {
    let mut source = io::Cursor::new(vec![0; 1_000_000]);
    let wanted = Wanted { max_bytes: 100, head: None, tail: None };
    assert!(matches!(read(&mut source, 1_000_000, wanted), Err(Unreadable::NotText { size: 1_000_000 })));
    assert!(source.position() < 1_000);
}

/// A thread that swaps a directory for a link to the outside and back, until it is dropped.
#[cfg(target_os = "linux")]
struct Swapping {
    stop: std::sync::Arc<std::sync::atomic::AtomicBool>,
    thread: Option<std::thread::JoinHandle<u64>>,
}

#[cfg(target_os = "linux")]
impl Swapping {
    fn begin(root: &Path, name: &str, outside: &Path) -> Self {
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stopped = std::sync::Arc::clone(&stop);
        let (place, link) = (root.join(name), root.join("link"));
        std::os::unix::fs::symlink(outside, &link).unwrap();
        let thread = std::thread::spawn(move || {
            let mut swaps = 0;
            while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
                let (here, both) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
                rustix::fs::renameat_with(here, &place, here, &link, both).unwrap();
                swaps += 1;
            }
            swaps
        });
        Self { stop, thread: Some(thread) }
    }

    /// Ends the swapping; how often it happened.
    fn end(mut self) -> u64 {
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        self.thread.take().map_or(0, |thread| thread.join().unwrap())
    }
}

#[cfg(target_os = "linux")]
#[test]
fn r000_36_a_directory_swapped_for_a_link_while_it_is_read_shows_and_takes_nothing_outside() {
    let parent = tempfile::tempdir().unwrap();
    let (root, outside) = (parent.path().join("ws"), parent.path().join("out"));
    std::fs::create_dir_all(root.join("d")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(root.join("d/file"), "inside").unwrap();
    std::fs::write(outside.join("file"), "secret").unwrap();
    let roots = Roots::open(&[folder("ws", &root)]);
    let swapping = Swapping::begin(&root, "d", &outside);
    let mut seen = 0;
    for number in 0..2_000 {
        if let Ok(result) = snippet(&roots, &params("d/file"), &Overlay::new()) {
            assert_eq!(result.content, "inside");
            seen += 1;
        }
        if number % 10 != 0 {
            continue;
        }
        // Whether it succeeds depends on the moment; that it never lands outside does not.
        let _ =
            crate::workspace::write::write(&roots, None, &format!("d/new{number}"), None, "evil", &|_| {});
    }
    assert!(swapping.end() > 0 && seen > 0);
    let left: Vec<_> = std::fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["file"]);
}
