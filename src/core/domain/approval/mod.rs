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
mod named_client;
mod narrow;
mod proposal;
mod proposed_file;
mod root;
mod rule;
mod subject;

pub use ask::{Decision, OfferedRule, PermissionOption, PermissionRule, PermissionStatus, RuleScope};
pub use ask::{Permission, PermissionAsk, PermissionOptionKind, RuleHolder};
pub use change::ChangeKind;
pub use change::FileChange;
pub use chosen::{ChosenOption, ChosenRule};
pub use file_edit::{BaseFile, FileEdit, HunkWay, NotMade};
pub use form::InputForm;
pub use made_edit::{MadeEdit, MadeEnd, MadeFile};
pub use named_client::NamedClient;
pub use narrow::{RuleRefusal, narrowed};
pub use proposal::{Decided, NotDecided, NotEdited, Proposal, WriterTells};
pub use proposed_file::{
    ConflictSides, FileMode, FileOutcome, HunkPart, HunkState, ProposedFile, ProposedHunk,
};
pub use root::{AskRoot, FolderIdentity};
pub use rule::{RootedRule, rule_allows};
pub use subject::Action;
pub use subject::Subject;
