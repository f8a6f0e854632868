//! The ask: what is requested, the options, the digest of what was shown.
//!
//! Never holds the state of an ask: that is the session's ledger.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::root::AskRoot;
use super::subject::Subject;
use crate::domain::edits::text::hex;
use crate::domain::policy::standing::PolicyVerdict;
use crate::domain::shown::{Kind, cut_marked, show};

/// Bytes of a title in a view.
const TITLE: usize = 16 * 1024;

/// What an engine asks, in the engine's terms, before the loop gave it an id of ours.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionAsk {
    /// The engine's own id; engines repeat theirs, so it never leaves the server as identity.
    pub engine_request_id: String,
    /// One line that names exactly what would happen, safe to show.
    pub title: String,
    /// What can be answered, narrowest first. Labels are safe to show; the patterns of rules are in the engine's own characters.
    pub options: Vec<PermissionOption>,
    /// What would happen, in the engine's own characters.
    pub subject: Subject,
    /// The tool call that waits for the answer, as a key.
    pub tool_call_id: Option<String>,
    /// The patch that waits for the answer.
    pub patch_id: Option<String>,
    /// Everything that the engine said with it (command, patch, directory …); the digest covers it.
    pub payload: Value,
}

/// An ask as clients see it (`Permission` of wire.md section 3). What would not be seen in its text is written out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permission {
    /// Ours, unique for ever.
    pub request_id: String,
    /// Opaque digest of what is asked; an answer may carry it back.
    pub digest: String,
    /// One line that names exactly what would happen.
    pub title: String,
    /// What would happen, for a card.
    pub subject: Subject,
    /// What can be answered, narrowest first.
    pub options: Vec<PermissionOption>,
    /// The tool call that waits for the answer; a `tool` block has the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The patch that waits for the answer; a `patch` block has the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_id: Option<String>,
    /// How many parts that patch has which can be decided one by one; absent where it is only taken or left as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<u64>,
    /// Milliseconds since the Unix epoch after which the ask counts as denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// What the user's policy says of it, and why it is asked about or not. Absent for a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<PolicyVerdict>>,
}

impl Permission {
    /// What an engine asks, whole, as clients may see it. `request_id` is ours. The digest binds what the engine said, what was
    /// made of it, and the folder.
    pub fn of(ask: &PermissionAsk, request_id: String, root: &AskRoot, expires_at: Option<i64>) -> Self {
        let covered = serde_json::json!([ask.payload, ask.subject]);
        Self {
            request_id,
            digest: digest_of(&ask.title, &covered, root),
            title: ask.title.clone(),
            subject: ask.subject.clone().shown(),
            options: ask.options.iter().map(PermissionOption::shown).collect(),
            tool_call_id: ask.tool_call_id.clone(),
            patch_id: ask.patch_id.clone(),
            parts: None,
            expires_at,
            policy: None,
        }
    }

    /// As events, blocks and messages carry it; `bb/permission/get` has the whole one.
    pub fn cut(mut self) -> Self {
        self.subject = self.subject.cut();
        if self.title.len() > TITLE {
            self.title = cut_marked(self.title, TITLE);
            self.subject.truncated = true;
        }
        self
    }

    /// Every text of it that an engine wrote, for redaction.
    pub fn for_each_text(&mut self, mut change: impl FnMut(&mut String)) {
        change(&mut self.title);
        self.subject.for_each_text(&mut change);
        self.policy.iter_mut().for_each(|policy| change(&mut policy.reason));
        for option in &mut self.options {
            change(&mut option.label);
            option.rule.iter_mut().for_each(|rule| change(&mut rule.pattern));
        }
    }
}

/// One answer that can be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// The engine's id of the option.
    pub option_id: String,
    /// What a button says.
    pub label: String,
    /// Which decision it is.
    pub kind: PermissionOptionKind,
    /// The rule that it would save.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<OfferedRule>,
}

impl PermissionOption {
    /// One that saves no rule. `label` must be safe to show.
    pub fn plain(option_id: &str, label: &str, kind: PermissionOptionKind) -> Self {
        Self { option_id: option_id.to_owned(), label: label.to_owned(), kind, rule: None }
    }

