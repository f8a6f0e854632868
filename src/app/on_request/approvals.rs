//! `bb/approvePermission` and every other way an ask is settled: exactly once, durably, said as an event.

use serde_json::{Map, Value};

use crate::app::allowed_edit::AllowedEdit;
use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::app::patch_note::{part_label, part_made};
use crate::app::ports::{EngineCall, EngineDecision, Ruling, Settlement};
use crate::app::record::{Ask, KeptRule, Settler};
use crate::app::state::App;
use crate::domain::approval::{
    ChosenOption, ChosenRule, Decision, HunkState, OfferedRule, PermissionAsk, PermissionOption,
    PermissionOptionKind, PermissionRule, PermissionStatus, Proposal, RootedRule, RuleHolder, WriterTells,
    narrowed,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::domain::shown::reveal;
use crate::protocol::request::*;

impl App {
    /// Checked in this order: params, session, request, trust (allowing only), digest, what the files of an edit hold.
    pub(in crate::app) fn approve_permission(
        &mut self,
        client: ClientId,
        answer: ApprovePermissionParams,
        reply: Reply<ApprovePermissionResult>,
    ) {
        let chosen = match self.chosen(client, answer.clone()) {
            Ok(chosen) => chosen,
            Err(error) => return reply.refuse(error),
        };
        let Chosen { session_id, request_id, answer: what } = chosen;
        let is_yes =
            matches!(&what, ApprovalAnswer::New(option, ..) if option.kind != PermissionOptionKind::Deny);
        let waits = self.live_mut(&session_id).and_then(|live| live.asks.get(&request_id)).cloned();
        let places = match waits.filter(|_| is_yes) {
            Some(ask) => self.bases_to_compare(&session_id, &ask),
            None => Vec::new(),
        };
        match places.is_empty() {
            true => self.approve_as_shown(client, answer, reply),
            false => {
                self.compare_bases(AllowedEdit { client, session_id, request_id, answer, reply }, places);
            }
        }
    }

    /// The same, of what nothing has to be compared for any more.
    pub(in crate::app) fn approve_as_shown(
        &mut self,
        client: ClientId,
        params: ApprovePermissionParams,
        reply: Reply<ApprovePermissionResult>,
    ) {
        let chosen = match self.chosen(client, params) {
            Ok(chosen) => chosen,
            Err(error) => return reply.refuse(error),
        };
        let (session_id, request_id) = (chosen.session_id, chosen.request_id);
        let by = self.settler_of(client);
        let (option, rule, content) = match chosen.answer {
            ApprovalAnswer::New(option, rule, content) => (option, rule, content),
            ApprovalAnswer::Given(result) => return reply.answer(result),
        };
        self.answered_at(client, &session_id, &request_id);
        if self.saves_first(&option) {
            return reply.settle(self.save_and_run(client, &session_id, &request_id));
        }
        if self.traits_of(&session_id).settlement == Settlement::Event {
            let rule = rule.map(|rooted| rooted.rule);
            if let Some(ask) = self.live_mut(&session_id).and_then(|live| live.asks.get_mut(&request_id)) {
                ask.given_by = Some(by);
            }
            return self.decide(&session_id, &request_id, &option, rule, content, reply);
        }
        // First: an answer that promises a rule which is not there would be a lie.
        let saved = rule.as_ref().map(|rooted| rooted.rule.clone());
        if let Some(Err(error)) = rule.map(|rule| self.save_rule(&session_id, rule)) {
            return reply.refuse(error);
        }
        let status = status_of(&option);
        let option_id = option.option_id.clone();
        let settling = Settling { status, option_id, rule: saved, content, by };
        let settle = |app: &mut Self| app.settle_with(&session_id, &request_id, settling);
        if self.is_paused(&session_id) {
            let ruling = if status == PermissionStatus::Allowed { Ruling::AllowOnce } else { Ruling::Deny };
            if let Err(error) = self.continue_turn(client, &session_id, &request_id, ruling, settle) {
                return reply.refuse(error);
            }
        } else {
            settle(self);
            self.flush(&session_id);
        }
        reply.answer(ApprovePermissionResult {
            request_id,
            outcome: ApprovalOutcome::Recorded,
            resolution: Some(status),
            resolved_by: Some(by.as_str().to_owned()),
            client: self.clients.get(client).and_then(|client| client.named.clone()),
        });
    }

    /// Remembers at which client a request is answered, for the others and for whoever comes later.
    pub(super) fn answered_at(&mut self, client: ClientId, session_id: &str, request_id: &str) {
        let named = self.clients.get(client).and_then(|client| client.named.clone());
        if let Some(ask) = self.live_mut(session_id).and_then(|live| live.asks.get_mut(request_id)) {
            ask.client = named;
        }
    }

    /// Who answers where this client does.
    fn settler_of(&self, client: ClientId) -> Settler {
        let by_itself = self.clients.get(client).is_some_and(|client| client.abilities.answers_by_itself);
        if by_itself { Settler::Client } else { Settler::User }
    }

    fn chosen(&mut self, client: ClientId, params: ApprovePermissionParams) -> Result<Chosen, CodedError> {
        let session_id = params.session().to_owned();
        self.load(&session_id)?;
        let request_id = params.request_id.clone();
        let Some(ask) = self.live_mut(&session_id).and_then(|live| live.asks.get(&request_id).cloned())
        else {
            let given = self.settled_before(&session_id, &request_id)?;
            return Ok(Chosen { session_id, request_id, answer: ApprovalAnswer::Given(given) });
        };
        let option = self.option_of(&session_id, &ask, &params)?;
        self.may_choose(client, &session_id, &ask, &option, params.digest.as_deref())?;
        if ask.answered.is_some() && ask.sent {
            let given = on_its_way(&request_id, &ask);
            return Ok(Chosen { session_id, request_id, answer: ApprovalAnswer::Given(given) });
        }
        let refused = |proposal: &Proposal| proposal.hunks().any(|hunk| hunk.state == HunkState::Rejected);
        if option.kind != PermissionOptionKind::Deny && ask.proposal.as_ref().is_some_and(refused) {
            return Err(CodedError::new(
                ErrorCode::Conflict,
                "A part of this edit was rejected, so it cannot be allowed as a whole; decide on the rest change by change.",
            ));
        }
        let rule = rule_with(&ask, &option, params.rule_update)?;
        let content = params.content.filter(|_| ask.permission.subject.form().is_some()).map(Value::Object);
        Ok(Chosen { session_id, request_id, answer: ApprovalAnswer::New(Box::new(option), rule, content) })
    }

    /// The option that an answer names, or that its decision comes to.
    fn option_of(
        &self,
        session_id: &str,
        ask: &Ask,
        params: &ApprovePermissionParams,
    ) -> Result<PermissionOption, CodedError> {
        let option =
            PermissionAsk::choose(&ask.permission.options, params.option_id.as_deref(), params.decision);
        let denies = params.decision == Decision::Deny && params.option_id.is_none();
        let no = || (denies && self.keeps_rules(session_id)).then(no_to_all);
        option.or_else(no).ok_or_else(|| {
            CodedError::new(
                ErrorCode::InvalidParams,
                "This request has no such option; answer with one of its `options`.",
            )
        })
    }

    /// Allowing needs trust and the folder that was shown; any answer is to what was shown.
    pub(super) fn may_choose(
        &mut self,
        client: ClientId,
        session_id: &str,
        ask: &Ask,
        option: &PermissionOption,
        digest: Option<&str>,
    ) -> Result<(), CodedError> {
        if option.kind != PermissionOptionKind::Deny && !self.clients.trusts(client) {
            return Err(CodedError::new(
                ErrorCode::UntrustedWorkspace,
                "This workspace is not trusted, so nothing may be written or run in it; trust it first, or deny.",
            ));
        }
        if digest.is_some_and(|digest| digest != ask.permission.digest) {
            return Err(CodedError::new(
                ErrorCode::Conflict,
                "What is asked is not what was shown; look at the request again and answer that.",
            ));
        }
        if option.kind != PermissionOptionKind::Deny {
            self.same_root(session_id, &ask.root, ask.root_name.as_deref())?;
        }
        Ok(())
    }

    /// Whether the engine of a session saves "always" answers itself, by the id of the option alone.
    fn keeps_rules(&self, session_id: &str) -> bool {
        self.traits_of(session_id).rules == RuleHolder::Agent
    }

    pub(in crate::app) fn settled_before(
        &mut self,
        session_id: &str,
        request_id: &str,
    ) -> Result<ApprovePermissionResult, CodedError> {
        let ask = self.settled_ask(session_id, request_id)?;
        Ok(ApprovePermissionResult {
            request_id: request_id.to_owned(),
            outcome: ApprovalOutcome::AlreadyResolved,
            resolution: Some(ask.status),
            resolved_by: ask.resolved_by.map(|by| by.as_str().to_owned()),
            client: ask.client,
        })
    }

    /// A request of the ledger that does not wait any more.
    pub(super) fn settled_ask(&mut self, session_id: &str, request_id: &str) -> Result<Ask, CodedError> {
        self.flush(session_id);
        let unwritten = self
            .backlog
            .commits
            .iter()
            .rev()
            .filter(|commit| commit.session_id == session_id)
            .flat_map(|commit| commit.ledger.iter().rev())
            .find(|row| row.request_id == request_id)
            .cloned();
        let row = match unwritten {
            Some(row) => Some(row),
            None => self.journal()?.ask(session_id, request_id).ok().flatten(),
        };
        row.and_then(|row| serde_json::from_slice(&row.record).ok()).ok_or_else(|| {
            CodedError::new(
                ErrorCode::UnknownRequest,
                "There is no such permission request in this session; it may belong to another one.",
            )
        })
    }

    /// Settles one ask that nobody filled anything in for.
    pub(in crate::app) fn settle_ask(
        &mut self,
        session_id: &str,
        request_id: &str,
        status: PermissionStatus,
        option_id: &str,
        by: Settler,
    ) {
        let option_id = option_id.to_owned();
        self.settle_with(
            session_id,
            request_id,
            Settling { status, option_id, rule: None, content: None, by },
        );
    }

    /// Settles one ask: engine, ledger, event. What was filled in goes to the engine and nowhere else: it may be private.
    pub(in crate::app) fn settle_with(&mut self, session_id: &str, request_id: &str, settling: Settling) {
        let Settling { mut status, option_id, rule, content, by } = settling;
        let now = self.ambient.now_ms();
        // What an agent of ours is allowed to write is written here, and it says what came of it.
        let tells = !self.traits_of(session_id).sessions.is_elsewhere();
        let Some(live) = self.live_mut(session_id) else { return };
        let Some(mut ask) = live.asks.remove(request_id) else { return };
        // Its time does not count any more, and must not be kept for a day.
        live.expiries.retain(|(_, id)| id != request_id);
        if status == PermissionStatus::Allowed {
            live.allowed_root = Some(ask.root.clone());
        }
        // The user allowed a part, and the engine hears no: what was made is not for it to make.
        let part = ask.proposal.as_ref().and_then(part_label);
        if part.is_some() {
            status = PermissionStatus::Allowed;
        }
        settle_proposal(&mut ask, status, by, tells && part.is_none());
        ask.status = status;
        ask.resolved_by = Some(by);
        let is_answer = matches!(status, PermissionStatus::Allowed | PermissionStatus::Denied);
        ask.client.take_if(|_| !(by.is_at_a_client() || (by == Settler::Engine && is_answer)));
        self.note_ask(session_id, &ask);
        let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
        let mut payload = settled_as(request_id, status, &option_id, by);
        let rule = ask.rule_of(&option_id, rule.as_ref()).filter(|_| status == PermissionStatus::Allowed);
        if let Some(client) = &ask.client {
            payload.insert("client".to_owned(), serde_json::to_value(client).unwrap_or_default());
        }
        if by.is_at_a_client()
            && let Some(mut chosen) = chosen_option(&ask, &option_id, rule.as_ref())
        {
            chosen.label = part.clone().unwrap_or(chosen.label);
            payload.insert("chosen".to_owned(), serde_json::to_value(chosen).unwrap_or_default());
        }
        if let Some(rule) = rule.filter(|rule| rule.holder != RuleHolder::Server) {
            self.keep_in_mind(session_id, KeptRule { rule, keeper: ask.source.clone() });
        }
        self.record_event(
            session_id,
            NormalizedEvent::local(LocalKind::PermissionSettled, turn, now, payload),
        );
        self.state_changed = true;
        // After a restart nobody waits for the answer any more.
        let settlement = self.traits_of(session_id).settlement;
        if by != Settler::Restart && by != Settler::Exit && settlement == Settlement::Answer {
            let ruling = ruling_of(status, part.is_some());
            let option_id = Some(option_id).filter(|id| !id.is_empty());
            let part = ask.proposal.as_ref().and_then(part_made);
            self.tell_decision(session_id, ask, EngineDecision { ruling, option_id, content, part });
        }
    }

    /// The engine hears what was decided; of a part that was made, with its answer or with the next prompt.
    fn tell_decision(&mut self, session_id: &str, ask: Ask, decision: EngineDecision) {
        if let Some(made) = decision.part.as_ref().filter(|_| !self.hears_notes(session_id)) {
            self.tell_later(session_id, made.note.clone());
        }
        let call = EngineCall::Decide {
            session_id: session_id.to_owned(),
            engine_request_id: ask.engine_request_id,
            decision,
            request_id: ask.permission.request_id,
            reply: None,
        };
        self.call_engine(session_id, call);
    }

    /// A rule was allowed that somebody else keeps: it is listed, though it cannot be taken back here.
    fn keep_in_mind(&mut self, session_id: &str, kept: KeptRule) {
        let Ok(record) = self.record_mut(session_id) else { return };
        record.kept_elsewhere.retain(|known| *known != kept);
        let over = (record.kept_elsewhere.len() + 1).saturating_sub(KEPT);
        record.kept_elsewhere.drain(..over);
        record.kept_elsewhere.push(kept);
    }

    /// Settles everything of a session that waits.
    pub(in crate::app) fn settle_asks(&mut self, session_id: &str, status: PermissionStatus, by: Settler) {
        let waiting: Vec<String> =
            self.live_mut(session_id).map(|live| live.asks.keys().cloned().collect()).unwrap_or_default();
        for request_id in waiting {
            self.settle_ask(session_id, &request_id, status, "", by);
        }
    }
}

/// Rules of one session that others keep and that are listed; agents offer a handful of kinds.
const KEPT: usize = 64;

/// What is said of a request that is settled.
fn settled_as(
    request_id: &str,
    status: PermissionStatus,
    option_id: &str,
    by: Settler,
) -> Map<String, Value> {
    let mut payload = Map::new();
    payload.insert("requestId".to_owned(), Value::from(request_id));
    payload.insert("status".to_owned(), serde_json::to_value(status).unwrap_or_default());
    if !option_id.is_empty() {
        payload.insert("optionId".to_owned(), Value::from(option_id));
    }
    payload.insert("resolvedBy".to_owned(), Value::from(by.as_str()));
    payload
}

/// How the changes of an edit stand after its answer; `is_made_here`: what was allowed is written by our own agent, which says
/// what came of it.
fn settle_proposal(ask: &mut Ask, status: PermissionStatus, by: Settler, is_made_here: bool) {
    let Some(proposal) = ask.proposal.as_mut() else { return };
    let is_allowed = status == PermissionStatus::Allowed;
    if matches!(by, Settler::User | Settler::Client | Settler::Setting) {
        proposal.settle(is_allowed);
    }
    if is_allowed && is_made_here {
        proposal.settle(true);
        proposal.writer = WriterTells::Outcome;
    }
}

/// What the engine is told: no, where a part was allowed and is made already.
fn ruling_of(status: PermissionStatus, is_part: bool) -> Ruling {
    match status {
        PermissionStatus::Allowed if is_part => Ruling::Deny,
        PermissionStatus::Allowed => Ruling::AllowOnce,
        PermissionStatus::Denied => Ruling::Deny,
        PermissionStatus::Pending
        | PermissionStatus::Saving
        | PermissionStatus::Expired
        | PermissionStatus::Cancelled => Ruling::Cancelled,
    }
}

/// The option that was chosen, as the card keeps it.
fn chosen_option(ask: &Ask, option_id: &str, rule: Option<&OfferedRule>) -> Option<ChosenOption> {
    let option = ask.permission.options.iter().find(|option| option.option_id == option_id)?;
    let rule = rule.map(|rule| ChosenRule::of(rule, &ask.source));
    Some(ChosenOption { option_id: option.option_id.clone(), label: option.label.clone(), rule })
}

/// How an ask is settled.
pub(in crate::app) struct Settling {
    pub(in crate::app) status: PermissionStatus,
    /// Empty: with none.
    pub(in crate::app) option_id: String,
    /// What the rule of the option was narrowed to.
    pub(in crate::app) rule: Option<PermissionRule>,
    /// What was filled in.
    pub(in crate::app) content: Option<Value>,
    pub(in crate::app) by: Settler,
}

/// What an answer came to.
struct Chosen {
    session_id: String,
    request_id: String,
    answer: ApprovalAnswer,
}

enum ApprovalAnswer {
    /// This option, and the rule to save with it.
    New(Box<PermissionOption>, Option<RootedRule>, Option<Value>),
    /// It was answered before.
    Given(ApprovePermissionResult),
}

/// An answer is on its way; the engine confirms it by an event.
fn on_its_way(request_id: &str, ask: &Ask) -> ApprovePermissionResult {
    let by = match ask.answered {
        Some(PermissionStatus::Expired) => Settler::Expiry,
        _ => ask.given_by.unwrap_or(Settler::User),
    };
    ApprovePermissionResult {
        request_id: request_id.to_owned(),
        outcome: ApprovalOutcome::AlreadyResolved,
        resolution: ask.answered,
        resolved_by: Some(by.as_str().to_owned()),
        client: ask.client.clone(),
    }
}

/// The rule to save with an option, as far as it is kept here or at an engine that holds rules.
fn rule_with(
    ask: &Ask,
    option: &PermissionOption,
    update: Option<RuleUpdate>,
) -> Result<Option<RootedRule>, CodedError> {
    let offered = match option.kind {
        PermissionOptionKind::AllowRule => ask.rules.get(&option.option_id),
        PermissionOptionKind::AllowOnce | PermissionOptionKind::Deny => return Ok(None),
    };
    if offered.is_some_and(|rule| rule.holder == RuleHolder::Agent) {
        // The agent keeps it, by the option.
        return Ok(None);
    }
    let update = update.unwrap_or_default();
    let globs = offered.is_some_and(|rule| rule.holder == RuleHolder::Engine);
    // Given back as it was shown.
    let pattern = update.pattern.map(|pattern| reveal(&pattern).unwrap_or(pattern));
    let offered = offered.and_then(OfferedRule::saved);
    let rule = narrowed(offered.as_ref(), pattern, update.scope, globs)?;
    Ok(Some(RootedRule { rule, root: ask.root.clone() }))
}

/// No, where an agent offers nothing that says so: it hears that its request was cancelled.
fn no_to_all() -> PermissionOption {
    PermissionOption::plain("", "", PermissionOptionKind::Deny)
}

/// How an ask stands once this option was chosen.
pub(super) fn status_of(option: &PermissionOption) -> PermissionStatus {
    match option.kind {
        PermissionOptionKind::Deny => PermissionStatus::Denied,
        PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowRule => PermissionStatus::Allowed,
    }
}
