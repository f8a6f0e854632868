//! What the tools of servers are called for a model.
//!
//! Owns the rule: `mcp__<server>__<tool>`, in the letters and the length that every provider takes, and never the same for two.

use crate::domain::edits::text::content_hash;

/// What the names of such tools begin with.
const PREFIX: &str = "mcp__";

/// Characters of a tool's name that every provider takes (OpenAI: 64 of letters, digits, `_` and `-`).
const LONGEST: usize = 64;

/// Characters of the mark that tells two names apart.
const MARK: usize = 8;

/// Characters of a server's name.
const LONGEST_SERVER: usize = 64;

/// Whether a server may be called so: what a mention (`@name:uri`) and a command (`/name:prompt`) can hold.
pub(crate) fn is_server_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= LONGEST_SERVER && name.bytes().all(is_plain)
}

/// The name of a tool of a server for a model.
pub fn tool_name(server: &str, tool: &str) -> String {
    let plain = |text: &str| -> String {
        let letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        text.chars().map(|each| if letter(each) { each } else { '_' }).collect()
    };
    let name = format!("{PREFIX}{}__{}", plain(server), plain(tool));
    // Where the server's name ends can be read back only without these.
    let is_clear = !server.contains("__") && !server.ends_with('_');
    let is_same = plain(server) == server && plain(tool) == tool;
    if is_clear && is_same && name.len() <= LONGEST {
        return name;
    }
    let hash = content_hash(format!("{server}\0{tool}").as_bytes());
    let mark = hash.rsplit(':').next().unwrap_or_default();
    let kept: String = name.chars().take(LONGEST - MARK - 1).collect();
    format!("{kept}_{}", mark.get(..MARK).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn two_servers_with_one_tool_do_not_clash_and_plain_names_stay_readable() {
        assert_eq!(tool_name("docs", "search"), "mcp__docs__search");
        let pairs = [
            ("docs", "search"),
            ("code", "search"),
            ("a", "b__c"),
            ("a__b", "c"),
            ("a_", "x"),
            ("a", "_x"),
            ("a", "b.c"),
            ("a", "b_c"),
            ("a", "b c"),
            ("a.b", "c"),
            ("a", &"x".repeat(80)),
            ("a", &"x".repeat(81)),
        ];
        let names: BTreeSet<String> = pairs.iter().map(|(server, tool)| tool_name(server, tool)).collect();
        assert_eq!(names.len(), pairs.len(), "{names:?}");
        for name in names {
            assert!(
                name.len() <= LONGEST
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')),
                "{name}"
            );
        }
    }

    #[test]
    fn a_server_is_called_what_a_mention_can_hold() {
        assert!(["docs", "my-server_2", "a.b"].iter().all(|name| is_server_name(name)));
        assert!(["", "my server", "a:b", "a/b", "ä"].iter().all(|name| !is_server_name(name)));
    }
}
