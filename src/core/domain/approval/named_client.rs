//! A client as the others are told of it.
//!
//! Owns how much of the name that a client gives itself is kept: one line that a person can read. Never says which of several of one
//! name is meant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::cut;

/// Bytes of a name and of a version, each.
const NAME: usize = 80;

/// A client, as the others see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedClient {
    /// The name in its handshake.
    pub name: String,
    /// Its version; empty where it does not say.
    pub version: String,
}

impl NamedClient {
    /// As a client calls itself; `None` of one that gives no name.
    pub fn said(name: &str, version: &str) -> Option<Self> {
        let plain = |text: &str| {
            let shown: String = text.chars().filter(|letter| !letter.is_control()).collect();
            cut::line(shown.trim(), NAME)
        };
        let name = plain(name);
        (!name.is_empty()).then(|| Self { name, version: plain(version) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_name_a_line_is_kept_and_of_no_name_nobody_is_told() {
        let of = |name, version| NamedClient::said(name, version);
        let plain = NamedClient { name: "An editor".to_owned(), version: "1.2".to_owned() };
        assert_eq!(of(" An\u{1b} editor\n", "1.2"), Some(plain));
        assert_eq!(of("\u{7}", "1"), None);
        let long =
            of(&"é".repeat(200), "").map(|named| (named.name.len() <= NAME + '…'.len_utf8(), named.version));
        assert_eq!(long, Some((true, String::new())));
    }
}
