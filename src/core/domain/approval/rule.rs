//! Saved rules, and whether one covers a new ask.
//!
//! A rule is never wider than what was shown: the pattern of the new ask must be the saved pattern itself, and the folder the
//! one that the rule was given for.

use serde::{Deserialize, Serialize};

use super::ask::PermissionRule;
use super::root::AskRoot;

/// A saved rule, with the folder that it was given for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootedRule {
    /// What it covers, in the engine's own characters.
    #[serde(flatten)]
    pub rule: PermissionRule,
    /// Where.
    pub root: AskRoot,
}

/// True when one of the saved rules covers an ask whose own rule would be `asked`, in this folder. Patterns are compared
/// whole: a saved `cargo test` does not cover `cargo test && rm -r x`, because that ask's pattern is the longer text.
///
/// Only for rules of ours: `asked` is one that this server would save. An engine that holds its sessions has categories beside
/// the patterns, which a rule of ours does not keep; it applies its own rules, and its asks offer none of ours.
pub fn rule_allows(saved: &[RootedRule], asked: Option<&PermissionRule>, root: &AskRoot) -> bool {
    match root {
        AskRoot::Closed => false,
        AskRoot::Folder(_) | AskRoot::AtEngine => asked.is_some_and(|asked| {
            saved.iter().any(|saved| saved.rule.pattern == asked.pattern && saved.root == *root)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::approval::{FolderIdentity, RuleScope};
    use serde_json::json;

    #[test]
    fn a_rule_without_its_folder_is_not_read() {
        let rule = RootedRule {
            rule: PermissionRule { pattern: "run: ls (in .)".to_owned(), scope: RuleScope::Workspace },
            root: AskRoot::Folder(FolderIdentity { path: "/w".to_owned(), mark: "7".to_owned() }),
        };
        let stored = serde_json::to_value(&rule).unwrap();
        assert_eq!(
            stored,
            json!({"pattern": "run: ls (in .)", "scope": "workspace", "root": {"folder": {"path": "/w", "mark": "7"}}})
        );
        assert_eq!(serde_json::from_value::<RootedRule>(stored).unwrap(), rule);
        let without = json!({"pattern": "run: ls (in .)", "scope": "workspace"});
        assert!(serde_json::from_value::<RootedRule>(without).is_err());
    }

    #[test]
    fn a_rule_covers_exactly_its_own_pattern_in_its_own_folder() {
        let rule = |pattern: &str| PermissionRule { pattern: pattern.into(), scope: RuleScope::Session };
        let folder =
            |path: &str, mark: &str| AskRoot::Folder(FolderIdentity { path: path.into(), mark: mark.into() });
        let here = folder("/w", "1");
        let saved = [RootedRule { rule: rule("run: cargo test"), root: here.clone() }];
        assert!(rule_allows(&saved, Some(&rule("run: cargo test")), &here));
        assert!(!rule_allows(&saved, Some(&rule("run: cargo test && rm -r x")), &here));
        assert!(!rule_allows(&saved, None, &here));
        for other in [folder("/v", "1"), folder("/w", "2"), AskRoot::AtEngine, AskRoot::Closed] {
            assert!(!rule_allows(&saved, Some(&rule("run: cargo test")), &other), "{other:?}");
        }
        let nowhere = [RootedRule { rule: rule("run: ls"), root: AskRoot::Closed }];
        assert!(!rule_allows(&nowhere, Some(&rule("run: ls")), &AskRoot::Closed));
    }
}
