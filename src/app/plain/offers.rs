//! What the user can do at a place of a document: code actions, and code lenses where the editor has them.
//!
//! Owns that whatever is a lens is a code action too, and that nothing is allowed or accepted that was not shown whole.

use serde_json::{Value, json};

use super::approvals::{WaitingAsk, titles};
use super::commands::{LINES, PROMPTS};
use super::places::{line_range, lines_of};
use crate::app::client::ClientId;
use crate::app::inbox::commands::{
    ANSWER, ASK, CHAT, COMMENT, DECIDE, EXPLAIN, FIX, SEND, SHOW, STOP, TEST, UNDO,
};
use crate::app::inbox::{CommandOffer, OfferKind};
use crate::app::state::App;
use crate::domain::approval::{HunkState, HunkWay, ProposedFile, ProposedHunk};
use crate::domain::chat_document::{ChatText, Speaker, is_chat};
use crate::domain::comment_prompt::prompts_of;
use crate::domain::edits::overlay::Position;
use crate::domain::edits::patch;
use crate::domain::shown::{Kind, show};

/// First and last place of what is looked at.
type Span = (Position, Position);

impl App {
    /// Code actions at a place.
    pub(super) fn actions(
        &self,
        client: ClientId,
        uri: &str,
        at: Span,
        problems: &[String],
    ) -> Vec<CommandOffer> {
        let waiting = self.waiting_asks(client);
        if is_chat(uri) {
            let hunks = self.chat_hunks(client, uri, &waiting);
            // On a change that change is meant, so it comes first.
            let here: Vec<CommandOffer> =
                hunks.iter().filter(|offer| meets(offer.range, at)).cloned().collect();
            let mut offers = here.clone();
            offers.extend(self.chat_offers(client, uri));
            offers.extend(self.chat_asks(client, uri, &waiting));
            offers.extend(if here.is_empty() { hunks } else { Vec::new() });
            return offers;
        }
        let mut offers = self.comments(client, uri);
        offers.extend(self.file_hunks(uri, &waiting));
        offers.retain(|offer| meets(offer.range, at));
        offers.extend(self.edits_of_file(client, uri));
        for waits in &waiting {
            offers.extend(answers(waits, at));
        }
        if self.path_of(uri).is_some() {
            offers.extend(questions(uri, at, problems));
        }
        offers
    }

    /// Code lenses of a document.
    pub(super) fn lenses(&self, client: ClientId, uri: &str) -> Vec<CommandOffer> {
        let waiting = self.waiting_asks(client);
        let mut offers = Vec::new();
        if is_chat(uri) {
            offers.extend(self.chat_offers(client, uri));
            offers.extend(self.chat_asks(client, uri, &waiting));
            offers.extend(self.chat_hunks(client, uri, &waiting));
        } else {
            offers.extend(self.comments(client, uri));
            offers.extend(self.file_hunks(uri, &waiting));
            offers.extend(self.edits_of_file(client, uri));
        }
        offers
    }

    /// Send, stop and show the rest, each at the heading that it belongs to.
    fn chat_offers(&self, client: ClientId, uri: &str) -> Vec<CommandOffer> {
        let Some(text) = self.document_text(client, uri) else { return Vec::new() };
        let read = ChatText::read(&text);
        let chat = self.chat(client, uri);
        let sync = chat.and_then(|chat| chat.sync.as_ref());
        let argument = json!({ "uri": uri });
        let offer = |title: &str, command, line| CommandOffer {
            title: title.to_owned(),
            command,
            argument: argument.clone(),
            range: line_range(line),
            kind: OfferKind::QuickFix,
        };
        let answering = sync.and_then(|sync| read.answer(sync.nth()));
        let last = read.sections.last();
        let end = last.map_or(0, |section| section.line);
        let mut offers = Vec::new();
        if sync.is_some_and(|sync| sync.is_held()) {
            offers.push(offer("Show the answer", SHOW, answering.map_or(end, |section| section.line)));
        }
        if chat.is_some_and(|chat| chat.is_busy()) {
            offers.push(offer("Stop the agent", STOP, answering.map_or(end, |section| section.line)));
        } else if read.prompt().is_some() && last.is_some_and(|last| last.speaker == Speaker::You) {
            offers.push(offer("Send to the agent", SEND, end));
        }
        offers.extend(self.edits_of_chat(client, uri, answering.map_or(end, |section| section.line)));
        for (title, is_yes) in self.undo_offers(client, uri) {
            let argument = json!({ "uri": uri, "yes": is_yes });
            offers.push(CommandOffer {
                argument,
                ..offer(&title, UNDO, answering.map_or(end, |section| section.line))
            });
        }
        offers
    }

