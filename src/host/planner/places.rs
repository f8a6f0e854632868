//! Ranked places for a question.
//!
//! Owns how a place is shown: `path:line`, then its lines in a fence.

use serde_json::json;
use tokio::sync::mpsc;

use super::refused;
use crate::domain::wire::desktop::{RetrieveStage, ThinkingPhase};
use crate::host::retrieval::{self, Found, Place, Stage};
use crate::host::tools::{search, shown};
use crate::host::turn::{args, fence};
use crate::host::voice::Voice;

/// Places in one answer.
const PLACES: usize = 8;

/// Searches and shows what was found.
pub(super) async fn find(voice: &mut Voice<'_>, question: &str) -> bool {
    voice.thinking(ThinkingPhase::Retrieving, "Searching the workspace.").await;
    let call = voice.tool_started("find_places", args(&[("question", json!(question))])).await;
    let view = voice.port().workspace();
    let asked = question.to_owned();
    // Three stages a search; a stage that finds no room is only not shown.
    let (stages, mut heard) = mpsc::channel::<(Stage, u64)>(16);
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
                Some((stage, count)) = heard.recv() => tell(voice, stage, count).await,
                found = &mut work => break found,
            }
        }
    };
    while let Ok((stage, count)) = heard.try_recv() {
        tell(voice, stage, count).await;
    }
    let found = match found {
        Ok(found) => found,
        Err(refusal) => return refused(voice, &call, refusal).await,
    };
    let cited: Vec<_> = found
        .places
        .iter()
        .map(|place| {
            json!({
                "path": shown(place.root.as_deref(), &place.path),
                "startLine": place.start_line,
                "endLine": place.end_line,
            })
        })
        .collect();
    voice
        .tool_ended(
            &call,
            Ok(json!({ "summary": format!("{} places", cited.len()), "places": cited, "filesSearched": found.files_searched })),
        )
        .await;
    show(voice, question, &found).await
}

async fn tell(voice: &Voice<'_>, stage: Stage, count: u64) {
    let (stage, message) = match stage {
        Stage::SymbolSearch => (RetrieveStage::SymbolSearch, format!("{count} definitions match.")),
        Stage::TextSearch => (RetrieveStage::TextSearch, format!("{count} lines match.")),
        Stage::Reranking => (RetrieveStage::Reranking, format!("{count} places ranked.")),
    };
    voice.retrieving(stage, count, message).await;
}

async fn show(voice: &mut Voice<'_>, question: &str, found: &Found) -> bool {
    let files = match found.files_searched {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let part = if found.truncated { " (the workspace has more files than one search reads)" } else { "" };
    if found.places.is_empty() {
        let asked: String = question.chars().take(200).collect();
        voice
            .lines(&format!(
                "Nothing was found: {files} were searched{part} for the names and words of “{}”, and no definition and no \
                 line matches.\n",
                asked.trim()
            ))
            .await;
        return false;
    }
    voice.lines(&format!("Searched {files}{part}; the best matching places:\n")).await;
    for (index, place) in found.places.iter().enumerate() {
        voice.lines(&shown_place(index + 1, place)).await;
    }
    true
}

fn shown_place(number: usize, place: &Place) -> String {
    let path = shown(place.root.as_deref(), &place.path);
    let symbol = match &place.symbol {
        Some(symbol) => format!(" — {} `{}`", symbol.kind.as_str(), symbol.name),
        None => String::new(),
    };
    format!("\n{number}. `{path}:{}`{symbol}\n\n{}", place.start_line, fenced(&path, &place.snippet))
}

/// Lines of a file in a fence that they cannot end.
pub(super) fn fenced(path: &str, text: &str) -> String {
    let fence = fence(text);
    let language = path.rsplit_once('.').map_or("", |(_, end)| end);
    let language = if language.chars().all(|c| c.is_ascii_alphanumeric()) { language } else { "" };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}
