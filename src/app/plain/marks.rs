//! Marks in documents: diagnostics of our own for what waits for the user, hints for how a chat stands.
//!
//! Owns what was marked where, and that an editor asks again for lenses and hints when they changed. Never marks what is decided.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::json;

use super::PlainAsk;
use super::approvals::WaitingAsk;
use super::offered_edits::NOT_MADE;
use super::offers::place_of;
use super::places::line_range;
use crate::app::client::ClientId;
use crate::app::inbox::StateHint;
use crate::app::state::App;
use crate::app::wire_out;
use crate::domain::approval::{HunkState, HunkWay};
use crate::domain::chat_document::{ChatText, is_chat};
use crate::domain::edits::overlay::Position;
use crate::domain::shown::{Kind, show};

/// Whose marks these are, beside those of other servers.
const SOURCE: &str = "breadboard";

/// Bytes of a change in a mark; the chat document has all of it.
const CHANGE: usize = 2_000;

/// One mark of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedMark {
    range: (Position, Position),
    /// LSP: 2 is a warning, 3 information.
    severity: u8,
    message: String,
}

impl App {
    /// Marks what waits, takes away what does not, and has the editor ask again where it shows more than that.
    pub(super) fn step_marks(&mut self, client: ClientId) {
        let waiting = self.waiting_asks(client);
        let marks = self.marks_of(client, &waiting);
        let Some(plain) = self.plain_mut(client) else { return };
        let before = std::mem::replace(&mut plain.marks, marks.clone());
        let gone = before.keys().filter(|uri| !marks.contains_key(*uri)).map(|uri| (uri.clone(), Vec::new()));
        let changed = marks.iter().filter(|(uri, marks)| before.get(*uri) != Some(*marks));
        let news: Vec<(String, Vec<PlacedMark>)> =
            gone.chain(changed.map(|(uri, marks)| (uri.clone(), marks.clone()))).collect();
        for (uri, marks) in news {
            let diagnostics: Vec<_> = marks
                .iter()
                .map(|mark| {
                    json!({ "range": Self::span(mark.range), "severity": mark.severity, "source": SOURCE,
                            "message": mark.message })
                })
                .collect();
            let message = wire_out::notification(
                "textDocument/publishDiagnostics",
                &json!({ "uri": uri, "diagnostics": diagnostics }),
            );
            let sent = self.clients.get(client).is_some_and(|client| client.push(message));
            if !sent && let Some(plain) = self.plain_mut(client) {
                // Again with the next event.
                plain.marks.remove(&uri);
            }
        }
        self.tell_to_ask_again(client, &waiting);
    }

    fn marks_of(&self, client: ClientId, waiting: &[WaitingAsk]) -> BTreeMap<String, Vec<PlacedMark>> {
        let mut marks: BTreeMap<String, Vec<PlacedMark>> = BTreeMap::new();
        for waits in waiting {
            let title = &waits.ask.permission.title;
            let asked_in = self.chat(client, &waits.uri).and_then(|chat| chat.origin.clone());
            let uri = if waits.uri.is_empty() { asked_in } else { Some(waits.uri.clone()) };
            if let Some(uri) = uri {
                let line = self.line_of_answer(client, &waits.uri);
                let how = if waits.is_shown {
                    "answer by a code action"
                } else {
                    "show it, or deny, by a code action"
                };
                let message = format!("The agent asks: {title} ({how})");
                marks.entry(uri).or_default().push(PlacedMark {
                    range: line_range(line),
                    severity: 2,
                    message,
                });
            }
            for file in waits.ask.proposal.iter().flat_map(|proposal| &proposal.files) {
                let Some(uri) = self.uri_of(file.root.as_deref(), file.place(HunkWay::In)) else { continue };
                let uri = self.spelled(client, uri);
                for (nth, hunk) in
                    file.hunks.iter().enumerate().filter(|(_, hunk)| hunk.state == HunkState::Proposed)
                {
                    let label = file.label(hunk).map(|label| format!("{label}\n"));
                    let change = label.unwrap_or_default() + &hunk.diff;
                    let change = show(&change, Kind::Lines);
                    let change = change.get(..change.floor_char_boundary(CHANGE)).unwrap_or_default();
                    let message = format!(
                        "Proposed change {} of {}, to be accepted or rejected by a code action:\n{}",
                        nth + 1,
                        file.hunks.len(),
                        change.trim_end()
                    );
                    marks.entry(uri.clone()).or_default().push(PlacedMark {
                        range: place_of(hunk),
                        severity: 3,
                        message,
                    });
                }
            }
        }
        for edit in self.offered_edits(client) {
            let mark = PlacedMark { range: line_range(0), severity: 2, message: NOT_MADE.to_owned() };
            marks.entry(edit.done.uri.clone()).or_default().push(mark);
        }
        marks
    }

