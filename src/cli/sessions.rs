//! `breadboard-ls sessions`: the sessions of a workspace, the pinned ones and then the newest first, or those in which something was said.
//!
//! Owns how they are listed, and showing, pinning and deleting one. Never attaches one. How a conversation is written is in `transcript`.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::args::{ReportArgs, SessionsArgs};
use super::ask::{folder, give_up, refuse};
use super::client::{Client, ClientError};
use super::exit::Exit;
use super::handshake::{ANSWER, END, hello, initialize, start};
use super::printed::print;
use super::shown_warning::warning;
use super::terminal::{marked, marked_line};
use super::transcript;
use crate::domain::view::Block;
use crate::protocol::request::{FoundIn, ListSessionsResult, SessionSummary, ViewPageResult};

/// Said of a workspace without sessions.
const NONE_YET: &str = "There are no sessions of this workspace yet.\n";

/// Characters of a title.
const TITLE: usize = 80;

/// Characters of a place that was found.
const PASSAGE: usize = 220;

/// Sessions that are named where several are meant: as many as are read at a glance.
const UNCLEAR: usize = 20;

/// Blocks of one page of a conversation, as many as the server gives at most.
const PAGE: usize = 500;

/// What is done with one session; each with its id, or the beginning of it.
#[derive(Debug, Clone, Copy)]
enum SessionWish<'a> {
    Show(&'a str),
    Pin(&'a str),
    Unpin(&'a str),
    Delete(&'a str),
}

impl<'a> SessionWish<'a> {
    fn of(args: &'a SessionsArgs) -> Option<Self> {
        let SessionsArgs { show, pin, unpin, delete, .. } = args;
        let of = |id: &'a Option<String>, wish: fn(&'a str) -> Self| id.as_deref().map(wish);
        of(show, Self::Show).or(of(pin, Self::Pin)).or(of(unpin, Self::Unpin)).or(of(delete, Self::Delete))
    }
}

/// Lists them, or does what is asked for with one.
pub(super) fn sessions(args: &SessionsArgs) -> Exit {
    let SessionsArgs { search, report, .. } = args;
    let ReportArgs { workspace, json, server } = report;
    let workspace = match folder(workspace) {
        Ok(workspace) => workspace,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    let mut client = match start(server) {
        Ok(client) => client,
        Err(error) => return refuse(&error.to_string(), Exit::Server),
    };
    let text =
        initialize(&mut client, &workspace, server.trust).and_then(|_| hello(&mut client)).and_then(|_| {
            match SessionWish::of(args) {
                Some(wish) => done(&mut client, wish, *json),
                None => listed(&mut client, search.as_deref(), *json),
            }
        });
    let text = match text {
        Ok(text) => text,
        Err(error) => return give_up(client, &error),
    };
    let warnings: Vec<String> = client.drain().iter().filter_map(|raw| warning(raw)).collect();
    client.finish(END);
    for warning in &warnings {
        let _ = writeln!(std::io::stderr(), "breadboard-ls: {}", marked(warning));
    }
    if warnings.is_empty() {
        return print(text.as_bytes(), Exit::Done);
    }
    // Sessions may be there that cannot be read now, so that there are none is not said.
    print(if text == NONE_YET { b"" } else { text.as_bytes() }, Exit::Failed)
}

/// The list, for a person or a program.
fn listed(client: &mut Client, search: Option<&str>, json: bool) -> Result<String, ClientError> {
    let listed = list(client, search)?;
    Ok(match (json, search) {
        (true, Some(_)) => format!("{}\n", json!(listed)),
        (true, None) => format!("{}\n", json!(listed.sessions)),
        (false, _) => lines(&listed),
    })
}

/// What is there once it is done: the conversation, or the list.
fn done(client: &mut Client, wish: SessionWish<'_>, json: bool) -> Result<String, ClientError> {
    let all = list(client, None)?.sessions;
    match wish {
        SessionWish::Show(id) => {
            let id = whole_id(&all, id)?;
            let blocks = conversation(client, &id)?;
            if json {
                return Ok(format!("{}\n", json!(blocks)));
            }
            let title = all.iter().find(|one| one.session_id == id).and_then(|one| one.title.as_deref());
            return Ok(transcript::markdown(title.unwrap_or("(no title)"), &blocks));
        }
        SessionWish::Pin(id) => pin(client, &whole_id(&all, id)?, true)?,
        SessionWish::Unpin(id) => pin(client, &whole_id(&all, id)?, false)?,
        SessionWish::Delete(id) => {
            let id = whole_id(&all, id)?;
            client.request("bb/deleteSession", json!({ "sessionId": id }), ANSWER)?;
        }
    }
    listed(client, None, json)
}

fn pin(client: &mut Client, id: &str, pinned: bool) -> Result<(), ClientError> {
    client.request("bb/session/pin", json!({ "sessionId": id, "pinned": pinned }), ANSWER).map(drop)
}

/// The id that is meant: a whole one, or one that begins so alone. The server says of one that is not there that there is no such
/// session.
///
/// # Errors
/// When several begin so: which they are.
fn whole_id(all: &[SessionSummary], id: &str) -> Result<String, ClientError> {
    let begins = |one: &&SessionSummary| !id.is_empty() && one.session_id.starts_with(id);
    let meant: Vec<&SessionSummary> = all.iter().filter(begins).collect();
    let whole = meant.iter().find(|one| one.session_id == id);
    match (whole, meant.as_slice()) {
        (Some(one), _) | (None, [one]) => Ok(one.session_id.clone()),
        (None, []) => Ok(id.to_owned()),
        (None, several) => Err(ClientError::Unclear(unclear(id, several))),
    }
}

/// That several sessions are meant, and which.
fn unclear(id: &str, several: &[&SessionSummary]) -> String {
    let mut text = format!(
        "{} sessions begin with `{}`, so nothing was done; give more of the id:",
        several.len(),
        marked_line(id, TITLE)
    );
    for one in several.iter().take(UNCLEAR) {
        let title = one.title.as_deref().unwrap_or("(no title)");
        text.push_str(&format!("\n  {}  {}", marked_line(&one.session_id, TITLE), marked_line(title, TITLE)));
    }
    if several.len() > UNCLEAR {
        text.push_str(&format!("\n  and {} more", several.len() - UNCLEAR));
    }
    text
}

/// All of what was said, oldest first.
fn conversation(client: &mut Client, id: &str) -> Result<Vec<Block>, ClientError> {
    let mut pages: Vec<Vec<Block>> = Vec::new();
    let mut before = Value::Null;
    loop {
        let params = json!({ "sessionId": id, "lane": "chat", "before": before, "limit": PAGE });
        let page: ViewPageResult = read(client.request("bb/view/page", params, ANSWER)?)?;
        let oldest = page.blocks.first().map(|block| block.id.clone());
        pages.push(page.blocks);
        match oldest.filter(|_| page.has_more) {
            Some(oldest) => before = oldest.into(),
            None => break,
        }
    }
    Ok(pages.into_iter().rev().flatten().collect())
}

fn list(client: &mut Client, search: Option<&str>) -> Result<ListSessionsResult, ClientError> {
    let params = search.map_or(json!({}), |words| json!({ "query": words }));
    read(client.request("bb/listSessions", params, ANSWER)?)
}

fn read<T: serde::de::DeserializeOwned>(answer: Value) -> Result<T, ClientError> {
    serde_json::from_value(answer).map_err(|error| {
        ClientError::Nonsense(format!(
            "What the server says of sessions does not fit this version ({error})."
        ))
    })
}

/// A line a session, and under it one for each place where the words were found.
fn lines(listed: &ListSessionsResult) -> String {
    let nowhere = match listed.found {
        Some(_) => {
            "Nothing was said with these words in a session of this workspace, and no title has them.\n"
        }
        None => NONE_YET,
    };
    if listed.sessions.is_empty() {
        return nowhere.to_owned();
    }
    let mut text = String::new();
    for session in &listed.sessions {
        text.push_str(&line(session));
        for passage in listed.found.iter().flat_map(|found| found.get(&session.session_id)).flatten() {
            let by = match passage.by {
                FoundIn::Prompt => "asked",
                FoundIn::Answer => "answer",
            };
            text.push_str(&format!("    {by:<7} {}\n", marked_line(&passage.text, PASSAGE)));
        }
    }
    if let Some(more) = listed.unsearched {
        text.push_str(&format!("Of {more} older sessions only the titles were looked at.\n"));
    }
    text
}

fn line(session: &SessionSummary) -> String {
    let at = session.updated_at.and_then(|at| u64::try_from(at).ok());
    let at =
        at.map(|at| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at)).to_string());
    let status = session.status.as_deref().unwrap_or("idle");
    let title = session.title.as_deref().unwrap_or("(no title)");
    let pinned = if session.pinned { "  (pinned)" } else { "" };
    format!(
        "{}  {:<20}  {:<8}  {}{pinned}\n",
        marked_line(&session.session_id, TITLE),
        at.unwrap_or_default(),
        marked_line(status, TITLE),
        marked_line(title, TITLE)
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::protocol::request::FoundPassage;

    fn summary() -> SessionSummary {
        SessionSummary {
            session_id: "s-1".into(),
            title: Some("Where is\nit?".into()),
            status: Some("running".into()),
            updated_at: Some(0),
            seq: None,
            engine: None,
            agent: None,
            pending_permission_count: None,
            held_by: None,
            pinned: false,
            branched_from: None,
        }
    }

    #[test]
    fn the_beginning_of_several_ids_means_none_of_them_and_says_which_they_are() {
        let of = |id: &str| SessionSummary {
            session_id: id.to_owned(),
            title: Some(format!("About {id}")),
            ..summary()
        };
        let all = [of("ab"), of("abc1"), of("abc2"), SessionSummary { title: None, ..of("abc3") }];
        let said = |id: &str| whole_id(&all, id).map_err(|error| error.to_string());
        assert_eq!(said("ab"), Ok("ab".to_owned()));
        assert_eq!(said("abc2"), Ok("abc2".to_owned()));
        assert_eq!(said("x"), Ok("x".to_owned()));
        assert_eq!(said(""), Ok(String::new()));
        let several = "3 sessions begin with `abc`, so nothing was done; give more of the id:\n  abc1  About abc1\n  abc2  About abc2\n  abc3  (no title)";
        assert_eq!(said("abc"), Err(several.to_owned()));
    }

    #[test]
    fn a_session_is_one_line_with_id_time_status_and_title() {
        let session = summary();
        let of = |sessions: Vec<SessionSummary>, found| {
            lines(&ListSessionsResult { sessions, found, ..ListSessionsResult::default() })
        };
        let whole = "s-1  1970-01-01T00:00:00Z  running   Where is⏎it?\n";
        assert_eq!(of(vec![session.clone()], None), whole);
        let pinned = SessionSummary { pinned: true, ..session.clone() };
        assert!(of(vec![pinned], None).ends_with("  Where is⏎it?  (pinned)\n"));
        assert_eq!(of(Vec::new(), None), "There are no sessions of this workspace yet.\n");
        let passage = FoundPassage { block_id: "b".into(), by: FoundIn::Answer, text: "in lib.rs".into() };
        let found = BTreeMap::from([("s-1".to_owned(), vec![passage])]);
        assert_eq!(of(vec![session], Some(found)), format!("{whole}    answer  in lib.rs\n"));
        assert!(of(Vec::new(), Some(BTreeMap::new())).starts_with("Nothing was said with these words"));
    }
}
