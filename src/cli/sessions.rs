//! `breadboard-ls sessions`: the sessions of a workspace, the pinned ones and then the newest first, or those in which something was said.
//!
//! Owns how they are listed, and pinning one. Never attaches one and changes nothing else.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::args::{ReportArgs, SessionsArgs};
use super::ask::{folder, give_up, refuse};
use super::client::{Client, ClientError};
use super::exit::Exit;
use super::handshake::{ANSWER, END, hello, initialize, start};
use super::terminal::marked_line;
use crate::protocol::request::{FoundIn, ListSessionsResult, SessionSummary};

/// Characters of a title.
const TITLE: usize = 80;

/// Characters of a place that was found.
const PASSAGE: usize = 220;

/// Lists them.
pub(super) fn sessions(args: &SessionsArgs) -> Exit {
    let SessionsArgs { search, pin, unpin, report } = args;
    let ReportArgs { workspace, json, server } = report;
    let workspace = match folder(workspace) {
        Ok(workspace) => workspace,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    let mut client = match start(server) {
        Ok(client) => client,
        Err(error) => return refuse(&error.to_string(), Exit::Server),
    };
    let pinned = pin.as_ref().map(|id| (id, true)).or(unpin.as_ref().map(|id| (id, false)));
    let listed = initialize(&mut client, &workspace, server.trust)
        .and_then(|_| hello(&mut client))
        .and_then(|_| match pinned {
            Some((id, pinned)) => {
                let params = json!({ "sessionId": id, "pinned": pinned });
                client.request("bb/session/pin", params, ANSWER).map(drop)
            }
            None => Ok(()),
        })
        .and_then(|()| list(&mut client, search.as_deref()));
    let listed = match listed {
        Ok(listed) => listed,
        Err(error) => return give_up(client, &error),
    };
    client.finish(END);
    let text = match (json, search) {
        (true, Some(_)) => format!("{}\n", json!(listed)),
        (true, None) => format!("{}\n", json!(listed.sessions)),
        (false, _) => lines(&listed),
    };
    // A reader that has gone away has what it wanted.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Exit::Done
}

fn list(client: &mut Client, search: Option<&str>) -> Result<ListSessionsResult, ClientError> {
    let params = search.map_or(json!({}), |words| json!({ "query": words }));
    let listed = client.request("bb/listSessions", params, ANSWER)?;
    serde_json::from_value(listed).map_err(|error| {
        ClientError::Nonsense(format!("The server's list of sessions does not fit this version ({error})."))
    })
}

/// A line a session, and under it one for each place where the words were found.
fn lines(listed: &ListSessionsResult) -> String {
    let nowhere = match listed.found {
        Some(_) => {
            "Nothing was said with these words in a session of this workspace, and no title has them.\n"
        }
        None => "There are no sessions of this workspace yet.\n",
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

    #[test]
    fn a_session_is_one_line_with_id_time_status_and_title() {
        let session = SessionSummary {
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
        };
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
