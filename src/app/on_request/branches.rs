//! `bb/session/branch`: a session that begins with the conversation of another one.
//!
//! Owns what is taken along, how much of it, and how the new session is begun. The other session is read and never changed: its
//! record, its events and its engine know nothing of it. Whatever an engine cannot take over goes along with the first prompt, as
//! our record (decision 0047).

use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::app::ports::{EarlierTurn, NewSession, SessionBranch, SessionHome, SessionReply};
use crate::app::prompter::Prompter;
use crate::app::record::Record;
use crate::app::sessions::Session;
use crate::app::state::App;
use crate::app::turn_memory::told;
use crate::domain::branch::{
    BranchKnows, BranchTold, RECORD_BYTES, TextRecord, carried, newest, said, text_record,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::domain::view::{Block, BlockBody, Lane};
use crate::protocol::request::{BranchEngine, BranchedFrom, SessionBranchParams, SessionBranchResult};
use crate::protocol::settings::EngineKind;

/// Blocks that are taken along, and bytes of them, the newest: a day's work, written in some dozen rows of the journal.
const CARRIED_BLOCKS: usize = 600;
const CARRIED_BYTES: usize = 2 << 20;

/// Blocks that are read at a time.
const PAGE: usize = 50;

/// Pages that are read to find a prompt. A prompt that is older stands some ten thousand blocks back.
const PAGES: usize = 200;

/// What is read of a session that is branched.
#[derive(Default)]
struct OriginRead {
    /// What stands before the prompt, oldest first.
    blocks: Vec<Block>,
    /// Whether there is more before that.
    left_out: bool,
    /// The prompt.
    prompt: Option<(String, Option<String>)>,
    /// Whether turns from it on changed files.
    changed_later: bool,
}

/// What an engine hears of it.
struct Heard {
    /// As our own agent's model does.
    memory: Vec<EarlierTurn>,
    /// As any other engine does, with the first prompt.
    record: Option<String>,
    knows: BranchKnows,
    /// Turns of which it hears something.
    told: usize,
    /// Turns that there were.
    turns: usize,
}

/// Who goes on.
struct WhoGoesOn {
    kind: EngineKind,
    agent: Option<String>,
}

impl App {
    pub(in crate::app) fn branch_session(
        &mut self,
        client: ClientId,
        params: SessionBranchParams,
        reply: Reply<SessionBranchResult>,
    ) {
        self.read_news();
        let begun = self.branch_of(client, &params).and_then(|(who, branch)| {
            match self.engine_for(who.kind)?.traits().sessions {
                SessionHome::Here => self.branch_here(client, branch).map(Ok),
                SessionHome::Agent | SessionHome::Engine => Ok(Err((who, branch))),
            }
        });
        match begun {
            Err(error) => reply.refuse(error),
            Ok(Ok(made)) => reply.answer(made),
            Ok(Err((who, branch))) => {
                let wish = NewSession {
                    workspace: self.workspace.folders.first().and_then(|folder| folder.path.clone()),
                    agent: who.agent,
                    client: Some(client),
                    ..NewSession::default()
                };
                self.make_session(who.kind, wish, SessionReply::Branch { branch: Box::new(branch), reply });
            }
        }
    }

    /// What the new session begins with, and whose it is.
    fn branch_of(
        &mut self,
        client: ClientId,
        params: &SessionBranchParams,
    ) -> Result<(WhoGoesOn, SessionBranch), CodedError> {
        let SessionBranchParams { session_id, before, engine, agent } = params;
        self.load(session_id)?;
        // What is not in the journal yet would not be read.
        self.flush(session_id);
        self.renew_copy(session_id);
        let who = self.who_goes_on(session_id, engine.unwrap_or_default(), agent.as_deref())?;
        let home = self.engine_for(who.kind)?.traits().sessions;
        if who.kind == EngineKind::Acp {
            // An agent is a program: it is started for its first session.
            self.may_run(Prompter::Client(client), who.kind)?;
        }
        if before.is_none() && self.known(session_id)?.record.turn.is_open() {
            return Err(CodedError::new(
                ErrorCode::Conflict,
                "A turn of this session runs or waits for an answer; stop it, or wait for its end, and then go on elsewhere.",
            ));
        }
        let origin = self.read_origin(session_id, before.as_deref())?;
        let Heard { memory, record, knows, told, turns } = self.heard(session_id, home, &origin);
        let title = self.known(session_id)?.record.title.clone();
        let text = BranchTold {
            title: title.as_deref(),
            before: origin.prompt.as_ref().map(|(text, _)| text.as_str()),
            who: &self.called(&who),
            knows,
            told,
            turns,
            changed_later: origin.changed_later,
            left_out: origin.left_out,
        }
        .sentences();
        let from = BranchedFrom { session_id: session_id.clone(), title, before: before.clone() };
        let blocks = origin.blocks.into_iter().filter_map(carried).collect();
        Ok((who, SessionBranch { origin: from, blocks, memory, record, knows, text }))
    }

    /// What an engine at this home hears of it.
    fn heard(&mut self, session_id: &str, home: SessionHome, origin: &OriginRead) -> Heard {
        let said_there = said(origin.blocks.iter().cloned());
        let turns = said_there.len();
        let none = Heard { memory: Vec::new(), record: None, knows: BranchKnows::Nothing, told: 0, turns };
        if turns == 0 {
            return none;
        }
        if home != SessionHome::Here {
            let TextRecord { text, told, .. } = text_record(&origin.blocks, RECORD_BYTES);
            return Heard { record: text, knows: BranchKnows::Record, told, ..none };
        }
        // Its turns are rows of the journal where our own agent had it; a prompt that another client sent has no id in them.
        let is_ours =
            self.known(session_id).is_ok_and(|session| session.record.engine == EngineKind::Embedded);
        let message_id = origin.prompt.as_ref().map(|(_, id)| id.as_deref());
        let remembered = match (is_ours, message_id) {
            (true, None) => self.turns_before(session_id, None, turns),
            (true, Some(Some(id))) => self.turns_before(session_id, Some(id), turns),
            (true, Some(None)) | (false, _) => None,
        };
        match remembered {
            Some(memory) => Heard { memory, knows: BranchKnows::All, told: turns, ..none },
            None => {
                let memory: Vec<_> = newest(said_there, RECORD_BYTES).into_iter().map(told).collect();
                Heard { told: memory.len(), memory, knows: BranchKnows::Words, ..none }
            }
        }
    }

    fn who_goes_on(
        &self,
        session_id: &str,
        engine: BranchEngine,
        agent: Option<&str>,
    ) -> Result<WhoGoesOn, CodedError> {
        let record = &self.known(session_id)?.record;
        Ok(match (agent.filter(|agent| !agent.trim().is_empty()), engine) {
            (Some(agent), _) => WhoGoesOn { kind: EngineKind::Acp, agent: Some(agent.to_owned()) },
            (None, BranchEngine::Current) => WhoGoesOn { kind: self.settings.engine.kind, agent: None },
            (None, BranchEngine::Own) => {
                self.engine_for(record.engine)?;
                let agent = record.held.as_ref().and_then(|held| held.agent.clone());
                WhoGoesOn { kind: record.engine, agent }
            }
        })
    }

    /// How whoever goes on is called in a sentence.
    fn called(&self, who: &WhoGoesOn) -> String {
        match who.kind {
            EngineKind::Embedded => "the built-in agent".to_owned(),
            EngineKind::Breadboard => "BreadBoard".to_owned(),
            EngineKind::Desktop => "the desktop host".to_owned(),
            EngineKind::Acp => {
                let chosen = || self.settings.engine.name.clone();
                who.agent.clone().or_else(chosen).unwrap_or_else(|| "the agent".to_owned())
            }
        }
    }

    /// The blocks of a session before a prompt, or all of them, as many of the newest as are taken along.
    fn read_origin(&mut self, session_id: &str, before: Option<&str>) -> Result<OriginRead, CodedError> {
        let no_prompt = || {
            CodedError::new(
                ErrorCode::NotFound,
                "The session has no such prompt; select it again and choose one of those that it shows.",
            )
        };
        let mut origin = OriginRead::default();
        let mut is_found = before.is_none();
        let mut bytes = 0;
        let mut oldest: Option<String> = None;
        // From the newest back: each page is oldest first.
        'pages: for _ in 0..PAGES {
            let (page, has_more) = self.lane_page(session_id, Lane::Chat, oldest.as_deref(), PAGE)?;
            oldest = page.first().map(|block| block.id.clone());
            for block in page.into_iter().rev() {
                match (&block.body, is_found) {
                    (BlockBody::User { text, message_id, .. }, false)
                        if Some(block.id.as_str()) == before =>
                    {
                        origin.prompt = Some((text.clone(), message_id.clone()));
                        is_found = true;
                    }
                    (BlockBody::Changes { files, .. }, false) => origin.changed_later |= !files.is_empty(),
                    (_, false) => {}
                    (_, true) => {
                        bytes += serde_json::to_vec(&block).map_or(0, |json| json.len());
                        origin.blocks.push(block);
                        if origin.blocks.len() >= CARRIED_BLOCKS || bytes >= CARRIED_BYTES {
                            origin.left_out = true;
                            break 'pages;
                        }
                    }
                }
            }
            if !has_more || oldest.is_none() {
                break;
            }
        }
        if !is_found {
            return Err(no_prompt());
        }
        origin.blocks.reverse();
        if origin.left_out {
            // A turn is taken along whole, or not at all.
            let first = origin.blocks.iter().position(|block| matches!(block.body, BlockBody::User { .. }));
            origin.blocks.drain(..first.unwrap_or(0));
        }
        Ok(origin)
    }

    /// A branch whose turns run here.
    fn branch_here(
        &mut self,
        client: ClientId,
        branch: SessionBranch,
    ) -> Result<SessionBranchResult, CodedError> {
        let session_id = self.ambient.fresh_id();
        let record = Record::new(session_id.clone(), self.ambient.now_ms(), None, self.settings.engine.kind);
        self.sessions.insert(session_id.clone(), Session::new(record));
        self.hold(&session_id)?;
        self.load(&session_id)?;
        self.attach(client, &session_id);
        Ok(self.begin_branch(&session_id, branch))
    }

    /// Writes into a new session what it begins with.
    pub(in crate::app) fn begin_branch(
        &mut self,
        session_id: &str,
        branch: SessionBranch,
    ) -> SessionBranchResult {
        let SessionBranch { origin, blocks, memory, record: to_be_told, knows, text } = branch;
        let now = self.ambient.now_ms();
        let of_origin = self.known(&origin.session_id).ok().map(|session| session.record.clone());
        let last_turn = blocks.iter().filter_map(|block| block.turn).max().unwrap_or_default();
        if let Ok(record) = self.record_mut(session_id) {
            // A branch is called by the prompt that makes it another one.
            record.title = origin.before.is_none().then(|| continued(origin.title.as_deref()));
            // Numbers of turns go on, so that none means two.
            record.last_turn = last_turn;
            if let Some(of_origin) = of_origin {
                record.attachments = of_origin.attachments;
                if record.engine == of_origin.engine {
                    record.mode = of_origin.mode;
                    record.model = record.model.take().or(of_origin.model);
                    record.left = of_origin.left.filter(|_| origin.before.is_none());
                }
            }
            record.to_be_told = to_be_told;
            record.branched_from = Some(origin);
        }
        for block in blocks {
            // It holds words, numbers and lists only, which always serialise.
            let body = serde_json::to_value(&block.body).unwrap_or_default();
            let payload = serde_json::Map::from_iter([("block".to_owned(), body)]);
            self.record_event(
                session_id,
                NormalizedEvent::local(LocalKind::Earlier, block.turn, now, payload),
            );
        }
        self.begin_with_turns(session_id, memory);
        self.notice(session_id, "info", &text);
        self.flush(session_id);
        self.state_changed = true;
        SessionBranchResult { session_id: session_id.to_owned(), knows, text }
    }
}

/// What a session is called that continues one of this name.
fn continued(title: Option<&str>) -> String {
    match title {
        Some(title) => format!("Continued: {}", title.trim_start_matches("Continued: ")),
        None => "Continued".to_owned(),
    }
}
