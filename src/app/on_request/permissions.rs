//! The ledger as a whole: what waits, who asked, when it expires, and the rules that were saved.
//!
//! Owns the time of an ask and the rules of the workspace. Never settles an ask by a user's word: that is `approvals`.

use sha2::{Digest, Sha256};

use crate::app::ports::{Ruling, Settlement};
use crate::app::record::{KeptRule, Settler};
use crate::app::sessions::Session;
use crate::app::state::App;
use crate::domain::approval::{
    AskRoot, Decision, FolderIdentity, PermissionAsk, PermissionRule, PermissionStatus, RootedRule,
    RuleHolder, RuleScope,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::edits::text::hex;
use crate::domain::shown::{Kind, show};
use crate::protocol::permission::*;
use crate::protocol::settings::EngineKind;

impl App {
    /// Who asks: the kind of the engine or the name of the agent, and the number of its process. An agent's id of an ask
    /// begins with that number.
    pub(in crate::app) fn who_asks(
        &self,
        session_id: &str,
        engine_request_id: &str,
    ) -> (String, Option<u64>) {
        let Ok(session) = self.known(session_id) else { return (String::new(), None) };
        let agent = session.record.held.as_ref().and_then(|held| held.agent.clone());
        let generation = match session.record.engine {
            EngineKind::Acp => engine_request_id.split(':').next().and_then(|number| number.parse().ok()),
            EngineKind::Embedded | EngineKind::Breadboard | EngineKind::Desktop => None,
        };
        (agent.unwrap_or_else(|| session.record.engine.as_str().to_owned()), generation)
    }

    /// From when on an ask counts as denied. After a restart only what is left of its time counts.
    pub(in crate::app) fn watch_expiry(&mut self, session_id: &str, request_id: &str, now: i64) {
        let now_us = self.now_us();
        let expires = self
            .live_mut(session_id)
            .and_then(|live| live.asks.get(request_id))
            .and_then(|ask| ask.permission.expires_at);
        let Some(expires_at) = expires else { return };
        let left = expires_at.saturating_sub(now).max(0);
        let due = now_us.saturating_add(u64::try_from(left).unwrap_or(0).saturating_mul(1_000));
        if let Some(live) = self.live_mut(session_id) {
            live.expiries.push((due, request_id.to_owned()));
        }
    }

    /// When the next ask expires, in microseconds of the loop's clock.
    pub(in crate::app) fn next_expiry_us(&self) -> Option<u64> {
        self.sessions.loaded().flat_map(|(.., live)| &live.expiries).map(|(due, _)| *due).min()
    }

    /// Asks whose time is over count as denied; the engine hears it.
    pub(in crate::app) fn expire_asks(&mut self) {
        let now = self.now_us();
        if self.next_expiry_us().is_none_or(|due| due > now) {
            return;
        }
        for session_id in self.sessions.loaded_ids() {
            let Some(live) = self.live_mut(&session_id) else { continue };
            let (due, later) =
                std::mem::take(&mut live.expiries).into_iter().partition(|(due, _)| *due <= now);
            live.expiries = later;
            let due: Vec<(u64, String)> = due;
            for (_, request_id) in due {
                let waits = self
                    .live_mut(&session_id)
                    .and_then(|live| live.asks.get(&request_id))
                    .is_some_and(|ask| ask.answered.is_none());
                if !waits {
                    continue;
                }
                if self.is_paused(&session_id) {
                    self.expire_paused(&session_id, &request_id);
                    continue;
                }
                if self.traits_of(&session_id).settlement == Settlement::Event {
                    let status = PermissionStatus::Expired;
                    self.send_decision(&session_id, &request_id, Ruling::Deny.into(), status, None);
                } else {
                    let option = self.deny_option(&session_id, &request_id);
                    let (status, by) = (PermissionStatus::Expired, Settler::Expiry);
                    self.settle_ask(&session_id, &request_id, status, &option, by);
                }
            }
            self.flush(&session_id);
        }
    }

    /// The narrowest option that denies; empty where the engine offers none.
    fn deny_option(&mut self, session_id: &str, request_id: &str) -> String {
        let ask = self.live_mut(session_id).and_then(|live| live.asks.get(request_id));
        ask.and_then(|ask| PermissionAsk::choose(&ask.permission.options, None, Decision::Deny))
            .map(|option| option.option_id)
            .unwrap_or_default()
    }

    pub(in crate::app) fn permission_list(
        &mut self,
        params: &PermissionListParams,
    ) -> Result<PermissionListResult, CodedError> {
        if let Some(session_id) = &params.session_id {
            self.load(session_id)?;
        }
        let wanted = |id: &String| params.session_id.as_ref().is_none_or(|only| only == id);
        let mut pending = Vec::new();
        for (session_id, session) in self.sessions.iter().filter(|(id, _)| wanted(id)) {
            let Some(live) = &session.live else { continue };
            let mut asks: Vec<_> = live.asks.values().collect();
            asks.sort_by_key(|ask| ask.asked_at);
            pending.extend(asks.into_iter().map(|ask| PendingPermission {
                session_id: session_id.clone(),
                permission: ask.permission.clone().cut(),
                source: ask.source.clone(),
                generation: ask.generation,
                asked_at: ask.asked_at,
            }));
        }
        let mut rules: Vec<SavedRule> = self.rules.iter().map(|rule| saved(rule, None)).collect();
        for (session_id, session) in self.sessions.iter().filter(|(id, _)| wanted(id)) {
            rules.extend(session.record.rooted_rules.iter().map(|rule| saved(rule, Some(session_id))));
            rules.extend(session.record.kept_elsewhere.iter().map(|kept| kept_rule(kept, session_id)));
        }
        Ok(PermissionListResult { pending, rules, approvals: Some(self.approvals_state()) })
    }

    /// One request, whole, from memory or the ledger.
    pub(in crate::app) fn permission_get(
        &mut self,
        params: &PermissionGetParams,
    ) -> Result<PermissionGetResult, CodedError> {
        let session_id = params.session();
        self.load(session_id)?;
        let waiting = self.live_mut(session_id).and_then(|live| live.asks.get(&params.request_id).cloned());
        let ask = match waiting {
            Some(ask) => ask,
            None => self.settled_ask(session_id, &params.request_id)?,
        };
        Ok(PermissionGetResult {
            permission: ask.permission,
            status: ask.status,
            resolved_by: ask.resolved_by.map(|by| by.as_str().to_owned()),
            client: ask.client,
        })
    }

    pub(in crate::app) fn permission_revoke(
        &mut self,
        rule_id: &str,
    ) -> Result<PermissionRevokeResult, CodedError> {
        let done = PermissionRevokeResult { rule_id: rule_id.to_owned(), revoked: true };
        if let Some(at) = self.rules.iter().position(|rule| id_of(rule, None) == rule_id) {
            let workspace = self.workspace.key.clone();
            self.journal()?
                .set_rule(&workspace, rule_id, None)
                .map_err(|error| super::journal_failed(&error))?;
            self.rules.remove(at);
            self.tell_allowed_servers();
            return Ok(done);
        }
        let of = |(session_id, session): (&String, &Session)| {
            let has = |rule: &RootedRule| id_of(rule, Some(session_id)) == rule_id;
            session.record.rooted_rules.iter().any(has).then(|| session_id.clone())
        };
        let kept = self.sessions.iter().find_map(|(session_id, session)| {
            session.record.kept_elsewhere.iter().find(|kept| id_of_kept(kept, session_id) == rule_id)
        });
        if let Some(kept) = kept {
            let file = kept.rule.kept_in.as_ref().map(|path| format!(" in `{path}` of the workspace"));
            let why = format!(
                "`{}` keeps this rule{}, so it can be taken back only there.",
                kept.keeper,
                file.unwrap_or_default()
            );
            return Err(CodedError::new(ErrorCode::Unsupported, why));
        }
        let Some(session_id) = self.sessions.iter().find_map(of) else {
            return Err(CodedError::new(
                ErrorCode::NotFound,
                "This rule does not exist any more; look at the list of rules again.",
            ));
        };
        self.load(&session_id)?;
        self.hold(&session_id)?;
        let rules = &mut self.record_mut(&session_id)?.rooted_rules;
        rules.retain(|rule| id_of(rule, Some(&session_id)) != rule_id);
        self.flush(&session_id);
        Ok(done)
    }

    /// Saves a rule where it is to hold; the same one is not saved twice.
    pub(super) fn save_rule(&mut self, session_id: &str, rule: RootedRule) -> Result<(), CodedError> {
        match rule.rule.scope {
            RuleScope::Session => {
                let rules = &mut self.record_mut(session_id)?.rooted_rules;
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
            RuleScope::Workspace if self.rules.contains(&rule) => {}
            RuleScope::Workspace => {
                // A rule holds words, which always serialise.
                let record = serde_json::to_vec(&rule).unwrap_or_default();
                let (workspace, id) = (self.workspace.key.clone(), id_of(&rule, None));
                self.journal()?
                    .set_rule(&workspace, &id, Some(&record))
                    .map_err(|error| super::journal_failed(&error))?;
                self.rules.push(rule);
            }
        }
        Ok(())
    }

    /// Rules of the workspace, at the start.
    pub(in crate::app) fn read_rules(&mut self) {
        let workspace = self.workspace.key.clone();
        let rows =
            self.journal.as_mut().and_then(|journal| journal.rules(&workspace).ok()).unwrap_or_default();
        // One that cannot be read, or is of no folder, allows nothing.
        self.rules = rows.iter().filter_map(|row| serde_json::from_slice(row).ok()).collect();
        self.tell_allowed_servers();
    }
}

fn saved(rooted: &RootedRule, session_id: Option<&String>) -> SavedRule {
    let PermissionRule { pattern, scope } = &rooted.rule;
    SavedRule {
        rule_id: id_of(rooted, session_id),
        pattern: show(pattern, Kind::Code).into_owned(),
        scope: Some(*scope),
        holder: RuleHolder::Server,
        kept_by: None,
        kept_in: None,
        revocable: true,
        folder: folder_of(rooted).map(|folder| show(&folder.path, Kind::Code).into_owned()),
        session_id: session_id.cloned(),
    }
}

/// A rule that somebody else keeps. It was given in this session; where else it holds, its keeper knows.
fn kept_rule(kept: &KeptRule, session_id: &str) -> SavedRule {
    SavedRule {
        rule_id: id_of_kept(kept, session_id),
        pattern: show(&kept.rule.pattern, Kind::Code).into_owned(),
        scope: kept.rule.scope,
        holder: kept.rule.holder,
        kept_by: Some(kept.keeper.clone()),
        kept_in: kept.rule.kept_in.clone(),
        revocable: false,
        folder: None,
        session_id: Some(session_id.to_owned()),
    }
}

fn id_of_kept(kept: &KeptRule, session_id: &str) -> String {
    let mut hash = Sha256::new();
    for part in [session_id, kept.keeper.as_str(), kept.rule.pattern.as_str(), "kept"] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("rule-{}", hex(&hash.finalize()[..12]))
}

fn folder_of(rooted: &RootedRule) -> Option<&FolderIdentity> {
    match &rooted.root {
        AskRoot::Folder(folder) => Some(folder),
        AskRoot::AtEngine | AskRoot::Closed => None,
    }
}

/// A rule is named by what it says and where, so that the same rule always has the same name.
fn id_of(rooted: &RootedRule, session_id: Option<&String>) -> String {
    let mut hash = Sha256::new();
    let (path, mark) =
        folder_of(rooted).map_or(("", ""), |folder| (folder.path.as_str(), folder.mark.as_str()));
    for part in [session_id.map_or("", String::as_str), rooted.rule.pattern.as_str(), path, mark] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("rule-{}", &hex(&hash.finalize())[..24])
}
