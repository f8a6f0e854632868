//! The folder that an ask, an answer or a rule is about.
//!
//! Owns the identity of a folder as far as it decides what an answer covers. Never looks at a disk: the workspace edge does.

use serde::{Deserialize, Serialize};

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
