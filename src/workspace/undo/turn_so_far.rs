//! One turn that runs: the record of its changes so far.
//!
//! Owns how several changes of one file become one, and what is kept of them. What is found at the end is taken in here too. Never
//! looks at a folder.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::approval::ChangeKind;
use crate::domain::edits::take_back::TakeBack;
use crate::domain::edits::text::content_hash;
use crate::domain::undo::{
    BeforeSource, ChangedBy, ChangedFile, FileImage, ImageForm, NowContent, TurnRecord, UncoveredFile,
    UncoveredReason,
};

use super::baseline::Baseline;
use super::contents::{UndoDesk, read};
use super::found::{FoundChange, FoundChanges, FoundContent};
use super::images::{LIMITS, SessionPlace};
use super::shown;

/// Files of one turn that are kept: more than anybody reviews. The rest is told as one line.
const MOST_FILES: usize = 2_000;

/// A turn that runs.
pub(super) struct OpenTurn {
    pub(super) place: SessionPlace,
    pub(super) record: TurnRecord,
    /// Bytes that were kept for it.
    kept: u64,
    /// What the files were, once that was looked at.
    pub(super) baseline: Option<Baseline>,
    /// Files that the user saved in an editor while it ran.
    pub(super) saved: BTreeSet<(String, String)>,
    /// Turns of other sessions ran at the same time.
    pub(super) is_shared: bool,
}

/// One change of a file.
pub(super) struct FileWrite<'a> {
    pub(super) root: &'a str,
    pub(super) path: &'a str,
    pub(super) by: ChangedBy,
    pub(super) source: BeforeSource,
    pub(super) before: Option<ImageContent<'a>>,
    pub(super) after: Option<ImageContent<'a>>,
}

/// What a file holds before or after a change.
#[derive(Clone, Copy)]
pub(super) struct ImageContent<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) form: ImageForm,
    pub(super) mode: Option<u32>,
}

impl ImageContent<'_> {
    fn read(self) -> NowContent {
        match self.form {
            ImageForm::Disk => read(self.bytes),
            ImageForm::Buffer => NowContent::Text(String::from_utf8_lossy(self.bytes).into_owned()),
        }
    }
}

impl OpenTurn {
    pub(super) fn new(place: SessionPlace, record: TurnRecord) -> Self {
        let kept = record.files.iter().flat_map(|file| [&file.before, &file.after]).flatten();
        let kept = kept.map(|image| image.bytes).sum();
        Self { place, record, kept, baseline: None, saved: BTreeSet::new(), is_shared: false }
    }

    /// The turn that ran when the process before this one ended.
    pub(super) fn found(place: SessionPlace) -> Option<Self> {
        let record =
            place.turns().into_iter().find_map(|turn| place.load(turn).filter(|record| record.running))?;
        Some(Self::new(place, record))
    }

    /// Takes in what was found at the end.
    pub(super) fn take_found(&mut self, found: FoundChanges, others: &BTreeSet<(String, String, String)>) {
        for change in found.changes {
            let hash = change.after.as_ref().map(|after| content_hash(&after.bytes)).unwrap_or_default();
            let name = (change.root.clone(), change.path.clone());
            if others.contains(&(name.0.clone(), name.1.clone(), hash)) {
                continue;
            }
            match self.record.file(&name.0, &name.1).cloned() {
                Some(known) if self.saved.contains(&name) => {
                    // What the user made of it since is none of the turn's.
                    tracing::debug!(path = known.path, "a file that the turn wrote was saved by the user");
                }
                Some(known) => self.take_more(&known, &change),
                None if self.saved.contains(&name) => {
                    let message = format!(
                        "You saved `{}` in the editor while the turn ran, so what else changed in it is not told apart.",
                        name.1
                    );
                    self.uncovered(&name.0, &name.1, UncoveredReason::SavedMeanwhile, &message);
                }
                None => self.take_new(&change),
            }
        }
        for file in found.uncovered {
            match file.what {
                // Of what we wrote ourselves it is known.
                Ok(path) if self.record.file(&file.root, &path).is_some() => {}
                Ok(path) => self.uncovered(&file.root, &path, file.reason, &file.message),
                Err(files) => self.record.uncovered.push(UncoveredFile {
                    path: None,
                    root: Some(file.root),
                    reason: file.reason,
                    files: Some(files).filter(|files| *files > 0),
                    message: file.message,
                }),
            }
        }
        self.join_renames();
        self.save();
    }

