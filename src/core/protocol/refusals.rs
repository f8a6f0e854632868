//! The codes that a request may be refused with: one group a reason, named by each row of the table of methods.
//!
//! Owns the groups, and the check of a code against them. Never writes a sentence.

use crate::domain::coded_error::ErrorCode;

/// Of every request.
pub(super) const ANY: &[ErrorCode] =
    &[ErrorCode::InvalidParams, ErrorCode::Overloaded, ErrorCode::Cancelled, ErrorCode::Internal];

/// Of those that name a session, on which another window may work.
pub(super) const SESSION: &[ErrorCode] = &[ErrorCode::UnknownSession, ErrorCode::Conflict];

/// Of those that name a tab.
pub(super) const TAB: &[ErrorCode] = &[ErrorCode::UnknownTab];

/// Of those that name a request for permission.
pub(super) const ASK: &[ErrorCode] = &[ErrorCode::UnknownRequest];

/// Of those that name something else that is kept.
pub(super) const NAMED: &[ErrorCode] = &[ErrorCode::NotFound];

/// Of those that write, run or prompt.
pub(super) const TRUST: &[ErrorCode] = &[ErrorCode::UntrustedWorkspace];

/// Of those that bring a text.
pub(super) const SIZE: &[ErrorCode] = &[ErrorCode::TooLarge];

/// Of those that read a file.
pub(super) const FILE: &[ErrorCode] =
    &[ErrorCode::PathOutsideWorkspace, ErrorCode::NotFound, ErrorCode::NotText, ErrorCode::TooLarge];

/// Of those that an engine answers.
pub(super) const ENGINE: &[ErrorCode] = &[
    ErrorCode::NotFound,
    ErrorCode::Conflict,
    ErrorCode::Unsupported,
    ErrorCode::EngineUnreachable,
    ErrorCode::EngineUnauthorized,
    ErrorCode::EngineRejected,
    ErrorCode::AgentExited,
];

/// Groups of codes that a request is refused with, beside those of every request.
pub type Refusals = &'static [&'static [ErrorCode]];

/// The codes of these groups, each once, in the order of `ErrorCode`.
pub(super) fn codes(refusals: Refusals) -> Vec<ErrorCode> {
    let mut codes = refusals.concat();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Whether a request of these groups may be refused with this code.
pub fn named(refusals: Refusals, code: ErrorCode) -> bool {
    ANY.contains(&code) || refusals.iter().any(|group| group.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_may_be_invalid_and_none_is_refused_with_the_code_of_another_group() {
        assert!(named(&[], ErrorCode::InvalidParams));
        assert!(named(&[TAB, ENGINE], ErrorCode::AgentExited));
        assert!(!named(&[TAB], ErrorCode::AgentExited));
        assert_eq!(
            codes(&[ENGINE, SESSION, NAMED])[..3],
            [ErrorCode::UnknownSession, ErrorCode::NotFound, ErrorCode::Conflict]
        );
    }
}
