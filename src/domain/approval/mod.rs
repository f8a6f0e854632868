//! What an engine asks of the user and how it is settled.
//!
//! Owns the shape of a permission, its digest, and the rule that picks an option. Never settles anything
//! itself: the loop does, once.

mod ask;
mod change;
mod form;
mod narrow;
mod root;
mod rule;
mod subject;

pub use ask::{
    Decision, OfferedRule, Permission, PermissionAsk, PermissionOption, PermissionOptionKind, PermissionRule,
    PermissionStatus, RuleHolder, RuleScope,
};
pub use change::{ChangeKind, FileChange};
pub use form::InputForm;
pub use narrow::{RuleRefusal, narrowed};
pub use root::{AskRoot, FolderIdentity};
pub use rule::{RootedRule, rule_allows};
pub use subject::{Action, Subject};
