//! The messages of one tab: numbered, kept for a while, given out as far as there is credit.
//!
//! Owns the indices and the two bounds. Past a bound the tab is stale: nothing more is kept, and what it gets next is a
//! snapshot, which holds all of it. Never makes a message and never sends one.

use std::collections::VecDeque;

/// Messages that are kept, and that may be unacknowledged: a view that was hidden for seconds comes back without a snapshot,
/// and one that was hidden for hours costs no more.
pub const MESSAGES: usize = 256;

/// Bytes of them, since some carry whole blocks.
pub const BYTES: usize = 1 << 20;

/// Messages of one tab.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// Index of the last message that was made.
    index: u64,
    /// Index of the last message that was given out, to the view that is there.
    sent: u64,
    /// The highest index that was ever given out: no other message gets it.
    top: u64,
    /// Those that are kept: all with an index above `base`, given out or not.
    kept: VecDeque<Vec<u8>>,
    base: u64,
    bytes: usize,
    /// Whether the next message is a snapshot.
    stale: bool,
    /// What the client took in, once it said so at all.
    acknowledged: Option<u64>,
    /// Index and size of what was given out since, as far back as a bound can matter.
    flying: VecDeque<(u64, usize)>,
    flying_bytes: usize,
    /// Whether a snapshot went out beyond the credit; the next waits for an acknowledgement.
    beyond: bool,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Nothing, until something changes.
    Rest,
    /// This message goes out; then `sent`.
    Send(&'a [u8]),
    /// A snapshot goes out under `next_index`; then `snapshot_sent`.
    Snapshot,
}

impl Window {
    /// Index of the last message that was made.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The index of the message that is made next.
    pub fn next_index(&self) -> u64 {
        self.index + 1
    }

    /// Whether a snapshot is due, so that messages need not be made.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// Takes the message with `next_index`.
    pub fn push(&mut self, message: Vec<u8>) {
        if self.stale {
            return;
        }
        self.index += 1;
        self.bytes += message.len();
        self.kept.push_back(message);
        while self.kept.len() > MESSAGES || self.bytes > BYTES {
            if self.base >= self.sent {
                // Those that wait are too many: a snapshot says the same in less.
                return self.collapse();
            }
            self.drop_first();
        }
    }

    /// The next message is a snapshot. Those that were never given out lose their numbers with it.
    pub fn collapse(&mut self) {
        self.forget();
        self.stale = true;
    }

