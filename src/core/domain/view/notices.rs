//! Blocks of one sentence, in the chat and in the run lane: what failed, how a search goes, what is counted and offered.
//!
//! Owns their ids: one that is replaced is named by its kind and its run. Never holds state.

use serde::Deserialize;
use serde_json::Value;

use super::block::{Block, BlockBody, Change, Lane};
use super::turn::TurnName;
use crate::domain::cut;
use crate::domain::event::SessionEvent;
use crate::domain::fact::{
    Commands, CommandsOf, Link, Notice, NoticeLevel, Picture, TurnChanges, Usage, UsageOf,
};
use crate::domain::fingerprint::key;

/// One sentence; what is longer belongs in a log.
const SENTENCE: usize = 4 * 1024;
/// A sentence about counts.
const COUNTS: usize = 1024;
/// A link that is longer leads nowhere.
const URI: usize = 2 * 1024;
const LABEL: usize = 200;
/// Files of a turn that a block names; `bb/turn/changes` has all.
const FILES: usize = 200;

/// A sentence of its own.
pub(super) fn notice(event: &SessionEvent, notice: &Notice) -> Block {
    named(event, format!("n-{}", event.seq), notice)
}

/// A sentence under a name.
pub(super) fn named(event: &SessionEvent, id: String, notice: &Notice) -> Block {
    let body = BlockBody::Notice {
        level: notice.level,
        text: cut::line(&notice.text, SENTENCE),
        retry: notice.remedy.retry,
        login: notice.remedy.login.clone().map(Box::new),
    };
    Block { id, turn: event.turn, seq: event.seq, body }
}

/// A command of the user that the engine took.
pub(super) fn command(event: &SessionEvent, command: &str, status: &str) -> Block {
    let body = BlockBody::Command { command: cut::line(command, COUNTS), status: cut::line(status, LABEL) };
    Block { id: format!("command-{}", event.seq), turn: event.turn, seq: event.seq, body }
}

/// What a turn changed in the files: one block a turn, and one a revert.
pub(super) fn changes(event: &SessionEvent, told: TurnChanges<'_>) -> Block {
    let prompt_seq = told.prompt_seq.unwrap_or(event.seq);
    let mut files = told.files;
    files.truncate(FILES);
    let body = BlockBody::Changes {
        prompt_seq,
        of_revert: told.of_revert,
        files,
        uncovered: Some(told.uncovered).filter(|uncovered| *uncovered > 0),
        text: cut::line(told.text, COUNTS),
    };
    Block { id: format!("changes-{prompt_seq}"), turn: event.turn, seq: event.seq, body }
}

/// A block of the session that this one comes from. What is none is not shown.
pub(super) fn earlier(event: &SessionEvent, block: &Value) -> Option<Change> {
    let body = BlockBody::deserialize(block).ok()?;
    let block = Block { id: format!("e-{}", event.seq), turn: event.turn, seq: event.seq, body };
    Some(Change::put(Lane::Chat, block))
}

/// How a search goes: one block a stage and turn.
pub(super) fn search(event: &SessionEvent, turn: TurnName, stage: &str, message: &str) -> Block {
    let id = format!("retrieval-{}-{}-{}", turn.label, turn.index, key(stage));
    named(event, id, &Notice::new(NoticeLevel::Info, message))
}

/// A link: one row a target.
pub(super) fn link(event: &SessionEvent, link: &Link<'_>) -> Block {
    let (uri, label) = (cut::line(link.uri, URI), cut::line(&link.label, LABEL));
    let body = BlockBody::Link { uri, label, picture: None };
    Block { id: format!("link-{}", link.id), turn: event.turn, seq: event.seq, body }
}

/// A picture that the engine gave.
pub(super) fn picture(event: &SessionEvent, id: String, picture: &Picture) -> Block {
    let body = BlockBody::Link {
        uri: cut::line(&picture.uri, URI),
        label: cut::line(&picture.label, LABEL),
        picture: picture.data.clone(),
    };
    Block { id, turn: event.turn, seq: event.seq, body }
}

/// Tokens, cost or limits of a run, or how far it is.
pub(super) fn usage(event: &SessionEvent, run: u64, usage: &Usage) -> Block {
    let of = match usage.of {
        UsageOf::Usage => "usage",
        UsageOf::Limits => "limits",
        UsageOf::Loop => "state",
    };
    counted(event, format!("{of}-{run}"), usage.notice.level, &usage.notice.text)
}

/// A reward of a run.
pub(super) fn reward(event: &SessionEvent, run: u64, text: &str) -> Block {
    counted(event, format!("reward-{run}"), NoticeLevel::Info, text)
}

/// What the engine offers. It belongs to the session, so there is one of each.
pub(super) fn commands(event: &SessionEvent, commands: &Commands) -> Block {
    let id = match commands.of {
        CommandsOf::Catalog => "skills-catalog",
        CommandsOf::Selection => "skills-selection",
    };
    counted(event, id.to_owned(), NoticeLevel::Info, &commands.text)
}

/// The mode of the session.
pub(super) fn mode(event: &SessionEvent, mode: &str) -> Block {
    counted(event, "mode".to_owned(), NoticeLevel::Info, &format!("Mode: {}.", cut::line(mode, LABEL)))
}

/// The engine was asked to stop.
pub(super) fn stopping(event: &SessionEvent, run: u64) -> Block {
    let text = "A stop was asked for; the engine stops after its present step.";
    counted(event, format!("stop-{run}"), NoticeLevel::Info, text)
}

/// How large the conversation tree is.
pub(super) fn tree(event: &SessionEvent, run: u64, nodes: Option<u64>) -> Block {
    let text = match nodes {
        Some(nodes) => format!("The conversation tree has {nodes} nodes."),
        None => "The conversation tree was saved.".to_owned(),
    };
    counted(event, format!("tree-{run}"), NoticeLevel::Info, &text)
}

/// A sentence about which there is nothing to do.
pub(super) fn sentence(level: NoticeLevel, text: String) -> BlockBody {
    BlockBody::Notice { level, text, retry: None, login: None }
}

fn counted(event: &SessionEvent, id: String, level: NoticeLevel, text: &str) -> Block {
    let body = sentence(level, cut::line(text, COUNTS));
    Block { id, turn: event.turn, seq: event.seq, body }
}
