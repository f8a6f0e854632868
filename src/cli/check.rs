//! One line of the doctor's list, as text and as JSON.

use serde::Serialize;

use super::terminal::{TerminalLook, Tone, marked};

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mark {
    /// As it should be.
    Ok,
    /// Works, but look at it.
    Warn,
    /// Does not work.
    Fail,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    /// A stable word for programs.
    pub id: &'static str,
    /// How it went.
    pub mark: Mark,
    /// What was found, in one line.
    pub found: String,
    /// What to do about it.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Check {
    /// As it should be.
    pub(super) fn ok(id: &'static str, found: impl Into<String>) -> Self {
        Self { id, mark: Mark::Ok, found: found.into(), advice: None }
    }

    /// Works, but look at it.
    pub(super) fn warn(id: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { id, mark: Mark::Warn, found: found.into(), advice: Some(advice.into()) }
    }

    /// Does not work.
    pub(super) fn fail(id: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { id, mark: Mark::Fail, found: found.into(), advice: Some(advice.into()) }
    }

    /// The check on one or two lines, with a newline at the end.
    pub(super) fn line(&self, look: TerminalLook) -> String {
        let (tone, word) = match self.mark {
            Mark::Ok => (Tone::Good, "ok  "),
            Mark::Warn => (Tone::Warn, "warn"),
            Mark::Fail => (Tone::Bad, "FAIL"),
        };
        let found = marked(&self.found).replace('\n', " ");
        let mut text = format!("{}  {:<10} {found}\n", look.paint(tone, word), self.id);
        if let Some(advice) = &self.advice {
            text.push_str(&format!("{:17}→ {}\n", "", marked(advice).replace('\n', " ")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_says_what_it_found_and_what_to_do() {
        let check = Check::fail("engine", "no\x1b answer", "start it");
        assert_eq!(
            check.line(TerminalLook::PLAIN),
            "FAIL  engine     no⟨U+001B⟩ answer\n                 → start it\n"
        );
        assert_eq!(Check::ok("trust", "given").line(TerminalLook::PLAIN), "ok    trust      given\n");
        let json =
            serde_json::json!({"id": "engine", "mark": "fail", "found": "no\u{1b} answer", "do": "start it"});
        assert_eq!(serde_json::to_value(&check).expect("serialises"), json);
    }
}
