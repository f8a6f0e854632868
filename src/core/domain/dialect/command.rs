//! What a command of an engine needs before it may be given.
//!
//! Owns the verdict by name. A name that is not known here may change anything, so it needs trust.

/// What stands before a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandNeed {
    /// It only reads or looks up.
    Nothing,
    /// It stops a turn: that is `bb/stop`, which also pauses the queue.
    Stop,
    /// It changes or runs something.
    Trust,
    /// It answers a permission: that goes through the approval alone.
    Approval,
}

/// Commands that answer a permission.
const APPROVALS: [&str; 3] = ["permission_decision", "respond_permission", "permission_response"];

/// The need of a command, by its name.
pub fn need_of(command: &str) -> CommandNeed {
    // In whatever case it is spelled: no engine may be talked past the approval.
    if APPROVALS.iter().any(|word| word.eq_ignore_ascii_case(command.trim())) {
        return CommandNeed::Approval;
    }
    match command.trim() {
        "list_checkpoints"
        | "session_child_next"
        | "session_child_previous"
        | "session_parent"
        | "policy_get"
        | "index_status" => CommandNeed::Nothing,
        "stop" => CommandNeed::Stop,
        _ => CommandNeed::Trust,
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandNeed, need_of};

    #[test]
    fn r000_63_every_command_that_is_not_known_to_read_only_needs_trust() {
        for command in
            ["restore_checkpoint", "set_model", "run_tests", "apply_diff", "never heard", "STOP", ""]
        {
            assert_eq!(need_of(command), CommandNeed::Trust, "{command}");
        }
        assert_eq!(need_of("list_checkpoints"), CommandNeed::Nothing);
        assert_eq!(need_of(" permission_decision "), CommandNeed::Approval);
        assert_eq!(need_of("Respond_PERMISSION\n"), CommandNeed::Approval);
        assert_eq!(need_of("stop"), CommandNeed::Stop);
    }
}
