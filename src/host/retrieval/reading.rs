//! Having the user's reranker read the best passages together with the question, and what its order changes.
//!
//! Owns which passages it is given and how much of them: nothing without trust, no secret, within bounds of number and bytes. It is asked
//! once a question, and once more where it says that nothing fits and which words would. What it names comes first, in its order; without
//! an answer in time everything stands as words rank it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::lines::one_line;
use super::ranking::Ranking;
use super::rerank::{PLACES_PER_FILE, Ranked, choose};
use super::{PassagesRead, Place, RetrievalError, Stage, Symbol};
use crate::domain::policy::guarded_path::guarded_part;
use crate::host::index::reranker::{ReadPassage, ReadingBounds, ReadingRound, Reranker};
use crate::host::index::{Asked, Asking};
use crate::host::models::ReadOrder;
use crate::host::ports::WorkspaceView;

/// Bytes of one passage, as of a piece that an embedding model reads: what follows in a long line or function says little more.
const PASSAGE_BYTES: usize = 1_600;

/// Bytes of all passages: about ten thousand tokens, which is read within a second or two and costs a fraction of a cent.
const TEXT_BYTES: usize = 40 * 1_024;

/// Bytes of a question that are read.
const QUESTION_BYTES: usize = 4_096;

/// Most passages of one file that are read, so that a large one leaves room for others.
const PER_FILE: usize = 12;

/// What each further passage of a file must be better than one of another file to be read: less than to be shown, since here the right
/// one has only to be there.
const AGAIN: f64 = 0.2;

/// What came of it.
pub(super) struct Reading {
    /// The places of the answer, best first, by their place among all passages; `None`: as words rank them.
    pub chosen: Option<Vec<usize>>,
    /// What a person is told, where that is news.
    pub told: Option<String>,
    /// What became of it.
    pub read: PassagesRead,
}

/// Who reads, and for which question.
struct Reader<'a> {
    reranker: Arc<dyn Reranker>,
    asking: Arc<Asking>,
    bounds: ReadingBounds,
    name: String,
    question: &'a str,
    until: Instant,
    cancel: &'a AtomicBool,
}

impl Reading {
    /// Has this ranking read, and where the reader names words for what it did not find, the one that `again` makes of them. `None` where
    /// nobody reads.
    ///
    /// # Errors
    /// When the search was cancelled in between.
    pub(super) fn of<'t>(
        view: &WorkspaceView,
        ranking: Ranking<'t>,
        (question, limit): (&str, usize),
        (cancel, progress): (&AtomicBool, &mut dyn FnMut(Stage, u64)),
        again: impl FnOnce(&str) -> Result<Ranking<'t>, RetrievalError>,
    ) -> Result<(Ranking<'t>, Option<Self>), RetrievalError> {
        let slot = view.indexes.as_ref().filter(|_| view.trusted).map(|indexes| indexes.reranker().get());
        let Some((reranker, asking)) = slot.flatten() else { return Ok((ranking, None)) };
        let (bounds, name) = (reranker.bounds(), reranker.name());
        let until = Instant::now() + bounds.patience;
        let question = &question[..question.floor_char_boundary(QUESTION_BYTES)];
        let reader = Reader { reranker, asking, bounds, name, question, until, cancel };
        let first = pool(&ranking, bounds.passages, |_| true);
        if first.len() < 2 {
            return Ok((ranking, None));
        }
        let mut answer = match reader.read(&ranking, first, ReadingRound::First, progress)? {
            Ok(answer) => answer,
            Err(Unread { why, is_news }) => {
                let told = is_news.then(|| told("The places stand as words rank them", &why));
                let reading = Self { chosen: None, told, read: PassagesRead::Unread(why) };
                return Ok((ranking, Some(reading)));
            }
        };
        let mut missed = None;
        if let Some(words) = answer.words.take().filter(|_| reader.has_time()) {
            let wider = again(&words)?;
            if let Some(pool) = answer.places_in(&ranking, &wider) {
                match reader.read(&wider, pool, ReadingRound::Last, progress)? {
                    Ok(next) => {
                        let answer = next.behind(&answer, &ranking, &wider);
                        let reading = answer.reading(&wider, limit, reader.name);
                        return Ok((wider, Some(reading)));
                    }
                    Err(unread) => missed = Some(unread).filter(|unread| unread.is_news),
                }
            }
        }
        let reading = answer.reading(&ranking, limit, reader.name);
        let stands = "The places stand in the first order of the reranker, which was asked once more";
        let told = missed.map(|unread| told(stands, &unread.why));
        Ok((ranking, Some(Self { told, ..reading })))
    }
}

