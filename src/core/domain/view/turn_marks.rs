//! Where a turn begins and how it ended: two lines of the chat (R003-31, R003-32, R003-35).
//!
//! Owns which turn a beginning and an end belong to, so that each turn has one line of either, whoever asked and however
//! often its engine tells of them. A duration is the time between two moments of one clock, ours or the engine's, and absent
//! where there are no such two. A history that is told again has no marks: nobody told when its turns began and how they
//! ended. Never ends a turn: the reducer does.

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockBody, Change, ChangeOp, Lane};
use crate::domain::cut;
use crate::domain::dialect::TurnNumbers;
use crate::domain::event::{Origin, SessionEvent};
use crate::domain::fact::{Cost, Spent, TurnOutcome};

/// Names of engines and models.
const NAME: usize = 200;
/// Why a turn ended.
const SENTENCE: usize = 1024;
/// Turns that are over and may still be told of: what they changed comes after their end, a turn or two later at most.
const OVER: usize = 16;

/// The turns whose marks may still change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TurnMarks {
    /// The turn that runs, or the last one.
    current: Option<MarkedTurn>,
    /// A prompt of ours that the engine has not begun, while another client's turn runs.
    waiting: Option<MarkedTurn>,
    /// What the session cost so far.
    cost: Option<Cost>,
    /// Turns that are over and have their line, newest last, by the `seq` that names them.
    over: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct MarkedTurn {
    /// `seq` of the event that began it, which names both blocks.
    seq: u64,
    /// Number of the turn, as its blocks have it.
    turn: Option<u64>,
    /// Whether the prompt is ours.
    ours: bool,
    phase: MarkPhase,
    /// When it began, by our clock.
    sent_at: Option<i64>,
    /// When it began, by the engine's.
    begun_at: Option<i64>,
    engine: Option<String>,
    model: Option<String>,
    cost_before: CostBefore,
}

/// What the session had cost when a turn began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CostBefore {
    /// It was its first turn.
    Nothing,
    /// So much.
    Known(Cost),
    /// Its engine had not told, or had worked on it before.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MarkPhase {
    /// Its prompt is on the way.
    Sent,
    /// The engine begins to work, and has not said on whose prompt.
    Begun,
    /// The engine works on it.
    Running,
    /// The engine told how it will end.
    Told(MarkedEnd),
    /// It is over.
    Over(MarkedEnd),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct MarkedEnd {
    /// `seq` of the event that told it first, which its block has.
    seq: u64,
    /// `seq` of the event that told it last.
    told_by: u64,
    /// It stands in the chat.
    shown: bool,
    outcome: TurnOutcome,
    text: Option<String>,
    duration_ms: Option<u64>,
    spent: Spent,
}

/// Who answers a prompt of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answerer<'a> {
    pub(super) engine: Option<&'a str>,
    pub(super) model: Option<&'a str>,
    /// Nothing was asked in the session before.
    pub(super) first: bool,
}

/// What an event says of the end of a turn.
#[derive(Debug)]
pub(super) struct ToldEnd {
    pub(super) outcome: TurnOutcome,
    /// Why, where the chat does not say it.
    pub(super) text: Option<String>,
    pub(super) spent: Spent,
    /// The turn is over with it.
    pub(super) last: bool,
}

impl TurnMarks {
    /// A prompt of ours goes to the engine.
    pub(super) fn sent(
        &mut self,
        event: &SessionEvent,
        by: Answerer<'_>,
        numbers: TurnNumbers,
        changes: &mut Vec<Change>,
    ) {
        let name = |name: Option<&str>| {
            name.filter(|name| !name.trim().is_empty()).map(|name| cut::line(name, NAME))
        };
        let turn = MarkedTurn {
            ours: true,
            phase: match numbers {
                TurnNumbers::Steps => MarkPhase::Sent,
                TurnNumbers::Turns => MarkPhase::Running,
            },
            sent_at: event.ts,
            engine: name(by.engine),
            model: name(by.model),
            ..MarkedTurn::new(event, self.cost_before(by.first))
        };
        changes.push(turn.start());
        // An engine that tells when it begins may still work on another client's prompt.
        let waits = numbers == TurnNumbers::Steps && self.current.as_ref().is_some_and(MarkedTurn::runs);
        let place = if waits { &mut self.waiting } else { &mut self.current };
        *place = Some(turn);
    }

