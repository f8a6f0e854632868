//! What an engine asks of the user and how it is settled.
//!
//! Owns the shape of a permission, its digest, and the rule that picks an option. Never settles anything
//! itself: the loop does, once.

mod ask;
mod change;
mod chosen;
mod file_edit;
mod form;
mod made_edit;
mod narrow;
mod proposal;
mod proposed_file;
mod root;
mod rule;
mod subject;

pub(crate) use ask::{Decision, OfferedRule, PermissionOption, PermissionRule, PermissionStatus, RuleScope};
pub use ask::{Permission, PermissionAsk, PermissionOptionKind, RuleHolder};
pub(crate) use change::ChangeKind;
pub use change::FileChange;
pub(crate) use chosen::{ChosenOption, ChosenRule};
pub(crate) use file_edit::{BaseFile, FileEdit, HunkWay, NotMade};
pub(crate) use form::InputForm;
pub(crate) use made_edit::{MadeEdit, MadeEnd, MadeFile};
pub(crate) use narrow::{RuleRefusal, narrowed};
pub(crate) use proposal::{Decided, NotDecided, NotEdited, Proposal, WriterTells};
pub(crate) use proposed_file::{
    ConflictSides, FileMode, FileOutcome, HunkPart, HunkState, ProposedFile, ProposedHunk,
};
pub use root::{AskRoot, FolderIdentity};
pub(crate) use rule::{RootedRule, rule_allows};
pub(crate) use subject::Action;
pub use subject::Subject;