/// What a person is told of a reranker that failed: how the places stand now, and why.
fn told(stands: &str, why: &str) -> String {
    format!("{stands}: {why} The reranker is asked again later.")
}

/// No answer: why, as a sentence, and whether nobody was told so before.
struct Unread {
    why: String,
    is_news: bool,
}

/// What a reader said of the passages that it was given.
struct Read {
    /// The passages that were read, by their place among all.
    pool: Vec<usize>,
    /// Those that it named, best first.
    named: Vec<usize>,
    words: Option<String>,
    passages: u64,
    tokens: Option<u64>,
    cost: Option<f64>,
}

impl Reader<'_> {
    /// Whether there is time for another request: one that has to be given up helps nobody.
    fn has_time(&self) -> bool {
        self.until.saturating_duration_since(Instant::now()) * 2 >= self.bounds.patience
    }

    /// Has these passages read.
    fn read(
        &self,
        ranking: &Ranking<'_>,
        mut pool: Vec<usize>,
        round: ReadingRound,
        progress: &mut dyn FnMut(Stage, u64),
    ) -> Result<Result<Read, Unread>, RetrievalError> {
        pool.truncate(self.bounds.passages);
        let passages = passages(ranking, &pool, self.bounds);
        pool.truncate(passages.len());
        let count = passages.len() as u64;
        // Nobody is told of a reading that there is not.
        if !self.asking.rests() {
            progress(Stage::Reading, count);
        }
        let (reranker, question) = (Arc::clone(&self.reranker), self.question.to_owned());
        let request = move |stop: &AtomicBool| reranker.read(&question, &passages, round, stop);
        let asked = self.asking.ask(&self.name, request, self.until, self.cancel);
        if self.cancel.load(Ordering::Relaxed) {
            return Err(RetrievalError::Cancelled);
        }
        match asked {
            Asked::Answer(ReadOrder { order, tokens, cost, words }) => {
                let named = order.into_iter().filter_map(|nth| pool.get(nth).copied()).collect();
                Ok(Ok(Read { pool, named, words, passages: count, tokens, cost }))
            }
            Asked::Failed { why, is_news } => Ok(Err(Unread { why, is_news })),
            Asked::Unasked => {
                let why = format!("{} failed before and is asked again later.", self.name);
                Ok(Err(Unread { why, is_news: false }))
            }
        }
    }
}

impl Read {
    /// What is read of a wider ranking: the places that were named, and what was not read. `None`: there is nothing new.
    fn places_in(&self, ranking: &Ranking<'_>, wider: &Ranking<'_>) -> Option<Vec<usize>> {
        let read: BTreeSet<_> = self.pool.iter().map(|at| ranking.key(*at)).collect();
        let named: BTreeSet<_> = self.named.iter().map(|at| ranking.key(*at)).collect();
        let all = 0..wider.ranked().len();
        let again = all.filter(|at| named.contains(&wider.key(*at)));
        let new = pool(wider, self.pool.len(), |at| !read.contains(&wider.key(at)));
        let places: Vec<usize> = again.chain(new.iter().copied()).collect();
        (!new.is_empty()).then_some(places)
    }

    /// The same with what was read and spent before.
    fn behind(mut self, before: &Self, ranking: &Ranking<'_>, wider: &Ranking<'_>) -> Self {
        let read: BTreeSet<_> = before.pool.iter().map(|at| ranking.key(*at)).collect();
        self.pool.extend((0..wider.ranked().len()).filter(|at| read.contains(&wider.key(*at))));
        let cost = self.cost.zip(before.cost).map(|(now, then)| now + then);
        let tokens = self.tokens.zip(before.tokens).map(|(now, then)| now + then);
        Self { passages: self.passages + before.passages, tokens, cost, ..self }
    }

    fn reading(self, ranking: &Ranking<'_>, limit: usize, by: String) -> Reading {
        let Self { pool, named, passages, tokens, cost, .. } = self;
        let by_words = choose(ranking.ranked(), limit);
        let chosen = merged(ranking.ranked(), &by_words, &pool, named, limit);
        Reading {
            chosen: Some(chosen),
            told: None,
            read: PassagesRead::Ordered { by, passages, tokens, cost },
        }
    }
}

