//! Places in documents of an editor: paths of the workspace, lines and what stands there.

use crate::app::client::ClientId;
use crate::app::state::App;
use crate::domain::edits::overlay::{OpenDocument, Position, char_at};
use crate::domain::policy::uri::spelling;

/// Bytes of a selection that go along with a prompt; the agent reads the rest itself.
const SELECTED: usize = 16 * 1024;

impl App {
    /// The path of a document as the user names it: relative to its folder, with the folder's name where several are open.
    pub(super) fn path_of(&self, uri: &str) -> Option<String> {
        let whole = spelling(uri);
        let several = self.workspace.folders.len() > 1;
        self.workspace.folders.iter().find_map(|folder| {
            let base = spelling(folder.uri.trim_end_matches('/'));
            let rest = whole.strip_prefix(base.as_slice())?.strip_prefix(b"/")?;
            let path = String::from_utf8_lossy(rest).into_owned();
            Some(if several { format!("{}/{path}", folder.name) } else { path })
        })
    }

    /// What stands between two places of an open document, and in which language.
    pub(super) fn selected_text(
        &self,
        client: ClientId,
        uri: &str,
        range: (Position, Position),
    ) -> Option<(String, String)> {
        let editor = self.clients.get(client)?;
        let document = editor.overlay.get(uri)?;
        let from = char_at(&document.text, range.0, editor.encoding)?;
        let to = char_at(&document.text, range.1, editor.encoding).unwrap_or(document.text.len_chars());
        let mut text: String = document.text.get_slice(from..to.max(from))?.to_string();
        if text.len() > SELECTED {
            text.truncate(text.floor_char_boundary(SELECTED));
            text.push('…');
        }
        Some((text, document.language_id.clone()))
    }
}

/// The whole line of a document.
pub(super) fn line_range(line: usize) -> (Position, Position) {
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    (Position { line, character: 0 }, Position { line, character: 0 })
}

/// The lines of a document, at most `most`.
pub(super) fn lines_of(document: &OpenDocument, most: usize) -> Vec<String> {
    document.text.lines().take(most).map(|line| line.to_string()).collect()
}
