//! What an engine asks of the user and how it is settled.
//!
//! Owns the shape of a permission, its digest, and the rule that picks an option. Never settles anything
//! itself: the loop does, once.

mod ask;
mod narrow;
mod root;
mod rule;

pub use ask::{
    ALLOW_IN_WORKSPACE, Decision, InputForm, Permission, PermissionAsk, PermissionOption,
    PermissionOptionKind, PermissionRule, PermissionStatus, RuleScope, digest_of,
};
pub use narrow::{RuleRefusal, narrowed};
pub use root::{AskRoot, FolderIdentity};
pub use rule::{RootedRule, rule_allows};
