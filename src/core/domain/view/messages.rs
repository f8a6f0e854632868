//! Messages of an engine that names them, sends each of them whole after its pieces, or none of both.
//!
//! Owns which message a piece belongs to (by the engine's id, else by what is open of its stream, or by contiguous run) and
//! which streamed message a whole one repeats. Never prints a text twice, and never takes away text that nothing replaces.

use serde::{Deserialize, Serialize};

use super::block::{Change, Lane};
use super::open_text::{OpenText, Streaming};
use super::turn::TurnName;
use crate::domain::cut;
use crate::domain::event::SessionEvent;
use crate::domain::fact::Voice;
use crate::domain::fingerprint::Fingerprint;

/// Messages that may still grow, each with its text. Engines interleave two or three; when one more begins the oldest is
/// closed, and a piece that still comes for it begins a block of its own.
const LIVE: usize = 4;
/// Messages that a whole one is compared with or that a late piece can still find, without their texts. Both follow soon; when
/// one more comes the oldest is forgotten, and what still comes for it is printed in a block of its own.
const KEPT: usize = 64;
/// Bytes of a block to which late pieces are added, as of any answer.
const TEXT: u64 = 512 * 1024;

/// The messages of the run, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Messages {
    /// Blocks so far in the whole session, because engines restart their numbers and ids.
    made: u64,
    kept: Vec<OpenMessage>,
    /// Contiguous runs so far, and whose the last one is.
    runs: u64,
    last: Option<Voice>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OpenMessage {
    voice: Voice,
    /// Which stream of this voice it belongs to.
    #[serde(default)]
    stream: String,
    /// The engine's id.
    key: Option<String>,
    /// The engine's number of the step.
    step: Option<u64>,
    /// It is told in contiguous runs: the number of its run, or 0 where it has an id.
    run: Option<u64>,
    /// Its block. The text is kept only while more may come.
    open: OpenText,
    live: bool,
    streaming: bool,
    /// The whole came: no other whole is about this one.
    whole: bool,
    /// Everything it said.
    print: Fingerprint,
}

impl OpenMessage {
    /// Shows that it does not stream now. A piece that still comes with its id goes on in the same block.
    fn pause(&mut self, changes: &mut Vec<Change>) {
        if self.streaming {
            self.streaming = false;
            changes.push(Change::put(Lane::Chat, self.open.block(self.voice, Streaming::Done)));
        }
    }

    /// Nothing more comes.
    fn close(&mut self, changes: &mut Vec<Change>) {
        self.pause(changes);
        self.live = false;
        self.open.text = String::new();
    }

    /// Adds a piece that comes late. It streams no more, so that nothing of a turn that is over lands in the next.
    fn add(&mut self, piece: &str, changes: &mut Vec<Change>) {
        let room = TEXT.saturating_sub(self.print.bytes);
        if room == 0 || self.open.full {
            return;
        }
        let said = cut::line(piece, usize::try_from(room).unwrap_or(usize::MAX));
        self.open.full = said.len() != piece.len();
        self.print.feed(piece);
        changes.push(Change::append(Lane::Chat, &self.open.id, said));
    }

    fn replace(&mut self, whole: &str, changes: &mut Vec<Change>) {
        self.open.set(whole);
        self.print = Fingerprint::of(whole);
        self.whole = true;
        self.streaming = true;
        self.close(changes);
    }
}

impl Messages {
    /// A message begins. One that went on under the same id is another one.
    pub(super) fn start(
        &mut self,
        (voice, stream): (Voice, &str),
        key: Option<&str>,
        changes: &mut Vec<Change>,
    ) {
        let mine = |message: &&mut OpenMessage| message.stream == stream && message.key.as_deref() == key;
        for message in self.live(voice).filter(mine) {
            message.close(changes);
        }
    }

