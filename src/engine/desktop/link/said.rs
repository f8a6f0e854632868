//! What was said about things that the host asked for, until it is known that the host heard it: answers, and results of what was
//! done here.
//!
//! Owns what is said again after a broken socket: a message that was written may have been lost with it, and then the host still waits.
//! Nothing is done again, only said. Pure.

use std::collections::VecDeque;

/// Messages that are remembered; a host asks a few things at a time. The oldest go, and would not be said again.
const MOST: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct SaidToHost {
    /// The host's name of what it asked for, and the message about it, in the order they were said.
    said: VecDeque<(String, String)>,
}

impl SaidToHost {
    /// This is being said about that.
    pub(super) fn says(&mut self, about: &str, text: &str) {
        if self.said.len() >= MOST {
            self.said.pop_front();
        }
        self.said.push_back((about.to_owned(), text.to_owned()));
    }

    /// Whether anything was said about that which the host may not have heard.
    pub(super) fn is_about(&self, about: &str) -> bool {
        self.said.iter().any(|(of, _)| of == about)
    }

    /// The host settled it: it heard what it wanted.
    pub(super) fn is_settled(&mut self, about: &str) {
        self.said.retain(|(of, _)| of != about);
    }

    /// What was lost, by what still waits at the host behind a break. Of everything else it heard.
    pub(super) fn lost(&mut self, waiting: &[String]) -> Vec<String> {
        self.said.retain(|(about, _)| waiting.contains(about));
        self.said.iter().map(|(_, text)| text.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::SaidToHost;

    #[test]
    fn what_still_waits_behind_a_break_is_said_again_in_order_and_nothing_else() {
        let mut said = SaidToHost::default();
        for (about, text) in [("r1", "yes"), ("p1", "yes"), ("p1", "made"), ("r2", "no")] {
            said.says(about, text);
        }
        assert!(said.is_about("r2"));
        said.is_settled("r2");
        assert!(!said.is_about("r2"));
        let waiting = ["p1".to_owned(), "r2".to_owned(), "never asked here".to_owned()];
        assert_eq!(said.lost(&waiting), ["yes", "made"]);
        // It is lost again where the socket breaks again, and not once the host has it.
        assert_eq!(said.lost(&waiting), ["yes", "made"]);
        assert_eq!(said.lost(&[]), Vec::<String>::new());
        assert_eq!(said.lost(&waiting), Vec::<String>::new());
    }
}
