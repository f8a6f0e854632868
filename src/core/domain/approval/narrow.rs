//! Which rule may be saved: what was shown, or narrower.
//!
//! Owns the comparison of a wish with what was shown. Never says what a saved rule covers: that is `rule`.

use super::ask::{PermissionRule, RuleScope};
use crate::domain::coded_error::{CodedError, ErrorCode};

/// Why a rule cannot be saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleRefusal {
    /// The request offers none.
    NotOffered,
    /// It would cover more than what was shown.
    Wider,
}

impl From<RuleRefusal> for CodedError {
    fn from(refusal: RuleRefusal) -> Self {
        let sentence = match refusal {
            RuleRefusal::NotOffered => "This request offers no rule; allow it once or deny it.",
            RuleRefusal::Wider => {
                "The rule would be wider than what was shown; save it as shown, or narrower."
            }
        };
        Self::new(ErrorCode::InvalidParams, sentence)
    }
}

/// The rule to save: what was shown, or narrower, never wider. A session is narrower than a workspace. Patterns are
/// compared whole, so the only narrower pattern is the same one; where the engine reads a last `*` as "whatever follows"
/// (`globs`), a pattern that begins with what stands before it is narrower too.
pub fn narrowed(
    shown: Option<&PermissionRule>,
    pattern: Option<String>,
    scope: Option<RuleScope>,
    globs: bool,
) -> Result<PermissionRule, RuleRefusal> {
    let shown = shown.ok_or(RuleRefusal::NotOffered)?;
    let pattern = pattern.unwrap_or_else(|| shown.pattern.clone());
    let scope = scope.unwrap_or(shown.scope);
    let start = shown.pattern.strip_suffix('*').filter(|_| globs);
    let within = pattern == shown.pattern
        || start.is_some_and(|start| {
            let rest = pattern.strip_prefix(start);
            // Only the last character may stand for others: what the rest would mean elsewhere is the engine's secret.
            rest.is_some_and(|rest| {
                !rest.trim_end_matches('*').contains(['*', '?', '[', '{']) && !rest.trim().is_empty()
            })
        });
    if !within || (scope == RuleScope::Workspace && shown.scope == RuleScope::Session) {
        return Err(RuleRefusal::Wider);
    }
    Ok(PermissionRule { pattern, scope })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r000_28_a_rule_is_saved_as_shown_or_narrower() {
        let shown = PermissionRule { pattern: "python *".into(), scope: RuleScope::Workspace };
        let save = |pattern: &str, scope| narrowed(Some(&shown), Some(pattern.into()), scope, true);
        assert_eq!(narrowed(Some(&shown), None, None, true), Ok(shown.clone()));
        let narrow = PermissionRule { pattern: "python sort.py *".into(), scope: RuleScope::Session };
        assert_eq!(save("python sort.py *", Some(RuleScope::Session)), Ok(narrow));
        for wider in ["*", "pyth*", "rm *", "python * && rm *", "python [a-z]*"] {
            assert_eq!(save(wider, None), Err(RuleRefusal::Wider), "{wider}");
        }
        let session = PermissionRule { scope: RuleScope::Session, ..shown.clone() };
        assert_eq!(narrowed(Some(&session), None, Some(RuleScope::Workspace), true), Err(RuleRefusal::Wider));
        assert_eq!(narrowed(Some(&shown), Some("python x".into()), None, false), Err(RuleRefusal::Wider));
        assert_eq!(narrowed(None, None, None, true), Err(RuleRefusal::NotOffered));
    }
}