    /// One that saves a rule. `label` must be safe to show.
    pub fn ruling(option_id: &str, label: &str, rule: OfferedRule) -> Self {
        let kind = PermissionOptionKind::AllowRule;
        Self { option_id: option_id.to_owned(), label: label.to_owned(), kind, rule: Some(rule) }
    }

    /// The option as clients see it.
    pub fn shown(&self) -> Self {
        Self { rule: self.rule.as_ref().map(OfferedRule::shown), ..self.clone() }
    }
}

/// Who holds the rules that answer later requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleHolder {
    /// This server, whole patterns.
    #[default]
    Server,
    /// The engine, which reads a last `*` of a pattern as "whatever follows".
    Engine,
    /// The agent, in words of its own, by the id of the chosen option.
    Agent,
}

/// The rule that an option would save, in the words of whoever holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferedRule {
    /// What it would cover. As it is sent to clients, what would not be seen in it is written out; an answer may give it back as
    /// it was sent.
    pub pattern: String,
    /// Where it would hold; absent where only the holder knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<RuleScope>,
    /// Who would keep it.
    pub holder: RuleHolder,
    /// Path of the file in the workspace in which its holder would keep it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<String>,
}

impl OfferedRule {
    /// The rule as clients see it.
    pub fn shown(&self) -> Self {
        Self { pattern: show(&self.pattern, Kind::Code).into_owned(), ..self.clone() }
    }

    /// The rule with a pattern of its own, which this server or the engine saves. `None`: the agent keeps it, by the option.
    pub fn saved(&self) -> Option<PermissionRule> {
        match (self.holder, self.scope) {
            (RuleHolder::Server | RuleHolder::Engine, Some(scope)) => {
                Some(PermissionRule { pattern: self.pattern.clone(), scope })
            }
            (RuleHolder::Server | RuleHolder::Engine | RuleHolder::Agent, _) => None,
        }
    }
}

/// The kind of an option, in the words of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionOptionKind {
    /// This one time.
    AllowOnce,
    /// And whatever the rule covers, in its scope.
    AllowRule,
    /// No.
    Deny,
}

/// A decision as a client may state it without naming an option (R000-29).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// This one time.
    AllowOnce,
    /// No.
    Deny,
    /// This and whatever the rule covers.
    AllowRule,
}

impl Decision {
    /// The option kind that carries this decision.
    pub(crate) fn option_kind(self) -> PermissionOptionKind {
        match self {
            Self::AllowOnce => PermissionOptionKind::AllowOnce,
            Self::Deny => PermissionOptionKind::Deny,
            Self::AllowRule => PermissionOptionKind::AllowRule,
        }
    }
}

/// What an "allow_rule" answer would allow from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionRule {
    /// The exact title prefix or path that the rule covers, in the engine's notation. As it is sent to clients, what would
    /// not be seen in it is written out; an answer may give it back as it was sent.
    pub pattern: String,
    /// How long and where it holds.
    pub scope: RuleScope,
}

/// Where a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleScope {
    /// Until the session is deleted.
    Session,
    /// In this workspace.
    Workspace,
}

/// The state of an ask, as a permission block shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionStatus {
    /// Waits for an answer.
    Pending,
    /// Allowed once the editor has saved what is unsaved. It can still be answered otherwise, and waits again where that fails.
    Saving,
    /// Allowed, once or by rule.
    Allowed,
    /// Denied by the user.
    Denied,
    /// Denied by time.
    Expired,
    /// Settled by a stop, an exit or a restart.
    Cancelled,
}

impl PermissionStatus {
    /// All of them.
    const ALL: [Self; 6] =
        [Self::Pending, Self::Saving, Self::Allowed, Self::Denied, Self::Expired, Self::Cancelled];

    /// The status of a word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// The word on the wire and in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Saving => "saving",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

impl PermissionAsk {
    /// The rules that its options would save, in the engine's own characters, by option.
    pub fn rules(&self) -> BTreeMap<String, OfferedRule> {
        let ruling = |option: &PermissionOption| Some((option.option_id.clone(), option.rule.clone()?));
        self.options.iter().filter_map(ruling).collect()
    }

