//! Accepted changes that an editor without our plugin did not make: what the user can do about them, and how they are marked.
//!
//! Owns the offers and marks. Whether a change was made, and making it, is `edits`.

use serde_json::json;

use super::edits::{AwaitedEdit, AwaitedState};
use super::places::line_range;
use crate::app::client::ClientId;
use crate::app::edits::EditDone;
use crate::app::inbox::commands::MAKE;
use crate::app::inbox::{CommandOffer, OfferKind};
use crate::app::state::App;
use crate::domain::policy::uri::spelling;
use crate::domain::shown::{Kind, show};

/// What stands at the file of such a change.
pub(super) const NOT_MADE: &str =
    "The editor did not make the accepted change of this file; make it, or leave it out, by a code action.";

impl App {
    /// Both ways out, for the changes of a chat, at a line of it.
    pub(super) fn edits_of_chat(&self, client: ClientId, uri: &str, line: usize) -> Vec<CommandOffer> {
        let session_id = self.chat(client, uri).and_then(|chat| chat.session_id.as_deref());
        let of_chat =
            self.offered_edits(client).filter(|edit| Some(edit.done.session_id.as_str()) == session_id);
        of_chat.flat_map(|edit| ways_out(edit, line)).collect()
    }

    /// The same, for the change of a file, in it.
    pub(super) fn edits_of_file(&self, client: ClientId, uri: &str) -> Vec<CommandOffer> {
        let here = spelling(uri);
        let of_file = self.offered_edits(client).filter(|edit| spelling(&edit.done.uri) == here);
        of_file.flat_map(|edit| ways_out(edit, 0)).collect()
    }

    /// Changes that wait for the user's command.
    pub(super) fn offered_edits(&self, client: ClientId) -> impl Iterator<Item = &AwaitedEdit> {
        let awaited = self.plain(client).into_iter().flat_map(|plain| &plain.awaited);
        awaited.filter(|edit| matches!(edit.state, AwaitedState::Offered))
    }
}

fn ways_out(edit: &AwaitedEdit, line: usize) -> [CommandOffer; 2] {
    let AwaitedEdit { number, done: EditDone { path, .. }, .. } = edit;
    let path = show(path, Kind::Code);
    let offer = |title: String, leave: bool| CommandOffer {
        title,
        command: MAKE,
        argument: json!({ "edit": number, "leave": leave }),
        range: line_range(line),
        kind: OfferKind::QuickFix,
    };
    [
        offer(format!("Make the accepted change of {path}"), false),
        offer(format!("Leave out the change of {path}"), true),
    ]
}
