//! The folder that an ask, an answer or a rule is about.
//!
//! Owns the identity of a folder as far as it decides what an answer covers. Never looks at a disk: the workspace edge does.

use serde::{Deserialize, Serialize};

use super::ask::PermissionRule;

/// Where what is asked would happen. What was allowed in one folder is not allowed in another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskRoot {
    /// In this folder.
    Folder(FolderIdentity),
    /// Where the engine works, which this server cannot look at.
    AtEngine,
    /// In a folder that is not open: nothing can be allowed there.
    #[default]
    Closed,
}

/// What makes a folder this one and no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderIdentity {
    /// Its real path, without links.
    pub path: String,
    /// What the file system calls it: another folder that is put under the same path has another one. Empty where the
    /// system has no such thing.
    pub mark: String,
}

/// A saved rule, with the folder that it was given for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootedRule {
    /// What it covers, in the engine's own characters.
    #[serde(flatten)]
    pub rule: PermissionRule,
    /// Where.
    pub root: AskRoot,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::approval::RuleScope;
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
}
