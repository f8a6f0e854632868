//! `breadboard-ls sessions`: the sessions of a workspace, newest first.
//!
//! Owns how they are listed. Never attaches one and never changes anything.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::args::ReportArgs;
use super::ask::{folder, give_up, refuse};
use super::client::{Client, ClientError};
use super::exit::Exit;
use super::handshake::{ANSWER, END, hello, initialize, start};
use super::terminal::marked_line;
use crate::protocol::request::{ListSessionsResult, SessionSummary};

/// Characters of a title.
const TITLE: usize = 80;

/// Lists them.
pub(super) fn sessions(args: &ReportArgs) -> Exit {
    let workspace = match folder(&args.workspace) {
        Ok(workspace) => workspace,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    let mut client = match start(&args.server) {
        Ok(client) => client,
        Err(error) => return refuse(&error.to_string(), Exit::Server),
    };
    let listed = initialize(&mut client, &workspace, args.server.trust).and_then(|_| list(&mut client));
    let listed = match listed {
        Ok(listed) => listed,
        Err(error) => return give_up(client, &error),
    };
    client.finish(END);
    let text = if args.json { format!("{}\n", json!(listed.sessions)) } else { lines(&listed.sessions) };
    // A reader that has gone away has what it wanted.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Exit::Done
}

fn list(client: &mut Client) -> Result<ListSessionsResult, ClientError> {
    hello(client)?;
    let listed = client.request("bb/listSessions", json!({}), ANSWER)?;
    serde_json::from_value(listed).map_err(|error| {
        ClientError::Nonsense(format!("The server's list of sessions does not fit this version ({error})."))
    })
}

fn lines(sessions: &[SessionSummary]) -> String {
    if sessions.is_empty() {
        return "There are no sessions of this workspace yet.\n".to_owned();
    }
    sessions.iter().map(line).collect()
}

fn line(session: &SessionSummary) -> String {
    let at = session.updated_at.and_then(|at| u64::try_from(at).ok());
    let at =
        at.map(|at| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at)).to_string());
    let status = session.status.as_deref().unwrap_or("idle");
    let title = session.title.as_deref().unwrap_or("(no title)");
    format!(
        "{}  {:<20}  {:<8}  {}\n",
        marked_line(&session.session_id, TITLE),
        at.unwrap_or_default(),
        marked_line(status, TITLE),
        marked_line(title, TITLE)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
        };
        assert_eq!(lines(&[session]), "s-1  1970-01-01T00:00:00Z  running   Where is⏎it?\n");
        assert_eq!(lines(&[]), "There are no sessions of this workspace yet.\n");
    }
}