    /// The engine begins a prompt of ours.
    pub(super) fn ours_begins(&mut self, event: &SessionEvent) {
        if !self.current.as_ref().is_some_and(MarkedTurn::may_be_anothers)
            && let Some(waiting) = self.waiting.take()
        {
            self.current = Some(waiting);
        }
        if let Some(turn) = self.current.as_mut().filter(|turn| turn.may_be_anothers()) {
            turn.begin(event);
            turn.phase = MarkPhase::Running;
        }
    }

    /// The engine begins another client's prompt, and so has not begun one of ours that it has.
    pub(super) fn anothers_before_ours(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        if let Some(ours) = self.current.as_mut().filter(|turn| turn.ours && turn.phase == MarkPhase::Running)
        {
            ours.phase = MarkPhase::Sent;
        }
        self.others_begins(event, changes);
    }

    /// The engine begins another client's prompt.
    pub(super) fn others_begins(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        if let Some(mut turn) = self.current.take_if(|turn| turn.may_be_anothers()) {
            (turn.phase, turn.begun_at) = (MarkPhase::Sent, None);
            self.waiting = Some(turn);
        }
        let mut turn = MarkedTurn::new(event, self.cost_before(false));
        turn.begin(event);
        turn.phase = MarkPhase::Running;
        changes.push(turn.start());
        self.current = Some(turn);
    }

    /// The engine begins to work: on the prompt that it has, or on its own.
    pub(super) fn begins(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        if self.current.as_ref().is_none_or(MarkedTurn::is_over)
            && let Some(waiting) = self.waiting.take()
        {
            self.current = Some(waiting);
        }
        match &mut self.current {
            Some(turn) if turn.is_on_its_way() => {
                turn.begin(event);
                turn.phase = MarkPhase::Begun;
            }
            Some(turn) if !turn.is_over() => turn.begin(event),
            Some(_) | None => self.others_begins(event, changes),
        }
    }

    fn cost_before(&self, first: bool) -> CostBefore {
        match &self.cost {
            Some(cost) => CostBefore::Known(cost.clone()),
            None if first => CostBefore::Nothing,
            None => CostBefore::Unknown,
        }
    }

    /// What the session cost so far.
    pub(super) fn costs(&mut self, cost: Cost) {
        self.cost = Some(cost);
    }

    /// An event says how a turn ended, or will.
    pub(super) fn ends(
        &mut self,
        event: &SessionEvent,
        numbers: TurnNumbers,
        told: ToldEnd,
        changes: &mut Vec<Change>,
    ) {
        let ours = |turn: &MarkedTurn| turn.ours && turn.turn == event.turn;
        if event.origin == Origin::Local && self.waiting.as_ref().is_some_and(ours) {
            // It never came to the engine.
            if let Some(mut turn) = self.waiting.take() {
                turn.end(event, told, self.cost.as_ref(), changes);
                let seq = turn.seq;
                self.note_over(seq);
            }
            return;
        }
        let Some(turn) = self.current.as_mut() else { return };
        let is_of_it = match (event.origin, numbers) {
            // What ends before it began is the run before.
            (Origin::Engine, TurnNumbers::Steps) => !turn.is_on_its_way(),
            (Origin::Engine, TurnNumbers::Turns) => event.turn.is_none() || ours(turn),
            (Origin::Local, _) => !turn.ours || ours(turn),
        };
        if is_of_it {
            turn.end(event, told, self.cost.as_ref(), changes);
            if turn.is_over() {
                let seq = turn.seq;
                self.note_over(seq);
            }
        }
    }

    /// The line that says how this turn ended, where the turn is over.
    pub(super) fn end_of(&self, seq: u64) -> Option<String> {
        self.over.contains(&seq).then(|| end_id(seq))
    }

    fn note_over(&mut self, seq: u64) {
        if !self.over.contains(&seq) {
            self.over.push(seq);
        }
        if self.over.len() > OVER {
            self.over.remove(0);
        }
    }

    /// What was said behind an end that was told early goes above its line: the line is taken away, and comes with the end.
    pub(super) fn said_more(&mut self, event: &SessionEvent, changes: &mut Vec<Change>) {
        let Some(MarkedTurn { seq, phase: MarkPhase::Told(end), .. }) = &mut self.current else { return };
        let id = end_id(*seq);
        let fresh = |change: &Change| {
            let block = change.block.as_ref().filter(|_| change.op == ChangeOp::Put);
            change.lane == Lane::Chat && block.is_some_and(|block| block.seq == event.seq && block.id != id)
        };
        if end.shown && end.told_by != event.seq && changes.iter().any(fresh) {
            changes.push(Change::remove(Lane::Chat, &id));
            end.shown = false;
        }
    }
}