    /// A file that nobody told of.
    fn take_new(&mut self, found: &FoundChange) {
        fn of(content: &FoundContent) -> ImageContent<'_> {
            ImageContent { bytes: &content.bytes, form: ImageForm::Disk, mode: content.mode }
        }
        self.take(&FileWrite {
            root: &found.root,
            path: &found.path,
            by: ChangedBy::Engine,
            source: found.source,
            before: found.before.as_ref().map(of),
            after: found.after.as_ref().map(of),
        });
        let remark = self.is_shared.then(|| {
            "Another session worked in this workspace at the same time, so this may be a change of its turn.".to_owned()
        });
        if let Some(file) = self.record.file_mut(&found.root, &found.path) {
            file.new_folders = found.new_folders;
            file.remark = remark;
        }
    }

    /// A file that we wrote, and that holds something else by now.
    fn take_more(&mut self, known: &ChangedFile, found: &FoundChange) {
        let left = known.after.as_ref().and_then(|image| Some((image.form, self.place.content(image)?)));
        let left = left.as_ref().map(|(form, bytes)| ImageContent { bytes, form: *form, mode: None });
        let after = found.after.as_ref().map(|after| ImageContent {
            bytes: &after.bytes,
            form: ImageForm::Disk,
            mode: after.mode,
        });
        let read = |content: Option<ImageContent<'_>>| content.map_or(NowContent::Absent, ImageContent::read);
        if read(left) == read(after) {
            return;
        }
        self.take(&FileWrite {
            root: &found.root,
            path: &found.path,
            by: ChangedBy::Engine,
            source: known.source,
            before: left,
            after,
        });
    }

    /// A file that went and one of the same content that came are one that got another name, where no third one has it.
    fn join_renames(&mut self) {
        let files = &self.record.files;
        let of_kind = |kind: ChangeKind| files.iter().filter(move |file| file.change == kind);
        let hash = |image: &Option<FileImage>| image.as_ref().map(|image| image.hash.clone());
        let mut pairs = Vec::new();
        for gone in of_kind(ChangeKind::Delete)
            .filter(|gone| gone.before.as_ref().is_some_and(|image| image.bytes > 0))
        {
            let same = |one: &&ChangedFile| one.root == gone.root && hash(&one.after) == hash(&gone.before);
            let twins =
                of_kind(ChangeKind::Delete).filter(|one| hash(&one.before) == hash(&gone.before)).count();
            let came: Vec<&ChangedFile> = of_kind(ChangeKind::Create).filter(same).collect();
            if let ([came], 1) = (came.as_slice(), twins) {
                pairs.push((gone.root.clone(), gone.path.clone(), came.path.clone()));
            }
        }
        for (root, old, new) in pairs {
            let before = self.record.file(&root, &old).and_then(|file| file.before.clone());
            self.record.files.retain(|file| file.root != root || file.path != old);
            if let Some(file) = self.record.file_mut(&root, &new) {
                (file.change, file.old_path, file.before) = (ChangeKind::Rename, Some(old), before);
            }
        }
    }

    pub(super) fn save(&self) {
        if let Err(error) = self.place.save(&self.record) {
            tracing::warn!(%error, "what a turn changed cannot be kept");
        }
    }

    /// Takes in a change that is made now.
    pub(super) fn take(&mut self, change: &FileWrite<'_>) {
        if let Err((reason, message)) = self.keep(change) {
            self.uncovered(change.root, change.path, reason, &message);
        }
        self.save();
    }

    fn keep(&mut self, change: &FileWrite<'_>) -> Result<(), (UncoveredReason, String)> {
        if self.is_uncovered(change.root, change.path) {
            return Ok(());
        }
        let known = self.record.file(change.root, change.path).cloned();
        if known.is_none() && self.record.files.len() >= MOST_FILES {
            let message =
                format!("More than {MOST_FILES} files changed, so the others cannot be taken back.");
            return Err((UncoveredReason::Budget, message));
        }
        let after = self.image(change.after, change.path)?;
        let Some(known) = known else {
            let before = self.image(change.before, change.path)?;
            self.record.files.push(ChangedFile {
                path: change.path.to_owned(),
                root: change.root.to_owned(),
                old_path: None,
                change: kind(before.as_ref(), after.as_ref()),
                by: change.by,
                source: change.source,
                before,
                after,
                added: 0,
                removed: 0,
                new_folders: 0,
                marks: BTreeMap::new(),
                remark: None,
            });
            self.record.files.sort_by(|one, other| (&one.root, &one.path).cmp(&(&other.root, &other.path)));
            return Ok(());
        };
        let before = self.before_both(&known, change)?;
        if let Some(file) = self.record.file_mut(change.root, change.path) {
            file.change = kind(before.as_ref(), after.as_ref());
            (file.before, file.after) = (before, after);
            if change.by == ChangedBy::Engine {
                file.by = ChangedBy::Engine;
            }
        }
        Ok(())
    }

    /// What a file held before two changes of the turn. What the user changed between the two is none of the turn's: it counts as
    /// if it had been there before.
    fn before_both(
        &mut self,
        known: &ChangedFile,
        change: &FileWrite<'_>,
    ) -> Result<Option<FileImage>, (UncoveredReason, String)> {
        let between = change.before.map_or(NowContent::Absent, ImageContent::read);
        let kept = |image: Option<&FileImage>| match image {
            None => Some(NowContent::Absent),
            Some(image) => {
                let bytes = self.place.content(image)?;
                Some(ImageContent { bytes: &bytes, form: image.form, mode: None }.read())
            }
        };
        let (first, left) = (kept(known.before.as_ref()), kept(known.after.as_ref()));
        if left.as_ref() == Some(&between) {
            return Ok(known.before.clone());
        }
        match (first, left, &between) {
            (Some(NowContent::Text(first)), Some(NowContent::Text(left)), NowContent::Text(between)) => {
                let compared = TakeBack::compare(None, change.path, &first, &left, between);
                let text = compared.without_what_stands();
                let content = ImageContent {
                    bytes: text.as_bytes(),
                    form: ImageForm::Buffer,
                    mode: known.before.as_ref().and_then(|image| image.mode),
                };
                self.image(Some(content), change.path)
            }
            (_, _, _) => self.image(change.before, change.path),
        }
    }

    fn image(
        &mut self,
        content: Option<ImageContent<'_>>,
        path: &str,
    ) -> Result<Option<FileImage>, (UncoveredReason, String)> {
        let Some(content) = content else { return Ok(None) };
        let bytes = content.bytes.len() as u64;
        if bytes > LIMITS.file {
            let most = LIMITS.file >> 20;
            let message = format!("`{path}` is larger than {most} MiB, so what it held before was not kept.");
            return Err((UncoveredReason::TooLarge, message));
        }
        if self.kept + bytes > LIMITS.turn {
            let most = LIMITS.turn >> 20;
            let message =
                format!("The turn changed more than {most} MiB, so what `{path}` held before was not kept.");
            return Err((UncoveredReason::Budget, message));
        }
        match self.place.keep(content.bytes, content.form, content.mode) {
            Ok(image) => {
                self.kept += bytes;
                Ok(Some(image))
            }
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let message =
                    format!("`{path}` holds a token that is set here, so what it held before was not kept.");
                Err((UncoveredReason::Secret, message))
            }
            Err(error) => {
                tracing::warn!(%error, "what a file held before a turn cannot be kept");
                let message = format!("What `{path}` held before could not be kept ({}).", error.kind());
                Err((UncoveredReason::Budget, message))
            }
        }
    }

    /// A file of which something changed that cannot be taken back: nothing of it is.
    fn uncovered(&mut self, root: &str, path: &str, reason: UncoveredReason, message: &str) {
        self.record.files.retain(|file| file.root != root || file.path != path);
        if !self.is_uncovered(root, path) && self.record.uncovered.len() < MOST_FILES {
            self.record.uncovered.push(UncoveredFile {
                path: Some(path.to_owned()),
                root: Some(root.to_owned()),
                reason,
                files: None,
                message: message.to_owned(),
            });
        }
    }

    /// Whether something of a file changed that cannot be taken back.
    fn is_uncovered(&self, root: &str, path: &str) -> bool {
        let is_it = |known: &UncoveredFile| {
            known.path.as_deref() == Some(path) && known.root.as_deref() == Some(root)
        };
        self.record.uncovered.iter().any(is_it)
    }

    /// What was announced and did not come to pass is no change, and the rest is counted.
    pub(super) fn settle(&mut self, desk: &UndoDesk<'_>) {
        let session_id = self.record.session_id.clone();
        self.record.files.retain_mut(|file| {
            let before = desk.kept(&session_id, file.before.as_ref());
            let after = desk.kept(&session_id, file.after.as_ref());
            let (Ok(before), Ok(after)) = (before, after) else { return true };
            if file.change == ChangeKind::Rename {
                return true;
            }
            (file.added, file.removed) = shown::counts(file, &before, &after);
            let bytes = |image: &Option<FileImage>| {
                image.as_ref().filter(|image| image.form == ImageForm::Disk).map(|image| image.hash.clone())
            };
            // The same text may lie on disk in other bytes.
            let (was, is) = (bytes(&file.before), bytes(&file.after));
            let differ = before != after || (was.is_some() && is.is_some() && was != is);
            let is_there = desk.now(&file.root, &file.path).is_ok_and(|now| {
                now.content != before
                    || (was.is_some() && now.disk.is_some_and(|disk| Some(content_hash(&disk)) != was))
            });
            differ && is_there
        });
    }
}

fn kind(before: Option<&FileImage>, after: Option<&FileImage>) -> ChangeKind {
    match (before, after) {
        (None, _) => ChangeKind::Create,
        (Some(_), None) => ChangeKind::Delete,
        (Some(_), Some(_)) => ChangeKind::Modify,
    }
}
