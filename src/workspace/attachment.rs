//! `bb/attachment/put`: the bytes of a file that the user chose, kept under the state directory by their hash.
//!
//! A chosen file is read by `chosen`; a link of the workspace that leads out is refused. What is kept is readable by the user
//! alone. Never deletes.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::chosen::{Unchosen, path_of, read_chosen};
use super::media::mime_of;
use super::root::{Roots, cause, short};
use crate::app::ports::Attachment;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::text;
use crate::platform::{private, until_free};

/// Largest attachment, inclusive: 10 MiB.
pub(super) const MAX_BYTES: u64 = 10 * 1_024 * 1_024;

/// What came with the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offer {
    /// Name of the file.
    pub name: String,
    /// MIME type, when the client said one.
    pub mime: Option<String>,
    /// A file of the editor's.
    pub uri: Option<String>,
    /// The bytes.
    pub base64: Option<String>,
}

/// Stores what was offered under `state_dir/attachments`; the same bytes are kept once.
pub(super) fn store(roots: &Roots, state_dir: Option<&Path>, offer: Offer) -> Result<Attachment, CodedError> {
    let state_dir = state_dir.ok_or_else(|| {
        CodedError::new(
            ErrorCode::Unsupported,
            "There is no state directory to keep attachments in; give the server one and restart it.",
        )
    })?;
    let bytes = match (&offer.uri, &offer.base64) {
        (Some(uri), None) => chosen_file(roots, uri)?,
        (None, Some(base64)) => given(base64)?,
        (Some(_), Some(_)) | (None, None) => {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                "An attachment needs either `uri` or `base64`; give exactly one of them.",
            ));
        }
    };
    let digest = text::content_hash(&bytes);
    let digest = digest.trim_start_matches("sha256:");
    let path = keep(&state_dir.join("attachments"), digest, &bytes).map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::Overloaded,
            _ => ErrorCode::Internal,
        };
        CodedError::new(
            code,
            format!("The attachment could not be kept ({}); check the state directory.", cause(&error)),
        )
    })?;
    Ok(Attachment {
        id: format!("att_{}", &digest[..32]),
        name: shown_name(&offer.name),
        mime: mime_of(&bytes, offer.mime.as_deref()),
        bytes: bytes.len() as u64,
        path,
    })
}

/// The last part of a name, bounded: it is shown, and never used as a path.
fn shown_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last.chars().filter(|c| !c.is_control()).take(255).collect();
    if clean.is_empty() { "attachment".to_owned() } else { clean }
}

fn too_large(bytes: u64) -> CodedError {
    CodedError::new(
        ErrorCode::TooLarge,
        "The attachment is larger than 10 MiB; attach a smaller one, or name the file in your message.",
    )
    .with_details(json!({ "bytes": bytes, "maxBytes": MAX_BYTES }))
}

fn given(text: &str) -> Result<Vec<u8>, CodedError> {
    let padding = text.bytes().rev().take(2).filter(|byte| *byte == b'=').count();
    let bytes = (text.len() / 4 * 3).saturating_sub(padding) as u64;
    if bytes > MAX_BYTES {
        return Err(too_large(bytes));
    }
    STANDARD.decode(text).map_err(|_| {
        CodedError::new(
            ErrorCode::InvalidParams,
            "`base64` is not standard, padded base64; encode the bytes again.",
        )
    })
}

fn chosen_file(roots: &Roots, uri: &str) -> Result<Vec<u8>, CodedError> {
    read_chosen(roots, uri, MAX_BYTES).map_err(|why| match why {
        Unchosen::LeadsOut => CodedError::new(
            ErrorCode::PathOutsideWorkspace,
            format!(
                "`{}` is a link that leads out of the workspace; choose the file itself.",
                short(&path_of(uri).unwrap_or_default().to_string_lossy())
            ),
        ),
        Unchosen::NotLocal => CodedError::new(
            ErrorCode::InvalidParams,
            format!("`{}` is not the URI of a local file; give a `file:` URI or `base64`.", short(uri)),
        ),
        Unchosen::Unreadable(error) => CodedError::new(
            ErrorCode::NotFound,
            format!("`{}` cannot be read ({}); choose another file.", short(uri), cause(&error)),
        ),
        Unchosen::NotRegular => CodedError::new(
            ErrorCode::NotFound,
            format!("`{}` is not a regular file; choose another one.", short(uri)),
        ),
        Unchosen::TooLarge(bytes) => too_large(bytes),
    })
}

fn keep(directory: &Path, digest: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    private::create_folder(directory)?;
    let path = directory.join(digest);
    if is_kept(&path, bytes) {
        return Ok(path);
    }
    let partial = directory.join(format!("{digest}.{}.partial", uuid::Uuid::new_v4()));
    let written = write_private(&partial, bytes).and_then(|()| until_free(|| fs::rename(&partial, &path)));
    if written.is_err() {
        // The first failure is the one to tell.
        let _ = fs::remove_file(&partial);
    }
    written.map(|()| path)
}

