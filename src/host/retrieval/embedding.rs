//! Having the files of a folder read by the user's embedding model.
//!
//! Owns which files it may see, what is asked of it, and what happens when it fails. A file is sent only when its text is another than
//! the one that was read, and of it only the pieces that are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::content::decode;
use super::kinds::kind_of_file;
use super::line_kind::is_generated;
use super::pieces::{Piece, pieces_of};
use super::question::SearchQuestion;
use super::symbols::symbols_of;
use super::walk::{SourceFile, WalkedTree};
use crate::domain::policy::guarded_path::guarded_part;
use crate::host::index::FileStamp;
use crate::host::index::vectors::{
    Embedder, FileVectors, FolderVectors, PackedVector, PieceHash, PieceVector, VectorStanding,
};
use crate::host::models::{Embeddings, ModelError};
use crate::host::ports::{Root, WorkspaceView};

/// Texts of one request: every server takes as many, and little is lost with one.
const TEXTS: usize = 32;

/// Files that are read before what was found is kept.
const BATCH: usize = 16;

/// How often a request is tried, and how long is waited before the second time; twice as long each time.
const TRIES: u32 = 5;
const WAIT: Duration = Duration::from_secs(2);

/// Longest wait that an endpoint is given.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// How often a wait looks whether it is stopped.
const LOOK: Duration = Duration::from_millis(50);

/// What a file must count against code to be read: data and lock files say nothing that a question asks for.
const WORTH_READING: f64 = 0.2;

/// Whether a model may see the file of this path, and would learn something from it.
pub(super) fn is_worth_reading(rel: &str) -> bool {
    guarded_part(rel).is_none() && kind_of_file(rel, &SearchQuestion::default()) >= WORTH_READING
}

/// Has these files of a folder read, and forgets all others.
pub(super) fn have_read(
    folder: &FolderVectors,
    files: Vec<String>,
    embedder: &dyn Embedder,
    stop: &AtomicBool,
) {
    have_read_at(folder, files, embedder, stop, SystemTime::now());
}

/// The same as if the files were read at this time.
pub(super) fn have_read_at(
    folder: &FolderVectors,
    files: Vec<String>,
    embedder: &dyn Embedder,
    stop: &AtomicBool,
    now: SystemTime,
) {
    folder.load();
    folder.keep_only(&files.iter().map(String::as_str).collect::<BTreeSet<_>>());
    folder.reading(files.len() as u64);
    let root = Root { name: String::new(), uri: String::new(), path: folder.root().to_owned() };
    let view = WorkspaceView { roots: vec![root], ..WorkspaceView::default() };
    for batch in files.chunks(BATCH) {
        if stop.load(Ordering::Relaxed) {
            return folder.ended(VectorStanding::Stopped);
        }
        if folder.is_full() {
            return folder.ended(VectorStanding::Full);
        }
        let tree = WalkedTree::of_files(&view, batch.iter().map(String::as_str));
        let unread: Vec<UnreadFile> =
            tree.files.iter().filter_map(|file| UnreadFile::of(folder, &tree, file, now)).collect();
        match read(folder, unread, embedder, stop) {
            Ok(read) => folder.take(batch.len() as u64, read, 0),
            Err(_) if stop.load(Ordering::Relaxed) => return folder.ended(VectorStanding::Stopped),
            Err(error) => return folder.ended(VectorStanding::Failed(error.message)),
        }
    }
    folder.ended(VectorStanding::Complete);
}

/// A file of which something is to be read or written down.
struct UnreadFile {
    rel: String,
    stamp: FileStamp,
    is_settled: bool,
    hash: PieceHash,
    pieces: Vec<Piece>,
    /// What is known of pieces, by the hash of their text.
    known: BTreeMap<PieceHash, PackedVector>,
}

