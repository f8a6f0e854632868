//! What the loop offers, in the shapes of LSP.
//!
//! Owns that a client without code action literals gets commands, and that words are not sorted out by the editor again.

use serde_json::{Value, json};

use crate::app::inbox::{CommandOffer, OfferKind, StandardAnswer, WordKind, WordOffered};
use crate::domain::edits::overlay::Position;

/// Which shapes a client reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::editor) struct Shapes {
    /// `textDocument.codeAction.codeActionLiteralSupport`.
    pub(in crate::editor) action_literals: bool,
}

/// The result of a request. `only` are the kinds of code actions that were asked for; empty: all.
pub(in crate::editor) fn write_answer(
    method: &str,
    answer: StandardAnswer,
    shapes: Shapes,
    only: &[String],
) -> Value {
    match answer {
        StandardAnswer::Offers(offers) if method == "textDocument/codeLens" => offers
            .into_iter()
            .map(|offer| json!({ "range": range(offer.range), "command": command(&offer) }))
            .collect(),
        StandardAnswer::Offers(offers) => offers
            .into_iter()
            .filter(|offer| only.is_empty() || only.iter().any(|only| is_of(kind(offer.kind), only)))
            .map(|offer| match shapes.action_literals {
                true => {
                    json!({ "title": title(&offer), "kind": kind(offer.kind), "command": command(&offer) })
                }
                false => command(&offer),
            })
            .collect(),
        StandardAnswer::Hints(hints) => hints
            .into_iter()
            .map(|hint| json!({ "position": place(hint.at), "label": hint.text, "paddingLeft": true }))
            .collect(),
        StandardAnswer::Words(words) => {
            json!({ "isIncomplete": true, "items": words.iter().enumerate().map(word).collect::<Vec<_>>() })
        }
        StandardAnswer::Begun => Value::Null,
    }
}

/// Whose it is, in a list with those of other servers.
fn title(offer: &CommandOffer) -> String {
    format!("BreadBoard: {}", offer.title)
}

fn command(offer: &CommandOffer) -> Value {
    json!({ "title": title(offer), "command": offer.command, "arguments": [offer.argument] })
}

fn kind(kind: OfferKind) -> &'static str {
    match kind {
        OfferKind::QuickFix => "quickfix",
        OfferKind::Rewrite => "refactor.rewrite",
        OfferKind::Other => "refactor",
    }
}

/// Whether a kind is this one or below it.
fn is_of(kind: &str, only: &str) -> bool {
    only.is_empty() || kind.strip_prefix(only).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn word((rank, offered): (usize, &WordOffered)) -> Value {
    let mut item = json!({
        "label": offered.word,
        "kind": match offered.kind { WordKind::Command => 3, WordKind::File => 17, WordKind::Folder => 19, WordKind::Symbol => 18 },
        "filterText": offered.typed,
        "sortText": format!("{rank:04}"),
        "textEdit": { "range": range(offered.range), "newText": offered.word },
    });
    if let Some(detail) = &offered.detail {
        item["detail"] = json!(detail);
    }
    item
}

fn place(at: Position) -> Value {
    json!({ "line": at.line, "character": at.character })
}

fn range(range: (Position, Position)) -> Value {
    json!({ "start": place(range.0), "end": place(range.1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_is_a_lens_an_action_or_a_command_by_what_the_client_reads() {
        let at = |line| Position { line, character: 0 };
        let offers = || {
            StandardAnswer::Offers(vec![CommandOffer {
                title: "Send".to_owned(),
                command: "breadboard.send",
                argument: json!({ "uri": "u" }),
                range: (at(1), at(2)),
                kind: OfferKind::Rewrite,
            }])
        };
        let command = json!({ "title": "BreadBoard: Send", "command": "breadboard.send", "arguments": [{ "uri": "u" }] });
        let span = json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 2, "character": 0 } });
        let literal = Shapes { action_literals: true };
        let action = json!({ "title": "BreadBoard: Send", "kind": "refactor.rewrite", "command": command });
        let actions = |shapes, only: &[&str]| {
            let only: Vec<String> = only.iter().map(|only| (*only).to_owned()).collect();
            write_answer("textDocument/codeAction", offers(), shapes, &only)
        };
        assert_eq!(
            write_answer("textDocument/codeLens", offers(), literal, &[]),
            json!([{ "range": span, "command": command }])
        );
        assert_eq!(actions(literal, &[]), json!([action]));
        assert_eq!(actions(literal, &["refactor"]), json!([action]));
        assert_eq!(actions(literal, &["quickfix", "ref"]), json!([]));
        assert_eq!(actions(Shapes::default(), &[]), json!([command]));
    }
}