/// The passages that are read, best first, by their place among all: of those that are wanted, none of a file of secrets.
fn pool(ranking: &Ranking<'_>, most: usize, is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    let all = ranking.ranked();
    let may_be_read = |at: &usize| guarded_part(ranking.path(*at)).is_none() && is_wanted(*at);
    let mut left: Vec<usize> = (0..all.len()).filter(may_be_read).collect();
    left.sort_by_key(|at| (all[*at].file, all[*at].lines));
    let files = all.iter().map(|one| one.file + 1).max().unwrap_or(0);
    let mut of_file = vec![0usize; files];
    let mut pool: Vec<usize> = Vec::new();
    while pool.len() < most {
        let worth = |at: usize| all[at].score - AGAIN * of_file[all[at].file] as f64;
        // The first of equals: `max_by` would give the last.
        let next = left.iter().copied().rev().max_by(|a, b| worth(*a).total_cmp(&worth(*b)));
        let Some(next) = next else { break };
        pool.push(next);
        let file = all[next].file;
        of_file[file] += 1;
        let is_full = of_file[file] >= PER_FILE;
        left.retain(|at| all[*at].file != file || !is_full && !all[*at].overlaps(&all[next]));
    }
    pool
}

/// These passages as they are read. What there is no room for is left out, or read by its head alone.
fn passages(ranking: &Ranking<'_>, pool: &[usize], bounds: ReadingBounds) -> Vec<ReadPassage> {
    let mut room = TEXT_BYTES;
    let mut passages = Vec::new();
    for at in pool {
        let place = ranking.place(*at, 0.0);
        let text = &place.snippet[..place.snippet.floor_char_boundary(PASSAGE_BYTES)];
        if text.len() <= room {
            room -= text.len();
            passages.push(ReadPassage { head: head(&place), text: text.to_owned() });
        } else if bounds.heads_alone {
            // No later one takes what is left, so that the better ones are those with text.
            room = 0;
            let first = place.symbol.as_ref().map(|symbol| symbol.signature.as_str());
            let first = first.or(text.lines().next()).unwrap_or_default();
            let head = format!("{}: {}", head(&place), one_line(first.trim()));
            passages.push(ReadPassage { head, text: String::new() });
        } else {
            break;
        }
    }
    passages
}

/// Where a place stands and what it is called.
fn head(place: &Place) -> String {
    let path = match &place.root {
        Some(root) => format!("{root}/{}", place.path),
        None => place.path.clone(),
    };
    let name = place.symbol.as_ref().map(|symbol| {
        let Symbol { kind, name, container, .. } = symbol;
        let container = container.as_ref().map(|container| format!("{container}::")).unwrap_or_default();
        format!(" {} `{}`", kind.as_str(), one_line(&format!("{container}{name}")))
    });
    format!("{}:{}-{}{}", one_line(&path), place.start_line, place.end_line, name.unwrap_or_default())
}

/// The answer: what the reader names, in its order; behind it what words rank best. What it was not given keeps its place. No lines and no
/// definition twice, few of one file.
fn merged(all: &[Ranked], by_words: &[usize], pool: &[usize], named: Vec<usize>, limit: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let fits = |chosen: &[usize], at: usize| {
        let of_file = chosen.iter().filter(|other| all[**other].file == all[at].file);
        of_file.clone().count() < PLACES_PER_FILE
            && !of_file.clone().any(|other| all[at].repeats(&all[*other]))
    };
    let is_unread = |at: usize| !pool.iter().any(|read| all[*read].repeats(&all[at]));
    let mut read = named.into_iter().chain(by_words.iter().copied().filter(|at| !is_unread(*at)));
    while chosen.len() < limit {
        let unread = by_words.get(chosen.len()).copied().filter(|at| is_unread(*at));
        let next = unread.filter(|at| fits(&chosen, *at)).or_else(|| read.find(|at| fits(&chosen, *at)));
        // Behind the last that was read, whatever was not.
        let next = next.or_else(|| by_words.iter().copied().find(|at| fits(&chosen, *at)));
        let Some(next) = next else { break };
        chosen.push(next);
    }
    chosen
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