impl UnreadFile {
    /// `None`: all of it is known.
    fn of(folder: &FolderVectors, tree: &WalkedTree, file: &SourceFile, now: SystemTime) -> Option<Self> {
        let stamp = file.stamp?;
        if folder.known(&file.rel, stamp).is_some() {
            return None;
        }
        // Nothing is sent for a while; the flag is looked at in between.
        let bytes = tree.bytes(file, &AtomicBool::new(false))?;
        let hash = hash_of(&bytes);
        let kept = folder.file(&file.rel);
        let same = kept
            .as_deref()
            .filter(|kept| kept.hash == hash)
            .cloned()
            .or_else(|| folder.kept(&file.rel, hash));
        let unread = |pieces, known| Self {
            rel: file.rel.clone(),
            stamp,
            is_settled: stamp.is_settled(now),
            hash,
            pieces,
            known,
        };
        let text = decode(bytes).filter(|text| !is_generated(text));
        let pieces = text.map(|text| {
            let symbols = symbols_of(&file.rel, &text, &AtomicBool::new(false)).unwrap_or_default();
            pieces_of(&file.rel, &text, &symbols)
        });
        let known = same.iter().chain(kept.as_deref()).flat_map(|kept| &kept.pieces);
        let known = known.map(|piece| (piece.hash, piece.vector.clone())).collect();
        Some(unread(pieces.unwrap_or_default(), known))
    }

    /// What is known of it; `false`: not all of its pieces are, so that it is believed of no version.
    fn with_vectors(&self, is_whole: bool) -> (String, FileVectors) {
        let pieces = self.pieces.iter().filter_map(|piece| {
            let hash = hash_of(piece.text.as_bytes());
            let vector = self.known.get(&hash)?.clone();
            Some(PieceVector { start: piece.start as u32, end: piece.end as u32, hash, vector })
        });
        let hash = if is_whole { self.hash } else { PieceHash::default() };
        let is_settled = is_whole && self.is_settled;
        (self.rel.clone(), FileVectors { stamp: self.stamp, is_settled, hash, pieces: pieces.collect() })
    }
}

fn hash_of(bytes: &[u8]) -> PieceHash {
    let mut hash = [0; 16];
    hash.copy_from_slice(&Sha256::digest(bytes)[..16]);
    hash
}

/// The files with the vectors of all of their pieces. What each request brings is kept at once: a process that ends in between loses one.
fn read(
    folder: &FolderVectors,
    mut files: Vec<UnreadFile>,
    embedder: &dyn Embedder,
    stop: &AtomicBool,
) -> Result<Vec<(String, FileVectors)>, ModelError> {
    let mut wanted: Vec<(usize, PieceHash, String)> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        for piece in &file.pieces {
            let hash = hash_of(piece.text.as_bytes());
            if !file.known.contains_key(&hash) {
                wanted.push((at, hash, piece.text.clone()));
            }
        }
    }
    for some in wanted.chunks(TEXTS) {
        let texts: Vec<String> = some.iter().map(|(_, _, text)| text.clone()).collect();
        let bytes: usize = texts.iter().map(String::len).sum();
        let embeddings = asked_again(texts, embedder, stop)?;
        // Where it is not told: about four bytes a token.
        let tokens = embeddings.tokens.unwrap_or(bytes as u64 / 4);
        let mut touched = BTreeSet::new();
        for ((at, hash, _), vector) in some.iter().zip(&embeddings.vectors) {
            files[*at].known.insert(*hash, PackedVector::of(vector));
            touched.insert(*at);
        }
        folder.take(0, touched.into_iter().map(|at| files[at].with_vectors(false)).collect(), tokens);
    }
    Ok(files.iter().map(|file| file.with_vectors(true)).collect())
}

/// Asks, and again after a while where that can help.
fn asked_again(
    texts: Vec<String>,
    embedder: &dyn Embedder,
    stop: &AtomicBool,
) -> Result<Embeddings, ModelError> {
    let mut wait = WAIT;
    for _ in 1..TRIES {
        match embedder.pieces(texts.clone(), stop) {
            Err(error) if error.is_recoverable() => {
                let asked = error.retry.after_ms.map(Duration::from_millis);
                if !waited(asked.unwrap_or(wait).min(LONGEST_WAIT), stop) {
                    return Err(error);
                }
                wait *= 2;
            }
            answer => return answer,
        }
    }
    embedder.pieces(texts, stop)
}

/// Waits; gives whether it was not stopped.
fn waited(time: Duration, stop: &AtomicBool) -> bool {
    let mut left = time;
    while !left.is_zero() && !stop.load(Ordering::Relaxed) {
        let step = left.min(LOOK);
        std::thread::sleep(step);
        left -= step;
    }
    !stop.load(Ordering::Relaxed)
}
