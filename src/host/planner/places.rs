//! Ranked places for a question.
//!
//! Owns how a place is shown: `path:line`, then its lines in a fence.

use serde_json::json;
use tokio::sync::mpsc;

use super::refused;
use crate::domain::dialect::desktop::message::RetrieveStage;
use crate::host::counted;
use crate::host::question::fence;
use crate::host::retrieval::{self, Found, Place, Stage, Symbol};
use crate::host::tools::{search, shown};
use crate::host::turn::args;
use crate::host::turn_output::TurnOutput;

/// Places in one answer.
const PLACES: usize = 5;

/// Lines of one place: five places fit on two screens.
const LINES: usize = 12;

/// Searches and shows what was found.
pub(super) async fn find(voice: &mut TurnOutput<'_>, question: &str) -> bool {
    let call = voice.tool_started("find_places", args(&[("question", json!(question))])).await;
    let view = voice.port().workspace();
    let asked = question.to_owned();
    // Five stages a search; a stage that finds no room is only not shown.
    let (stages, mut heard) = mpsc::channel::<(Stage, u64)>(16);
    let mut ranked = None;
    let found = {
        let work = search(move |cancel| {
            retrieval::find_places(&view, &asked, PLACES, cancel, &mut |stage, count| {
                let _ = stages.try_send((stage, count));
            })
        });
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                Some((stage, count)) = heard.recv() => tell(voice, (stage, count), &mut ranked).await,
                found = &mut work => break found,
            }
        }
    };
    while let Ok((stage, count)) = heard.try_recv() {
        tell(voice, (stage, count), &mut ranked).await;
    }
    let found = match found {
        Ok(found) => found,
        Err(refusal) => return refused(voice, &call, refusal).await,
    };
    if let Some(count) = ranked {
        voice.retrieving(RetrieveStage::Reranking, count, found.ranked()).await;
    }
    let cited: Vec<_> = found
        .places
        .iter()
        .map(|place| {
            json!({
                "path": shown(place.root.as_deref(), &place.path),
                "startLine": place.start_line,
                "endLine": place.end_line,
                "line": place.line,
            })
        })
        .collect();
    voice
        .tool_ended(
            &call,
            Ok(json!({ "summary": counted(cited.len() as u64, "place"), "places": cited, "filesSearched": found.files_searched })),
        )
        .await;
    show(voice, question, &found).await;
    true
}

/// Tells what a stage found. The last one is told of the whole answer: it is only kept how many places it `ranked`.
async fn tell(voice: &TurnOutput<'_>, (stage, count): (Stage, u64), ranked: &mut Option<u64>) {
    let (stage, message) = match stage {
        Stage::SymbolSearch => (RetrieveStage::SymbolSearch, matching(count, "definition")),
        Stage::TextSearch => (RetrieveStage::TextSearch, matching(count, "line")),
        Stage::VectorSearch => (
            RetrieveStage::VectorSearch,
            format!("{} {} near in meaning.", counted(count, "piece"), if count == 1 { "is" } else { "are" }),
        ),
        Stage::Reading => {
            (RetrieveStage::Reranking, format!("The reranker reads {}.", counted(count, "passage")))
        }
        Stage::Reranking => {
            *ranked = Some(count);
            return;
        }
    };
    voice.retrieving(stage, count, message).await;
}

fn matching(count: u64, noun: &str) -> String {
    format!("{} {}.", counted(count, noun), if count == 1 { "matches" } else { "match" })
}

/// Says what was found. A search that finds nothing was done as well as one that finds something.
async fn show(voice: &mut TurnOutput<'_>, question: &str, found: &Found) {
    let files = counted(found.files_searched, "file");
    let part = if found.truncated { " (the workspace has more files than one search reads)" } else { "" };
    if found.files_searched == 0 {
        voice
            .lines("There is no file to search here: hidden, ignored and very large files are left out, and files whose names are not UTF-8.\n")
            .await;
        return;
    }
    if found.places.is_empty() {
        let asked: String = question.chars().take(200).collect();
        voice
            .lines(&format!(
                "Nothing was found in {files}{part}: no definition and no line matches the names and words of “{}”. Words are \
                 compared as the code writes them, so names from the code work best.\n",
                asked.trim()
            ))
            .await;
        return;
    }
    voice
        .lines(&format!(
            "The best {} of {files} searched{part}:\n",
            counted(found.places.len() as u64, "place")
        ))
        .await;
    for (index, place) in found.places.iter().enumerate() {
        voice.lines(&shown_place(index + 1, place)).await;
    }
    if let Some(told) = &found.told {
        voice.lines(&format!("\n{told}\n")).await;
    }
}

fn shown_place(number: usize, place: &Place) -> String {
    let path = shown(place.root.as_deref(), &place.path);
    let symbol = match &place.symbol {
        Some(symbol) if symbol.start_line == place.line => {
            format!(" — {} `{}`", symbol.kind.as_str(), symbol.name)
        }
        Some(symbol) => format!(" — in {} `{}`", symbol.kind.as_str(), symbol.name),
        None => String::new(),
    };
    let lines = excerpt(&place.snippet, (place.line - place.start_line) as usize);
    let further = further(&place.further);
    format!("\n{number}. `{path}:{}`{symbol}\n\n{}{further}", place.line, fenced(&path, &lines))
}

/// What else of the file may be meant.
fn further(symbols: &[Symbol]) -> String {
    if symbols.is_empty() {
        return String::new();
    }
    let one =
        |symbol: &Symbol| format!("{} `{}` (line {})", symbol.kind.as_str(), symbol.name, symbol.start_line);
    format!("\nAlso in this file: {}.\n", symbols.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// At most `LINES` lines around the line to jump to, from 0, without blank ones at the edges.
fn excerpt(snippet: &str, focus: usize) -> String {
    let lines: Vec<&str> = snippet.lines().collect();
    // What follows says more than what stands before.
    let start = focus.saturating_sub(LINES / 3).min(lines.len().saturating_sub(LINES));
    let shown = &lines[start..lines.len().min(start + LINES)];
    let blank = |line: &&&str| line.trim().is_empty();
    let from = shown.iter().take_while(blank).count();
    let to = shown.len() - shown[from..].iter().rev().take_while(blank).count();
    shown[from..to].join("\n")
}

/// Lines of a file in a fence that they cannot end.
pub(super) fn fenced(path: &str, text: &str) -> String {
    let fence = fence(text);
    let language = path.rsplit_once('.').map_or("", |(_, end)| end);
    let language = if language.chars().all(|c| c.is_ascii_alphanumeric()) { language } else { "" };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_place_is_cut_around_its_line() {
        let long: Vec<String> = (0..30).map(|n| format!("l{n}")).collect();
        let of = |focus| {
            let shown = excerpt(&long.join("\n"), focus);
            let lines: Vec<&str> = shown.lines().collect();
            (lines[0].to_owned(), lines[lines.len() - 1].to_owned(), lines.len())
        };
        assert_eq!(of(0), ("l0".into(), "l11".into(), LINES));
        assert_eq!(of(10), ("l6".into(), "l17".into(), LINES));
        assert_eq!(of(29), ("l18".into(), "l29".into(), LINES));
        assert_eq!(excerpt("\n\na\n\nb\n \n", 2), "a\n\nb");
        assert_eq!((excerpt("", 0), excerpt("\n\n", 0)), (String::new(), String::new()));
    }
}
