//! Whether a saved rule covers a new ask.
//!
//! A rule is never wider than what was shown: the pattern of the new ask must be the saved pattern itself.

use super::ask::PermissionRule;

/// True when one of the saved rules covers an ask whose own rule would be `asked`. Patterns are compared whole: a
/// saved `cargo test` does not cover `cargo test && rm -r x`, because that ask's pattern is the longer text.
///
/// Only for engines whose patterns begin with the tool's name. An engine that holds its sessions has categories beside the
/// patterns, which a rule of ours does not keep; it applies its own rules, and the loop does not come here for it.
pub fn rule_allows(saved: &[PermissionRule], asked: Option<&PermissionRule>) -> bool {
    asked.is_some_and(|asked| saved.iter().any(|rule| rule.pattern == asked.pattern))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::approval::RuleScope;

    #[test]
    fn a_rule_covers_exactly_its_own_pattern() {
        let rule = |pattern: &str| PermissionRule { pattern: pattern.into(), scope: RuleScope::Session };
        let saved = [rule("run: cargo test")];
        assert!(rule_allows(&saved, Some(&rule("run: cargo test"))));
        assert!(!rule_allows(&saved, Some(&rule("run: cargo test && rm -r x"))));
        assert!(!rule_allows(&saved, None));
    }
}