    /// A URI as the editor spells it, where the document is open.
    fn spelled(&self, client: ClientId, uri: String) -> String {
        let wanted = crate::domain::policy::uri::spelling(&uri);
        let open = self.clients.get(client).into_iter().flat_map(|client| client.overlay.iter());
        let known =
            open.map(|(open, _)| open).find(|open| crate::domain::policy::uri::spelling(open) == wanted);
        known.map_or(uri, str::to_owned)
    }

    fn line_of_answer(&self, client: ClientId, uri: &str) -> usize {
        let Some(text) = self.document_text(client, uri) else { return 0 };
        let read = ChatText::read(&text);
        let nth = self.chat(client, uri).and_then(|chat| chat.sync.as_ref()).map(|sync| sync.nth());
        let section = nth.and_then(|nth| read.answer(nth)).or_else(|| read.answers().last());
        section.map_or(0, |section| section.line)
    }

    /// How a chat stands, behind the heading of its answer.
    pub(super) fn hints(&self, client: ClientId, uri: &str) -> Vec<StateHint> {
        if !is_chat(uri) {
            return Vec::new();
        }
        let Some(chat) = self.chat(client, uri).filter(|chat| chat.sync.is_some()) else { return Vec::new() };
        let asks = chat
            .session_id
            .as_deref()
            .and_then(|id| self.known(id).ok())
            .and_then(|session| session.live.as_ref());
        let text = if asks.is_some_and(|live| !live.asks.is_empty()) {
            "waits for your answer"
        } else if chat.sync.as_ref().is_some_and(|sync| sync.is_held()) {
            "has more to show"
        } else if chat.is_busy() {
            "works"
        } else {
            return Vec::new();
        };
        let line = u32::try_from(self.line_of_answer(client, uri)).unwrap_or(u32::MAX);
        let Some(heading) =
            self.document_text(client, uri).and_then(|text| text.lines().nth(line as usize).map(str::len))
        else {
            return Vec::new();
        };
        let character = u32::try_from(heading).unwrap_or(0);
        vec![StateHint { at: Position { line, character }, text: text.to_owned() }]
    }

    fn tell_to_ask_again(&mut self, client: ClientId, waiting: &[WaitingAsk]) {
        let mut state = DefaultHasher::new();
        for waits in waiting {
            (&waits.ask.permission.request_id, waits.is_shown).hash(&mut state);
            let hunks = waits.ask.proposal.iter().flat_map(|proposal| proposal.hunks());
            hunks.for_each(|hunk| (&hunk.id, hunk.state == HunkState::Proposed).hash(&mut state));
        }
        for (uri, chat) in self.plain(client).into_iter().flat_map(|plain| &plain.chats) {
            (uri, chat.is_busy(), chat.sync.as_ref().map(|sync| sync.is_held())).hash(&mut state);
        }
        self.offered_edits(client).for_each(|edit| edit.number.hash(&mut state));
        let state = state.finish();
        let Some(plain) = self.plain_mut(client) else { return };
        if std::mem::replace(&mut plain.told, state) == state {
            return;
        }
        let able = self.clients.get(client).and_then(|client| client.abilities.plain).unwrap_or_default();
        if able.refresh_lenses {
            self.ask_plain(client, "workspace/codeLens/refresh", &json!(null), PlainAsk::Told);
        }
        if able.refresh_hints {
            self.ask_plain(client, "workspace/inlayHint/refresh", &json!(null), PlainAsk::Told);
        }
    }
}
