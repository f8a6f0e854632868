//! What needs a trusted workspace (wire.md section 1).
//!
//! Owns the table. Never knows whether the workspace is trusted.

/// Everything that is checked against trust: a closed list, so that a new action must say where it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Starting an agent process.
    StartAgent,
    /// Prompting an engine that can write or run in the workspace.
    Prompt,
    /// A read-only turn of the embedded engine.
    ReadOnlyPrompt,
    /// Any allowing decision on an ask.
    Allow,
    /// Denying an ask.
    Deny,
    /// A command of the engine that changes or runs something.
    ChangingCommand,
    /// Applying a patch.
    ApplyPatch,
    /// Reverting a patch.
    RevertPatch,
    /// Running a command.
    RunCommand,
    /// Restoring a checkpoint.
    RestoreCheckpoint,
    /// Serving a file or terminal request of an agent.
    ServeAgent,
    /// Listing files.
    ListFiles,
    /// Reading files.
    ReadFile,
    /// Showing a diff.
    ShowDiff,
    /// Making, listing, choosing sessions.
    UseSession,
    /// Reading events and views.
    ReadHistory,
    /// Stopping a turn.
    Stop,
    /// Deleting a session.
    DeleteSession,
    /// Writing drafts.
    WriteDraft,
}

/// Whether the workspace must be trusted for this.
pub fn needs_trust(action: Action) -> bool {
    match action {
        Action::StartAgent
        | Action::Prompt
        | Action::Allow
        | Action::ChangingCommand
        | Action::ApplyPatch
        | Action::RevertPatch
        | Action::RunCommand
        | Action::RestoreCheckpoint
        | Action::ServeAgent => true,
        Action::ReadOnlyPrompt
        | Action::Deny
        | Action::ListFiles
        | Action::ReadFile
        | Action::ShowDiff
        | Action::UseSession
        | Action::ReadHistory
        | Action::Stop
        | Action::DeleteSession
        | Action::WriteDraft => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_limits_harm_never_needs_trust_and_what_can_do_harm_always_does() {
        for harmless in [Action::Deny, Action::Stop, Action::DeleteSession, Action::ReadOnlyPrompt] {
            assert!(!needs_trust(harmless), "{harmless:?}");
        }
        for harmful in [Action::Allow, Action::Prompt, Action::RunCommand, Action::RevertPatch] {
            assert!(needs_trust(harmful), "{harmful:?}");
        }
    }
}