impl MarkedTurn {
    fn new(event: &SessionEvent, cost_before: CostBefore) -> Self {
        Self {
            seq: event.seq,
            turn: event.turn,
            ours: false,
            phase: MarkPhase::Sent,
            sent_at: None,
            begun_at: None,
            engine: None,
            model: None,
            cost_before,
        }
    }

    /// The engine has not begun it.
    fn is_on_its_way(&self) -> bool {
        self.phase == MarkPhase::Sent
    }

    /// It is not known whether the engine works on it or on another client's prompt.
    fn may_be_anothers(&self) -> bool {
        matches!(self.phase, MarkPhase::Sent | MarkPhase::Begun)
    }

    fn runs(&self) -> bool {
        matches!(self.phase, MarkPhase::Running | MarkPhase::Told(_))
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, MarkPhase::Over(_))
    }

    fn begin(&mut self, event: &SessionEvent) {
        self.begun_at = self.begun_at.or(event.ts);
    }

    fn start(&self) -> Change {
        let body = BlockBody::TurnStart {
            started_at: self.sent_at.or(self.begun_at),
            engine: self.engine.clone(),
            model: self.model.clone(),
        };
        let id = format!("turn-{}", self.seq);
        Change::put(Lane::Chat, Block { id, turn: self.turn, seq: self.seq, body })
    }

    fn end(&mut self, event: &SessionEvent, told: ToldEnd, cost: Option<&Cost>, changes: &mut Vec<Change>) {
        let ToldEnd { outcome, text, mut spent, last } = told;
        if spent.cost.is_none() {
            spent.cost = cost.and_then(|cost| self.cost_of_it(cost));
        }
        let before = match &self.phase {
            MarkPhase::Sent | MarkPhase::Begun | MarkPhase::Running => None,
            MarkPhase::Told(end) | MarkPhase::Over(end) => Some(end.clone()),
        };
        let fresh = MarkedEnd {
            seq: event.seq,
            told_by: event.seq,
            shown: true,
            outcome,
            text,
            duration_ms: self.lasted(event),
            spent,
        };
        let mut end = match before.clone() {
            None => fresh,
            Some(before) => MarkedEnd {
                seq: before.seq,
                outcome: fresh.outcome.max(before.outcome),
                text: fresh.text.or(before.text),
                duration_ms: before.duration_ms.filter(|_| self.is_over()).or(fresh.duration_ms),
                spent: fresh.spent.or(before.spent),
                ..fresh
            },
        };
        // Of these there is no more to say.
        if matches!(end.outcome, TurnOutcome::Done | TurnOutcome::Stopped) {
            end.text = None;
        }
        let told = before.map(|before| MarkedEnd { told_by: event.seq, ..before });
        if told.as_ref() != Some(&end) {
            changes.push(self.end_line(&end));
        }
        let over = last || self.is_over();
        self.phase = if over { MarkPhase::Over(end) } else { MarkPhase::Told(end) };
    }

    fn end_line(&self, end: &MarkedEnd) -> Change {
        let MarkedEnd { seq, outcome, text, duration_ms, spent, .. } = end.clone();
        let Spent { input_tokens, output_tokens, total_tokens, cost } = spent;
        let body = BlockBody::TurnEnd {
            outcome,
            text: text.map(|text| cut::line(&text, SENTENCE)),
            duration_ms,
            input_tokens,
            output_tokens,
            total_tokens,
            cost,
        };
        Change::put(Lane::Chat, Block { id: end_id(self.seq), turn: self.turn, seq, body })
    }

    fn lasted(&self, event: &SessionEvent) -> Option<u64> {
        let (engines, ours) = match event.origin {
            Origin::Engine => (event.ts, event.received_at),
            Origin::Local => (None, event.ts),
        };
        let between = |from: Option<i64>, to: Option<i64>| u64::try_from(to?.checked_sub(from?)?).ok();
        between(self.begun_at, engines).or_else(|| between(self.sent_at, ours))
    }

    /// What of the cost of the session is this turn's.
    fn cost_of_it(&self, cost: &Cost) -> Option<Cost> {
        let before = match &self.cost_before {
            CostBefore::Nothing => 0.0,
            CostBefore::Known(before) if before.currency == cost.currency => before.amount,
            CostBefore::Known(_) | CostBefore::Unknown => return None,
        };
        // Sums of money in binary fractions: what is far below a cent of a cent is no amount.
        let amount = ((cost.amount - before) * 1e6).round() / 1e6;
        (amount > 0.0).then(|| Cost { amount, currency: cost.currency.clone() })
    }
}

fn end_id(seq: u64) -> String {
    format!("end-{seq}")
}