    /// Answers to what is asked, at its line in the chat.
    fn chat_asks(&self, client: ClientId, uri: &str, waiting: &[WaitingAsk]) -> Vec<CommandOffer> {
        let Some(text) = self.document_text(client, uri) else { return Vec::new() };
        let line = |waits: &WaitingAsk| {
            let head =
                format!("> **Asks:** {}", waits.ask.permission.title.lines().collect::<Vec<_>>().join(" "));
            let lines: Vec<&str> = text.lines().collect();
            let at = lines.iter().rposition(|line| *line == head).filter(|_| waits.uri == uri);
            at.unwrap_or_else(|| lines.len().saturating_sub(1))
        };
        waiting.iter().flat_map(|waits| answers(waits, line_range(line(waits)))).collect()
    }

    /// Decisions on the changes of proposals, at their hunks in the chat.
    fn chat_hunks(&self, client: ClientId, uri: &str, waiting: &[WaitingAsk]) -> Vec<CommandOffer> {
        let Some(text) = self.document_text(client, uri) else { return Vec::new() };
        let mut offers = Vec::new();
        for waits in waiting.iter().filter(|waits| waits.uri == uri && waits.is_shown) {
            let Some(proposal) = &waits.ask.proposal else { continue };
            let title = &waits.ask.permission.title;
            let in_lines = proposal.hunks().filter(|hunk| !hunk.diff.is_empty()).count();
            let mut places = hunk_lines(&text, title, in_lines).into_iter();
            for file in &proposal.files {
                for (nth, hunk) in file.hunks.iter().enumerate() {
                    // What has no lines of its own stands at the request.
                    let place = match hunk.diff.is_empty() {
                        true => request_line(&text, title).map(|line| (line, line)),
                        false => places.next(),
                    };
                    let Some((first, last)) = place else { continue };
                    let range = (line_range(first).0, line_range(last).1);
                    offers.extend(decisions(waits, file, (nth, hunk), range));
                }
            }
        }
        offers
    }

    /// The same, at their places in the files.
    fn file_hunks(&self, uri: &str, waiting: &[WaitingAsk]) -> Vec<CommandOffer> {
        let mut offers = Vec::new();
        for (waits, file) in self.proposed_in(uri, waiting) {
            let mut places = Vec::new();
            for (nth, hunk) in file.hunks.iter().enumerate() {
                let range = place_of(hunk);
                places.extend((hunk.state == HunkState::Proposed).then_some(range));
                offers.extend(decisions(waits, file, (nth, hunk), range));
            }
            if let (Some(first), true) = (places.first(), places.len() > 1) {
                offers.extend(whole_file(waits, file, *first));
            }
        }
        offers
    }

    /// The files of proposals that are this document.
    pub(super) fn proposed_in<'a>(
        &self,
        uri: &str,
        waiting: &'a [WaitingAsk],
    ) -> Vec<(&'a WaitingAsk, &'a ProposedFile)> {
        let here = crate::domain::policy::uri::spelling(uri);
        let mut found = Vec::new();
        for waits in waiting {
            for file in waits.ask.proposal.iter().flat_map(|proposal| &proposal.files) {
                let file_uri = self.uri_of(file.root.as_deref(), file.place(HunkWay::In));
                if file_uri.is_some_and(|file_uri| crate::domain::policy::uri::spelling(&file_uri) == here) {
                    found.push((waits, file));
                }
            }
        }
        found
    }

    /// Prompts in comments.
    fn comments(&self, client: ClientId, uri: &str) -> Vec<CommandOffer> {
        let Some(document) = self.clients.get(client).and_then(|client| client.overlay.get(uri)) else {
            return Vec::new();
        };
        let lines = lines_of(document, LINES);
        let prompts = prompts_of(lines.iter().map(String::as_str), PROMPTS);
        let offers = prompts.into_iter().map(|prompt| CommandOffer {
            title: "Send this comment to the agent".to_owned(),
            command: COMMENT,
            argument: json!({ "uri": uri, "line": prompt.lines.start() }),
            range: (line_range(*prompt.lines.start()).0, line_range(*prompt.lines.end()).1),
            kind: OfferKind::Rewrite,
        });
        offers.collect()
    }
}

/// Every answer to a request: no first, and anything else only of what was shown.
fn answers(waits: &WaitingAsk, range: Span) -> Vec<CommandOffer> {
    let permission = &waits.ask.permission;
    let offers =
        titles(&permission.options, waits.is_shown).into_iter().map(|(title, option)| CommandOffer {
            title: format!("{title}: {}", permission.title),
            command: ANSWER,
            argument: json!({ "sessionId": waits.session_id, "requestId": permission.request_id,
                          "optionId": option.option_id }),
            range,
            kind: OfferKind::QuickFix,
        });
    offers.collect()
}