/// Whether a regular file holds these bytes already.
fn is_kept(path: &Path, bytes: &[u8]) -> bool {
    let same = |found: fs::Metadata| found.is_file() && found.len() == bytes.len() as u64;
    fs::symlink_metadata(path).is_ok_and(same) && fs::read(path).is_ok_and(|kept| kept == bytes)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private::create_file(path, private::new_file())?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{MAX_BYTES, Offer, store};
    use crate::app::ports::Attachment;
    use crate::domain::coded_error::{CodedError, ErrorCode};
    use crate::workspace::root::Roots;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn base64(text: &str) -> Offer {
        Offer { name: "n".to_owned(), mime: None, uri: None, base64: Some(text.to_owned()) }
    }

    fn file(path: &Path) -> Offer {
        let uri = url::Url::from_file_path(path).unwrap().to_string();
        Offer { name: "n".to_owned(), mime: None, uri: Some(uri), base64: None }
    }

    fn kept(state_dir: Option<&Path>, offer: Offer) -> Result<Attachment, CodedError> {
        store(&Roots::default(), state_dir, offer)
    }

    fn code(outcome: Result<Attachment, CodedError>) -> Option<ErrorCode> {
        outcome.err().map(|error| error.code)
    }

    #[test]
    fn bytes_are_kept_once_by_their_hash_for_the_user_alone() {
        let state = tempfile::tempdir().unwrap();
        let offer = Offer { name: "../x/a b.txt".to_owned(), ..base64("YWJj") };
        let stored = kept(Some(state.path()), offer.clone()).unwrap();
        let path = state.path().join("attachments").join(ABC);
        assert_eq!(
            stored,
            Attachment {
                id: format!("att_{}", &ABC[..32]),
                name: "a b.txt".to_owned(),
                mime: "text/plain".to_owned(),
                bytes: 3,
                path: path.clone(),
            }
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        assert_eq!(kept(Some(state.path()), offer), Ok(stored));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
    }

    #[test]
    fn a_damaged_copy_is_replaced() {
        let state = tempfile::tempdir().unwrap();
        let path = kept(Some(state.path()), base64("YWJj")).unwrap().path;
        std::fs::write(&path, "").unwrap();
        kept(Some(state.path()), base64("YWJj")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
    }

    #[test]
    fn ten_mebibytes_fit_and_one_byte_more_does_not() {
        let state = tempfile::tempdir().unwrap();
        let chosen = state.path().join("chosen");
        let sparse = std::fs::File::create(&chosen).unwrap();
        sparse.set_len(MAX_BYTES).unwrap();
        assert_eq!(kept(Some(state.path()), file(&chosen)).unwrap().bytes, MAX_BYTES);
        sparse.set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(code(kept(Some(state.path()), file(&chosen))), Some(ErrorCode::TooLarge));
        // 10,485,760 bytes are 13,981,016 digits, the last one of which is padding… two bytes are in the last group.
        let mut exact = "A".repeat(13_981_012);
        exact.push_str("AA==");
        assert_eq!(kept(Some(state.path()), base64(&exact)).unwrap().bytes, MAX_BYTES);
        let mut over = "A".repeat(13_981_012);
        over.push_str("AAA=");
        assert_eq!(code(kept(Some(state.path()), base64(&over))), Some(ErrorCode::TooLarge));
    }

    #[test]
    fn what_is_no_regular_file_or_not_local_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let uri = |uri: &str| Offer { uri: Some(uri.to_owned()), base64: None, ..base64("") };
        let outcome = |offer| code(kept(Some(state.path()), offer));
        assert_eq!(outcome(file(state.path())), Some(ErrorCode::NotFound));
        assert_eq!(outcome(file(&state.path().join("missing"))), Some(ErrorCode::NotFound));
        assert_eq!(outcome(uri("https://example.com/x")), Some(ErrorCode::InvalidParams));
        assert_eq!(outcome(uri("x")), Some(ErrorCode::InvalidParams));
        assert_eq!(outcome(base64("%")), Some(ErrorCode::InvalidParams));
        assert_eq!(outcome(Offer { base64: None, ..base64("") }), Some(ErrorCode::InvalidParams));
        assert_eq!(
            outcome(Offer { base64: Some(String::new()), ..uri("file:///x") }),
            Some(ErrorCode::InvalidParams)
        );
        assert_eq!(code(kept(None, base64("YWJj"))), Some(ErrorCode::Unsupported));
        #[cfg(unix)]
        {
            let pipe = state.path().join("pipe");
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &pipe,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR,
                0,
            )
            .unwrap();
            assert_eq!(outcome(file(&pipe)), Some(ErrorCode::NotFound));
            assert_eq!(outcome(uri("file:///dev/zero")), Some(ErrorCode::NotFound));
        }
        #[cfg(target_os = "linux")]
        for made_up in [
            "file:///proc/self/environ",
            "file:///proc/self/cmdline",
            "file:///proc/self/root/etc/../proc/self/environ",
            "file:///proc/self/fd/0",
            "file:///dev/stdin",
            "file:///sys/kernel/uevent_seqnum",
            "file:///sys/kernel/notes",
        ] {
            assert_eq!(outcome(uri(made_up)), Some(ErrorCode::NotFound), "{made_up}");
        }
    }
}