    /// What can be answered: of what the engine never told, no rule.
    pub fn limited(mut self) -> Self {
        if self.subject.unknown {
            self.options.retain(|option| option.kind != PermissionOptionKind::AllowRule);
        }
        self
    }

    /// What can be answered about what no rule may cover; where nothing else allows, it stays as it is.
    pub fn without_rules(mut self) -> Self {
        if self.options.iter().any(|option| option.kind == PermissionOptionKind::AllowOnce) {
            self.options.retain(|option| option.kind != PermissionOptionKind::AllowRule);
        }
        self
    }

    /// The option that an answer means: `option_id` wins; a plain decision takes the narrowest option of its kind,
    /// which is the first, since asks list options narrowest first. `None` when there is no such option.
    pub fn choose(
        options: &[PermissionOption],
        option_id: Option<&str>,
        decision: Decision,
    ) -> Option<PermissionOption> {
        match option_id {
            Some(id) => options.iter().find(|option| option.option_id == id).cloned(),
            None => options.iter().find(|option| option.kind == decision.option_kind()).cloned(),
        }
    }
}

/// `sha256:<hex>` over the canonical text of what is asked and the folder that it is asked for. Object keys are sorted
/// first, so that the digest does not depend on the order in which an engine wrote them.
pub(super) fn digest_of(title: &str, subject: &Value, root: &AskRoot) -> String {
    let mut hash = Sha256::new();
    let (path, mark) = match root {
        AskRoot::Folder(folder) => (folder.path.as_str(), folder.mark.as_str()),
        AskRoot::AtEngine => ("at the engine", ""),
        AskRoot::Closed => ("", ""),
    };
    for part in [title, path, mark] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    feed(&mut hash, subject);
    format!("sha256:{}", hex(&hash.finalize()))
}

fn feed(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            hash.update(b"{");
            for key in keys {
                hash.update(Value::String(key.clone()).to_string().as_bytes());
                hash.update(b":");
                feed(hash, &map[key]);
                hash.update(b",");
            }
            hash.update(b"}");
        }
        Value::Array(items) => {
            hash.update(b"[");
            for item in items {
                feed(hash, item);
                hash.update(b",");
            }
            hash.update(b"]");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            hash.update(value.to_string().as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::approval::FolderIdentity;
    use serde_json::json;

    #[test]
    fn digest_ignores_key_order_and_sees_every_other_change() {
        let here = AskRoot::Folder(FolderIdentity { path: "/w".to_owned(), mark: "1".to_owned() });
        let other = AskRoot::Folder(FolderIdentity { path: "/w".to_owned(), mark: "2".to_owned() });
        let one = digest_of("Run", &json!({"a": 1, "b": [1, {"c": null}]}), &here);
        assert_eq!(one, digest_of("Run", &json!({"b": [1, {"c": null}], "a": 1}), &here));
        assert_ne!(one, digest_of("Run", &json!({"a": 1, "b": [1, {"c": false}]}), &here));
        assert_ne!(one, digest_of("Ran", &json!({"a": 1, "b": [1, {"c": null}]}), &here));
        for root in [other, AskRoot::AtEngine, AskRoot::Closed] {
            assert_ne!(one, digest_of("Run", &json!({"a": 1, "b": [1, {"c": null}]}), &root));
        }
        assert_eq!(one.len(), 71);
    }

    #[test]
    fn option_id_wins_over_decision_and_a_plain_decision_takes_the_narrowest() {
        let option = |id: &str, kind| PermissionOption::plain(id, id, kind);
        let options = vec![
            option("once", PermissionOptionKind::AllowOnce),
            option("dir", PermissionOptionKind::AllowRule),
            option("all", PermissionOptionKind::AllowRule),
            option("no", PermissionOptionKind::Deny),
        ];
        let chosen = |id: Option<&str>, decision| {
            PermissionAsk::choose(&options, id, decision).map(|option| option.option_id)
        };
        assert_eq!(chosen(Some("all"), Decision::Deny).as_deref(), Some("all"));
        assert_eq!(chosen(None, Decision::AllowRule).as_deref(), Some("dir"));
        assert_eq!(chosen(None, Decision::Deny).as_deref(), Some("no"));
        assert_eq!(chosen(Some("nope"), Decision::AllowOnce), None);
    }
}
