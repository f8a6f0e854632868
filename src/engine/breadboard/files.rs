//! Files of the engine's workspace.
//!
//! Owns how a directory and some lines of a file are asked for. The engine's own snippet changes line ends and marks a cut
//! by a line that could be the file's, so a file is read by its bytes and its lines are chosen here, as for a file on disk.

use serde_json::Value;

use super::EngineParts;
use super::engine_error::EngineError;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::breadboard::http::{self, EngineFileEntry as EngineFile, FileContent};
use crate::domain::edits::lines::{Seen, Selection, Wanted, select};
use crate::domain::edits::text;
use crate::domain::policy::path::WorkspacePath;
use crate::protocol::request::{
    FileEntry, FileKind, ListFilesParams, ListFilesResult, ReadFileSnippetParams, ReadFileSnippetResult,
    SnippetSource,
};

/// Entries in one answer, as for a directory on disk.
const MOST_ENTRIES: usize = 10_000;

/// Bytes of content when the client does not say.
const DEFAULT_BYTES: u64 = 64 * 1_024;

/// Most bytes of content, whatever the client says.
const MOST_BYTES: u64 = 1_024 * 1_024;

/// Largest file that is read whole, so that its lines are counted; of a larger one only the two ends are asked for.
const WHOLE_BYTES: u64 = 4 << 20;

/// Lists a directory.
pub(super) async fn list(
    shared: &EngineParts,
    params: &ListFilesParams,
) -> Result<ListFilesResult, CodedError> {
    if params.gitignore == Some(true) {
        return Err(CodedError::new(
            ErrorCode::Unsupported,
            "The engine cannot leave out what `.gitignore` names; list without `gitignore`.",
        ));
    }
    let path = parse(&params.path)?;
    let entries = look(shared, params.session(), &path).await?;
    if let [only] = entries.as_slice()
        && !path.is_root()
        && only.path == path.as_str()
    {
        return Err(CodedError::new(
            ErrorCode::NotFound,
            format!(
                "`{}` is a file and not a directory; read it or list its directory.",
                short(path.as_str())
            ),
        ));
    }
    let truncated = entries.len() > MOST_ENTRIES;
    let entries = entries.into_iter().take(MOST_ENTRIES).map(entry).collect();
    Ok(ListFilesResult { path: path.as_str().to_owned(), entries, truncated })
}

/// Reads some lines of a file.
pub(super) async fn read(
    shared: &EngineParts,
    params: &ReadFileSnippetParams,
) -> Result<ReadFileSnippetResult, CodedError> {
    let path = parse(&params.path)?;
    let name = short(path.as_str());
    let max_bytes = params.max_bytes.unwrap_or(DEFAULT_BYTES).min(MOST_BYTES);
    let wanted = Wanted {
        max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX),
        head: params.head_lines,
        tail: params.tail_lines,
    };
    // By the listing first: it says the size, and that the path lies in the workspace and not in a log of the engine's.
    let entries = look(shared, params.session(), &path).await?;
    let file = match entries.as_slice() {
        [only] if !path.is_root() && only.path == path.as_str() && only.kind != "directory" => only,
        _ => {
            return Err(CodedError::new(
                ErrorCode::NotFound,
                format!("`{name}` is a directory and not a file; list it and choose one."),
            ));
        }
    };
    let size = file.size.unwrap_or(WHOLE_BYTES + 1);
    let (selection, total, encoding) = if size <= WHOLE_BYTES {
        let bytes = front(shared, params.session(), &path, WHOLE_BYTES).await?;
        let total = bytes.len() as u64;
        let decoded =
            text::decode(&bytes, |_| encoding_rs::WINDOWS_1252).map_err(|text::NotText| not_text(&name))?;
        (select(Seen::Whole(&decoded.text), wanted), total, decoded.format.odd_name())
    } else {
        ends(shared, params.session(), &path, size, wanted).await?
    };
    Ok(ReadFileSnippetResult {
        path: path.as_str().to_owned(),
        content: selection.content,
        total_bytes: total,
        truncated: selection.truncated,
        ranges: selection.ranges,
        source: SnippetSource::Engine,
        encoding: encoding.map(str::to_owned),
    })
}