    /// What is to be done next.
    pub fn step(&mut self) -> Step<'_> {
        let waits = self.sent < self.index;
        if !self.stale && waits && !self.has_credit() {
            self.collapse();
        }
        if self.stale {
            return if self.has_credit() || !self.beyond { Step::Snapshot } else { Step::Rest };
        }
        let at = usize::try_from(self.sent - self.base).ok();
        match at.and_then(|at| self.kept.get(at)) {
            Some(message) => Step::Send(message),
            None => Step::Rest,
        }
    }

    /// The message of the last `Step::Send` went out.
    pub fn sent(&mut self) {
        let at = usize::try_from(self.sent - self.base).unwrap_or(usize::MAX);
        let size = self.kept.get(at).map_or(0, Vec::len);
        self.sent += 1;
        self.top = self.top.max(self.sent);
        self.fly(size);
    }

    /// A snapshot of so many bytes went out under `next_index`. What came before it is nothing any more.
    pub fn snapshot_sent(&mut self, size: usize) {
        self.beyond = !self.has_credit();
        self.top = self.next_index();
        self.forget();
        self.stale = false;
        self.fly(size);
    }

    /// Every message up to `index` was taken in.
    pub fn acknowledge(&mut self, index: u64) {
        let index = index.min(self.sent).max(self.acknowledged.unwrap_or(0));
        self.acknowledged = Some(index);
        while self.base < index && !self.kept.is_empty() {
            self.drop_first();
        }
        while self.flying.front().is_some_and(|(sent, _)| *sent <= index) {
            self.land();
        }
        self.beyond &= !self.has_credit();
    }

    /// The view is gone, and all that was kept for it.
    pub fn detach(&mut self) {
        self.collapse();
        self.flying.clear();
        self.flying_bytes = 0;
        self.beyond = false;
    }

    /// A view is there that saw everything up to `last_seen`; `None`: it has nothing, or nothing of this epoch. Whether what
    /// it missed is here; else a snapshot is due.
    pub fn attach(&mut self, last_seen: Option<u64>) -> bool {
        // Nothing is on its way to the new view.
        self.flying.clear();
        self.flying_bytes = 0;
        self.beyond = false;
        match last_seen {
            Some(last) if !self.stale && (self.base..=self.index).contains(&last) => {
                self.sent = last;
                self.acknowledged = self.acknowledged.map(|_| last);
                true
            }
            _ => {
                self.collapse();
                self.acknowledged = self.acknowledged.map(|_| self.sent);
                false
            }
        }
    }

    fn has_credit(&self) -> bool {
        self.acknowledged.is_none() || (self.flying.len() < MESSAGES && self.flying_bytes < BYTES)
    }

    fn fly(&mut self, size: usize) {
        self.flying.push_back((self.sent, size));
        self.flying_bytes += size;
        // Without acknowledgements nothing is ever taken from the front.
        while self.flying.len() > MESSAGES {
            self.land();
        }
    }

    fn land(&mut self) {
        if let Some((_, size)) = self.flying.pop_front() {
            self.flying_bytes -= size;
        }
    }

    fn drop_first(&mut self) {
        if let Some(message) = self.kept.pop_front() {
            self.bytes -= message.len();
            self.base += 1;
        }
    }

    fn forget(&mut self) {
        self.kept = VecDeque::new();
        self.bytes = 0;
        self.index = self.top;
        self.sent = self.top;
        self.base = self.top;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A client by the rules of the seed: ignores what it saw, a snapshot replaces all.
    #[derive(Default)]
    struct Client {
        last: u64,
        /// Facts that it knows, 1 to this number without holes.
        facts: u64,
        outstanding: u64,
    }

    /// Gives out what it can; `room` messages fit. A message is its fact as a number.
    fn pump(window: &mut Window, client: &mut Client, facts: u64, mut room: usize) {
        loop {
            let (index, seen) = match window.step() {
                Step::Rest => return,
                _ if room == 0 => return,
                Step::Send(message) => {
                    let fact = u64::from_le_bytes(message[..8].try_into().unwrap());
                    window.sent();
                    (window.sent, fact)
                }
                Step::Snapshot => {
                    window.snapshot_sent(8);
                    (window.sent, facts)
                }
            };
            room -= 1;
            if index > client.last {
                assert_eq!(index, client.last + 1, "a hole in the indices");
                assert!(seen == client.facts + 1 || seen == facts, "a fact is missing");
                client.last = index;
                client.facts = seen;
                client.outstanding += 1;
            }
        }
    }

    fn message(fact: u64, size: usize) -> Vec<u8> {
        let mut message = fact.to_le_bytes().to_vec();
        message.resize(8 + size, 0);
        message
    }

    proptest! {
        #[test]
        fn r001_07_11_12_29_53_54_61_whatever_happens_a_client_ends_with_every_fact_once(
            steps in proptest::collection::vec((0..9_u8, 0..400_usize), 0..120)
        ) {
            let mut window = Window::default();
            let mut client = Client::default();
            let mut facts = 0;
            let mut shown = true;
            for (what, amount) in steps {
                match what {
                    0..=2 => for _ in 0..amount.min(300) {
                        facts += 1;
                        window.push(message(facts, amount * 40));
                        if shown {
                            pump(&mut window, &mut client, facts, if what == 2 { 0 } else { usize::MAX });
                        }
                    },
                    3 => shown = false,
                    4 => { shown = true; pump(&mut window, &mut client, facts, amount); }
                    5 => { window.acknowledge(client.last); client.outstanding = 0; }
                    6 => { window.detach(); client.outstanding = 0; shown = false; }
                    7 => {
                        // It noted what it saw a little late, and gets some of it again.
                        window.attach(Some(client.last.saturating_sub(amount as u64 % 5)));
                        client.outstanding = 0;
                        shown = true;
                    }
                    _ => { window.attach(None); client = Client { last: window.top, ..Client::default() }; shown = true; }
                }
                prop_assert!(window.kept.len() <= MESSAGES && window.bytes <= BYTES);
                prop_assert!(window.base <= window.sent && window.sent <= window.index);
                prop_assert_eq!(window.index - window.base, window.kept.len() as u64);
                if window.acknowledged.is_some() {
                    prop_assert!(client.outstanding <= MESSAGES as u64 + 1, "past its credit");
                }
            }
            window.acknowledge(client.last);
            client.outstanding = 0;
            pump(&mut window, &mut client, facts, usize::MAX);
            window.acknowledge(client.last);
            client.outstanding = 0;
            pump(&mut window, &mut client, facts, usize::MAX);
            prop_assert_eq!(client.facts, facts);
        }
    }

    #[test]
    fn without_acknowledgements_messages_go_out_for_ever_and_the_last_256_can_be_given_again() {
        let (mut window, mut client) = (Window::default(), Client::default());
        for fact in 1..=1_000 {
            window.push(message(fact, 0));
            pump(&mut window, &mut client, fact, usize::MAX);
        }
        assert_eq!((client.last, client.facts, window.kept.len()), (1_000, 1_000, MESSAGES));
        assert!(window.attach(Some(744)));
        assert_eq!(window.step(), Step::Send(&message(745, 0)));
        assert!(!window.attach(Some(743)));
        assert_eq!(window.step(), Step::Snapshot);
    }

    #[test]
    fn past_its_credit_a_tab_gets_one_snapshot_and_then_nothing_until_it_acknowledges() {
        let (mut window, mut client) = (Window::default(), Client::default());
        window.push(message(1, 0));
        pump(&mut window, &mut client, 1, usize::MAX);
        window.acknowledge(1);
        for fact in 2..=1_000 {
            window.push(message(fact, 0));
            pump(&mut window, &mut client, fact, usize::MAX);
        }
        // 256 messages, and the snapshot in place of the next.
        assert_eq!((client.last, client.facts), (258, 258));
        window.acknowledge(100);
        pump(&mut window, &mut client, 1_000, usize::MAX);
        assert_eq!((client.last, client.facts), (259, 1_000));
    }

    #[test]
    fn an_index_that_was_never_given_out_is_not_taken_for_one() {
        let mut window = Window::default();
        window.push(message(1, 0));
        window.acknowledge(40);
        assert_eq!(window.acknowledged, Some(0));
        assert!(!window.attach(Some(7)));
        assert_eq!(window.step(), Step::Snapshot);
    }
}