/// What can be decided on a hunk that waits.
fn decisions(
    waits: &WaitingAsk,
    file: &ProposedFile,
    (nth, hunk): (usize, &ProposedHunk),
    range: Span,
) -> Vec<CommandOffer> {
    if hunk.state != HunkState::Proposed {
        return Vec::new();
    }
    let which = match file.label(hunk) {
        Some(label) => format!(": {}", show(&label, Kind::Code)),
        None => format!(" change {} of {} in {}", nth + 1, file.hunks.len(), file.file_path),
    };
    let decision = |accepted: bool, word: &str| {
        decide(waits, range, accepted, format!("{word}{which}"), json!({ "hunk": hunk.id }))
    };
    let accept = waits.is_shown.then(|| decision(true, "Accept"));
    accept.into_iter().chain([decision(false, "Reject")]).collect()
}

fn whole_file(waits: &WaitingAsk, file: &ProposedFile, range: Span) -> Vec<CommandOffer> {
    let named = json!({ "filePath": file.file_path, "root": file.root });
    let decision = |accepted: bool, word: &str| {
        decide(waits, range, accepted, format!("{word} all changes in {}", file.file_path), named.clone())
    };
    let accept = waits.is_shown.then(|| decision(true, "Accept"));
    accept.into_iter().chain([decision(false, "Reject")]).collect()
}

fn decide(waits: &WaitingAsk, range: Span, accepted: bool, title: String, named: Value) -> CommandOffer {
    let mut argument = named;
    argument["sessionId"] = json!(waits.session_id);
    argument["requestId"] = json!(waits.ask.permission.request_id);
    argument["accepted"] = json!(accepted);
    CommandOffer { title, command: DECIDE, argument, range, kind: OfferKind::QuickFix }
}

/// What can be asked about a place.
fn questions(uri: &str, at: Span, problems: &[String]) -> Vec<CommandOffer> {
    let argument = json!({ "uri": uri, "range": App::span(at), "problems": problems });
    let offer = |title: &str, command, kind| CommandOffer {
        title: title.to_owned(),
        command,
        argument: argument.clone(),
        range: at,
        kind,
    };
    vec![
        offer("Ask the agent about this", ASK, OfferKind::Other),
        offer("Let the agent explain this", EXPLAIN, OfferKind::Other),
        offer(
            "Let the agent fix this",
            FIX,
            if problems.is_empty() { OfferKind::Rewrite } else { OfferKind::QuickFix },
        ),
        offer("Let the agent write tests for this", TEST, OfferKind::Rewrite),
        offer("Open the chat with the agent", CHAT, OfferKind::Other),
    ]
}

/// Whether two ranges of lines have one in common.
fn meets(a: Span, b: Span) -> bool {
    a.0.line <= b.1.line && b.0.line <= a.1.line
}

/// Where a hunk is to be made, as far as its file is what it was proposed for.
pub(super) fn place_of(hunk: &ProposedHunk) -> Span {
    let read = patch::parse(&hunk.diff).unwrap_or_default();
    let Some(read) = read.iter().flat_map(|file| &file.hunks).next() else { return line_range(0) };
    let is_context = |line: &&patch::HunkLine| line.kind == patch::LineKind::Context;
    let lead = read.lines.iter().take_while(is_context).count() as u64;
    let removed = read.lines.iter().filter(|line| line.kind == patch::LineKind::Removed).count() as u64;
    let first = usize::try_from(read.old_start.saturating_sub(1) + lead).unwrap_or(usize::MAX);
    let last = first + usize::try_from(removed.saturating_sub(1)).unwrap_or(0);
    (line_range(first).0, line_range(last).1)
}

/// The line of a request in a chat.
fn request_line(text: &str, title: &str) -> Option<usize> {
    let head = format!("> **Asks:** {}", title.lines().collect::<Vec<_>>().join(" "));
    text.lines().collect::<Vec<_>>().iter().rposition(|line| *line == head)
}

/// First and last line of each hunk of a request in a chat.
fn hunk_lines(text: &str, title: &str, hunks: usize) -> Vec<(usize, usize)> {
    let Some(from) = request_line(text, title) else { return Vec::new() };
    let lines: Vec<&str> = text.lines().collect();
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (number, line) in lines.iter().enumerate().skip(from) {
        if line.starts_with("    @@ ") {
            found.push((number, number));
        } else if let (true, Some(open)) = (line.starts_with("    "), found.last_mut()) {
            open.1 = number;
        } else if line.starts_with("## ") {
            break;
        }
    }
    // Anything else would put a decision at the wrong change.
    if found.len() == hunks { found } else { Vec::new() }
}