/// The two ends of a large file. Lines are not counted, so a tail has no range.
async fn ends(
    shared: &EngineParts,
    session_id: &str,
    path: &WorkspacePath,
    size: u64,
    wanted: Wanted,
) -> Result<(Selection, u64, Option<&'static str>), CodedError> {
    let window = 2 * wanted.max_bytes as u64 + 64;
    let front = match wanted {
        Wanted { head: None, tail: Some(_), .. } => Vec::new(),
        _ => front(shared, session_id, path, window).await?,
    };
    let (back, total) = match wanted.tail {
        Some(_) => {
            let window = window.to_string();
            let query = [("path", path.as_str()), ("mode", "cat"), ("max_bytes", window.as_str())];
            let at = ["v1", "sessions", session_id, "files", "content"];
            let content: FileContent = shared
                .client
                .read(&at, &query)
                .await
                .map_err(|trouble| refused(shared, path.as_str(), &trouble))?;
            (content.content, content.total_bytes.unwrap_or(size))
        }
        None => (String::new(), size),
    };
    if text::is_binary(&front) || back.contains('\0') {
        return Err(not_text(&short(path.as_str())));
    }
    // Cut between two characters at worst.
    let front = String::from_utf8_lossy(&front);
    let front = front.trim_end_matches('\u{fffd}');
    let back = back.trim_start_matches('\u{fffd}');
    Ok((select(Seen::Ends { front, back, lines: None }, wanted), total, None))
}

/// Up to `most` bytes from the start of a file.
async fn front(
    shared: &EngineParts,
    session_id: &str,
    path: &WorkspacePath,
    most: u64,
) -> Result<Vec<u8>, CodedError> {
    let told = |trouble: EngineError| refused(shared, path.as_str(), &trouble);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let at = ["v1", "sessions", session_id, "download"];
    let mut stream = shared.client.download(&at, &[("artifact", path.as_str())]).await.map_err(told)?;
    let mut bytes = Vec::new();
    while bytes.len() < most {
        let Some(chunk) = stream.next().await else { break };
        let chunk = chunk.map_err(told)?;
        let room = most - bytes.len();
        bytes.extend(chunk.iter().take(room));
    }
    Ok(bytes)
}

async fn look(
    shared: &EngineParts,
    session_id: &str,
    path: &WorkspacePath,
) -> Result<Vec<EngineFile>, CodedError> {
    let asked = path.for_handle();
    let entries: Vec<Value> = shared
        .client
        .read(&["v1", "sessions", session_id, "files"], &[("path", asked)])
        .await
        .map_err(|trouble| refused(shared, asked, &trouble))?;
    Ok(http::fitting(entries))
}

fn entry(file: EngineFile) -> FileEntry {
    let kind = if file.kind == "directory" { FileKind::Directory } else { FileKind::File };
    let name = file.path.rsplit('/').next().unwrap_or_default().to_owned();
    let size = file.size.filter(|_| kind == FileKind::File);
    FileEntry { path: file.path, name, kind, size }
}

fn parse(path: &str) -> Result<WorkspacePath, CodedError> {
    WorkspacePath::parse(path).map_err(|refused| {
        CodedError::new(
            ErrorCode::PathOutsideWorkspace,
            format!("The path `{}` {refused}; give one relative to the workspace folder.", short(path)),
        )
    })
}

/// A refusal of a path, a file's or an artifact's.
pub(super) fn refused(shared: &EngineParts, path: &str, trouble: &EngineError) -> CodedError {
    let path = short(path);
    match trouble {
        // The only 400 of these routes but for a blank path, which is not sent.
        EngineError::Refused { status: 400, .. } => CodedError::new(
            ErrorCode::PathOutsideWorkspace,
            format!(
                "The engine says that `{path}` lies outside the session's workspace; name a path inside it."
            ),
        ),
        EngineError::Gone { detail } if detail.contains("session") => CodedError::new(
            ErrorCode::NotFound,
            "The engine no longer has this session, as after a restart of it; make a new one.",
        ),
        EngineError::Gone { .. } => CodedError::new(
            ErrorCode::NotFound,
            format!("The engine has no `{path}`; list the directory and choose one."),
        ),
        EngineError::Refused { status: 409, .. } => CodedError::new(
            ErrorCode::Conflict,
            "The workspace of the session is not ready at the engine; try again in a moment.",
        ),
        trouble => shared.told(trouble),
    }
}

fn not_text(name: &str) -> CodedError {
    CodedError::new(
        ErrorCode::NotText,
        format!("`{name}` is not text; download it and open it in a program made for it."),
    )
}

fn short(text: &str) -> String {
    let mut cut: String = text.chars().take(120).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}