    /// A piece of a message.
    pub(super) fn piece(
        &mut self,
        (voice, stream): (Voice, &str),
        key: Option<&str>,
        text: &str,
        (event, turn): (&SessionEvent, TurnName),
        changes: &mut Vec<Change>,
    ) {
        if text.is_empty() {
            return;
        }
        if voice == Voice::Answer {
            self.pause(Voice::Reasoning, changes);
        }
        // A text without an id ends with the block it stands in.
        let mine = |message: &&mut OpenMessage| {
            let open = key.is_some() || message.streaming;
            message.stream == stream && message.key.as_deref() == key && open
        };
        let Some(message) = self.live(voice).rev().find(mine) else {
            self.open((voice, stream), (key, None), text, (event, turn), changes);
            return;
        };
        if !message.streaming {
            message.streaming = true;
            changes.push(Change::put(Lane::Chat, message.open.block(voice, Streaming::More)));
        }
        message.print.feed(text);
        match voice {
            Voice::Answer => message.open.add_answer(text, changes),
            Voice::Reasoning => message.open.add_reasoning(text, changes),
        }
    }

    /// A piece of a text of which one streams at a time. A piece that still comes for an earlier one goes into that one's
    /// block. With `over` no turn runs, and nothing is left streaming.
    pub(super) fn run_piece(
        &mut self,
        (voice, key): (Voice, Option<&str>),
        piece: &str,
        (event, turn): (&SessionEvent, TurnName),
        over: bool,
        changes: &mut Vec<Change>,
    ) {
        if self.last != Some(voice) {
            self.runs += 1;
            self.last = Some(voice);
        }
        let run = Some(if key.is_some() { 0 } else { self.runs });
        let mine = |message: &&mut OpenMessage| {
            message.voice == voice && message.run == run && message.key.as_deref() == key
        };
        if let Some(message) = self.kept.iter_mut().rev().find(mine) {
            if !message.live {
                message.add(piece, changes);
                return;
            }
            message.print.feed(piece);
            match voice {
                Voice::Answer => message.open.add_answer(piece, changes),
                Voice::Reasoning => message.open.add_reasoning(piece, changes),
            }
            return;
        }
        self.close_run(changes);
        self.open((voice, ""), (key, run), piece, (event, turn), changes);
        if over {
            self.close_run(changes);
        }
    }

    /// Whether a text streams.
    pub(super) fn streams(&self) -> bool {
        self.kept.iter().any(|message| message.streaming)
    }

    fn close_run(&mut self, changes: &mut Vec<Change>) {
        for message in self.kept.iter_mut().filter(|message| message.live && message.run.is_some()) {
            message.close(changes);
        }
    }

    /// A message has no more pieces; without an id, none of its stream has.
    pub(super) fn end(
        &mut self,
        (voice, stream): (Voice, &str),
        key: Option<&str>,
        changes: &mut Vec<Change>,
    ) {
        let mine = |message: &&mut OpenMessage| {
            message.stream == stream && (key.is_none() || message.key.as_deref() == key)
        };
        for message in self.live(voice).filter(mine) {
            message.pause(changes);
        }
    }

    /// A whole message. What it repeats is not said again; where it differs from what was streamed, the whole wins. With
    /// `again`, it is also compared with what was said whole before in this run.
    pub(super) fn whole(
        &mut self,
        key: Option<&str>,
        text: &str,
        again: bool,
        (event, turn): (&SessionEvent, TurnName),
        changes: &mut Vec<Change>,
    ) {
        if text.trim().is_empty() {
            return;
        }
        self.pause(Voice::Reasoning, changes);
        let print = Fingerprint::of(text);
        let named = |message: &OpenMessage| key.is_some() && message.key.as_deref() == key;
        let answers = || self.kept.iter().enumerate().filter(|(_, message)| message.voice == Voice::Answer);
        let said = answers()
            .any(|(_, message)| message.whole && message.print == print && (again || named(message)));
        if said {
            return;
        }
        let waits = |message: &OpenMessage| {
            !message.whole && (message.step == event.turn || message.step.is_none() || event.turn.is_none())
        };
        let waiting = answers().filter(|(_, message)| waits(message));
        let of_id = waiting.clone().rfind(|(_, message)| named(message)).map(|(at, _)| at);
        let same = waiting.clone().find(|(_, message)| message.print == print).map(|(at, _)| at);
        let waiting: Vec<usize> = waiting.map(|(at, _)| at).collect();
        if let Some(at) = of_id.or(same) {
            self.settle(at, text, changes);
            return;
        }
        match waiting.split_last() {
            Some((&last, others)) => match self.after(others, last, text) {
                Some(rest) => {
                    for &at in others {
                        if let Some(message) = self.kept.get_mut(at) {
                            message.whole = true;
                            message.close(changes);
                        }
                    }
                    self.settle(last, rest, changes);
                }
                None => {
                    let starts =
                        |at: &usize| self.kept.get(*at).is_some_and(|one| one.print.rest_of(text).is_some());
                    let at = waiting.iter().copied().find(starts).unwrap_or(last);
                    self.settle(at, text, changes);
                }
            },
            None => {
                self.open((Voice::Answer, ""), (key, None), text, (event, turn), changes);
                if let Some(message) = self.kept.last_mut() {
                    message.whole = true;
                    message.close(changes);
                }
            }
        }
    }

