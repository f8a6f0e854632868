//! `bb/listSessions` with a query: which sessions have these words.
//!
//! Owns what the answer is made of. Titles are looked at here, what was said beside the loop, by the journal.

use std::collections::BTreeMap;

use super::journal_failed;
use crate::app::inbox::Reply;
use crate::app::ports::{SearchFound, SearchJob};
use crate::app::state::App;
use crate::domain::session_search::{Said, SaidBy, has_all, passage, said, words};
use crate::domain::shown::{Kind, show};
use crate::protocol::request::{FoundIn, FoundPassage, ListSessionsResult, SessionSummary};

impl App {
    pub(in crate::app) fn find_sessions(&mut self, query: &str, reply: Reply<ListSessionsResult>) {
        let all = self.summaries();
        let words = words(query);
        if words.is_empty() {
            return reply.answer(ListSessionsResult {
                found: Some(BTreeMap::new()),
                ..ListSessionsResult::default()
            });
        }
        let sessions = all.iter().map(|summary| summary.session_id.clone()).collect();
        let journal = match self.journal() {
            Ok(journal) => journal,
            Err(error) => return reply.refuse(error),
        };
        let wanted = words.clone();
        let done = Box::new(move |found| match found {
            Ok(found) => reply.answer(found_among(all, found, &wanted)),
            Err(error) => reply.refuse(journal_failed(&error)),
        });
        journal.search(SearchJob { sessions, words, reads: said, done });
    }
}

/// The sessions in which the words stand, in the order of the list, and where.
fn found_among(all: Vec<SessionSummary>, found: SearchFound, words: &[String]) -> ListSessionsResult {
    let mut passages: BTreeMap<String, Vec<FoundPassage>> = BTreeMap::new();
    for (session_id, said) in found.said {
        passages.entry(session_id).or_default().push(shown(said, words));
    }
    let titled = |summary: &SessionSummary| {
        let title = summary.title.as_deref().unwrap_or_default();
        has_all(&format!("{title} {}", summary.agent.as_deref().unwrap_or_default()), words)
    };
    let sessions: Vec<SessionSummary> = all
        .into_iter()
        .filter(|summary| passages.contains_key(&summary.session_id) || titled(summary))
        .collect();
    let unsearched = u64::try_from(found.unsearched).ok().filter(|sessions| *sessions > 0);
    ListSessionsResult { sessions, found: Some(passages), unsearched }
}

fn shown(said: Said, words: &[String]) -> FoundPassage {
    let by = match said.speaker {
        SaidBy::User => FoundIn::Prompt,
        SaidBy::Assistant => FoundIn::Answer,
    };
    let text = show(&passage(&said.text, words), Kind::Sentence).into_owned();
    FoundPassage { block_id: said.block_id, by, text }
}