    /// What `last` says of `whole`, when `whole` is what the others said, one after the other, and then that.
    fn after<'a>(&self, others: &[usize], last: usize, whole: &'a str) -> Option<&'a str> {
        if others.is_empty() {
            return Some(whole);
        }
        // Parts of one message are joined with or without an empty line.
        let starts_at = |print: Fingerprint, rest: &'a str| {
            let bare = rest.trim_start_matches('\n');
            [rest, bare].into_iter().find_map(|rest| print.rest_of(rest).map(|after| (rest, after)))
        };
        let mut rest = whole;
        for &at in others {
            rest = starts_at(self.kept.get(at)?.print, rest)?.1;
        }
        starts_at(self.kept.get(last)?.print, rest).map(|(said, _)| said)
    }

    /// The message of which `text` is the whole.
    fn settle(&mut self, at: usize, text: &str, changes: &mut Vec<Change>) {
        let Some(message) = self.kept.get_mut(at) else { return };
        if message.print == Fingerprint::of(text) {
            message.whole = true;
            message.close(changes);
        } else {
            message.replace(text, changes);
        }
    }

    /// What comes next stands below.
    pub(super) fn pause_all(&mut self, changes: &mut Vec<Change>) {
        self.pause(Voice::Reasoning, changes);
        self.pause(Voice::Answer, changes);
        // A text without an id that goes on below is another one.
        self.last = None;
        self.close_run(changes);
    }

    /// Another step: its ids are its own.
    pub(super) fn close_all(&mut self, changes: &mut Vec<Change>) {
        for message in self.kept.iter_mut().filter(|message| message.live) {
            message.close(changes);
        }
    }

    /// Another run: nothing is compared with what was said before. All are closed.
    pub(super) fn forget(&mut self) {
        self.kept.retain(|message| message.run.is_some());
    }

    fn pause(&mut self, voice: Voice, changes: &mut Vec<Change>) {
        for message in self.live(voice) {
            message.pause(changes);
        }
    }

    fn live(&mut self, voice: Voice) -> impl DoubleEndedIterator<Item = &mut OpenMessage> {
        self.kept.iter_mut().filter(move |message| message.live && message.voice == voice)
    }

    fn open(
        &mut self,
        (voice, stream): (Voice, &str),
        (key, run): (Option<&str>, Option<u64>),
        text: &str,
        (event, turn): (&SessionEvent, TurnName),
        changes: &mut Vec<Change>,
    ) {
        let live = self.kept.iter().filter(|message| message.live).count();
        if live >= LIVE
            && let Some(oldest) = self.kept.iter_mut().find(|message| message.live)
        {
            oldest.close(changes);
        }
        if self.kept.len() >= KEPT
            && let Some(oldest) = self.kept.iter().position(|message| !message.live)
        {
            self.kept.remove(oldest);
        }
        let letter = match voice {
            Voice::Answer => 'a',
            Voice::Reasoning => 'r',
        };
        let id = format!("{letter}-{}-m{}", turn.label, self.made);
        self.made += 1;
        let mut open = OpenText { id, turn: event.turn, seq: event.seq, text: String::new(), full: false };
        match voice {
            Voice::Answer => open.set(text),
            Voice::Reasoning => open.set_reasoning(text),
        }
        changes.push(Change::put(Lane::Chat, open.block(voice, Streaming::More)));
        self.kept.push(OpenMessage {
            voice,
            stream: stream.to_owned(),
            key: key.map(str::to_owned),
            step: event.turn,
            run,
            open,
            live: true,
            streaming: true,
            whole: false,
            print: Fingerprint::of(text),
        });
    }
}
