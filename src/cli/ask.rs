//! `breadboard-ls ask`: one question, one turn, on the terminal.
//!
//! Owns how a conversation begins and how it ends. The turn itself is `turn`'s, its questions to the person are `answers`'.
//! Text is made by `render`, written by `console`; the wire is `client`'s.

mod again;
mod answers;
mod changes;
mod earlier;
mod found_servers;
mod hunk_editor;
mod hunk_review;
mod hunks;
mod keyboard;
mod mode;
mod opened;
mod patience;
mod question;
mod raw_message;
mod turn;
mod turn_events;
mod undo;

use std::io::{Stderr, Stdout, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use self::keyboard::Keyboard;
use self::opened::{AskEnded, OpenedSession, Person};
use self::turn::AskTurn;
pub(super) use self::undo::undo;
use super::args::AskArgs;
use super::client::{Client, ClientError, Refusal};
use super::console::Console;
use super::exit::Exit;
use super::handshake::{ANSWER, END, hello, initialize, start};
use super::interrupt;
use super::knowledge::{Knowledge, KnownAgent};
use super::own_words::own_words;
use super::terminal::{Terminal, Tone, marked, visible, visible_code, width};
use super::user_settings::stated;
use crate::platform::real_path;
use crate::protocol::permission::PermissionListResult;
use crate::protocol::request::{InitResult, ListSessionsResult, SessionBranchResult, SessionSummary};
use crate::protocol::settings::EngineKind;

/// Longest wait for a session: an agent may have to be unpacked, started and connected to its tools first.
const SESSION: Duration = Duration::from_secs(200);
/// How one chooses a model here; that there is none, the answer says.
const CHOOSE_MODEL: &str = "Choose who answers with `breadboard-ls setup`, or a model for this question with --model, as in --model qwen3.";

/// Asks, shows the answer, and tells how it went.
pub(super) fn ask(args: &AskArgs, knowledge: Knowledge) -> Exit {
    let terminal = Terminal::detect(|name| std::env::var(name).ok());
    let workspace = match folder(&args.workspace) {
        Ok(workspace) => workspace,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    let waits = || {
        let _ =
            writeln!(std::io::stderr(), "Reading stdin; end it, or start with </dev/null to leave it out.");
    };
    let asked = (!args.question.is_empty()).then(|| args.question.join(" "));
    let question =
        match asked.as_deref().map(|asked| question::prompt(asked, !terminal.stdin, waits)).transpose() {
            Ok(question) => question,
            Err(sentence) => return refuse(&sentence, Exit::Usage),
        };
    let keyboard = Keyboard::find(&terminal, question.as_ref().is_some_and(|question| question.from_stdin));
    let env = |name: &str| std::env::var(name).ok();
    let overrides = stated(&args.server, env);
    let is_breadboard = overrides.engine.as_ref().is_some_and(|engine| engine.kind == EngineKind::Breadboard);
    if args.server.config.is_some() && !is_breadboard {
        return refuse(
            "--config belongs to a breadboard engine; leave it out, or give --engine-url.",
            Exit::Usage,
        );
    }
    // Before anybody is asked to trust a folder for it.
    let agents = (knowledge.agents)(&overrides, &env("PATH").unwrap_or_default(), &workspace);
    if let Some((sentence, exit)) = agents.chosen.as_ref().and_then(no_agent) {
        return refuse(&sentence, exit);
    }
    let mut client = match start(&args.server) {
        Ok(client) => client,
        Err(error) => return refuse(&error.to_string(), Exit::Server),
    };
    let interrupted = interrupt::watch(client.sender());
    let width = (terminal.progress() && !args.json).then_some(width as fn() -> usize);
    let mut console = Console::new(std::io::stdout(), std::io::stderr(), width);
    let opened = match open(&mut client, &mut console, args, &workspace, &keyboard) {
        Ok(Some(opened)) => opened,
        Ok(None) => {
            client.finish(END);
            return Exit::Unanswered;
        }
        Err(error) => return give_up(client, &error),
    };
    let since = opened.seq;
    let person = Person { terminal: &terminal, keyboard };
    let mut turn = AskTurn::new(client, console, person, args, workspace, opened, interrupted);
    let ended = turn.run(question.as_ref().map(|question| question.prompt.as_str()));
    if ended.is_ok() && !args.json {
        turn.tell_changes(since);
    }
    finish(turn, ended)
}

fn finish(mut turn: AskTurn, ended: Result<(), AskEnded>) -> Exit {
    turn.console.leave_question();
    let exit = match ended {
        Ok(()) => turn.outcome.exit(),
        Err(AskEnded::Refused(refusal)) => {
            turn.say(Tone::Bad, &marked(&own_words(&refusal.message)));
            Exit::Failed
        }
        Err(AskEnded::NobodyTrusts) => Exit::Unanswered,
        Err(AskEnded::GaveUp) => Exit::Failed,
        // Nobody reads any more, so there is nothing to say and nobody to say it to.
        Err(AskEnded::Unread) => Exit::Failed,
        Err(AskEnded::Unwritten(sentence)) => refuse(&sentence, Exit::Failed),
        Err(AskEnded::Client(error)) => return give_up(turn.client, &error),
    };
    turn.client.finish(END);
    exit
}

pub(super) fn folder(path: &Path) -> Result<PathBuf, String> {
    let shown = path.display();
    let whole = real_path(path).map_err(|error| {
        format!("The workspace {shown} cannot be opened ({error}); give another --workspace.")
    })?;
    if whole.is_dir() {
        Ok(whole)
    } else {
        Err(format!("The workspace {shown} is not a folder; give the folder."))
    }
}

/// Why the chosen agent cannot answer: there is none of that name, or its program is not there.
fn no_agent(chosen: &Result<KnownAgent, String>) -> Option<(String, Exit)> {
    let agent = match chosen {
        Ok(agent) if agent.at.is_some() => return None,
        Ok(agent) => agent,
        Err(sentence) => return Some((sentence.clone(), Exit::Usage)),
    };
    let how = match agent.install {
        Some(install) => format!("install it with `{install}`"),
        None => "install it, or give another --agent or --engine acp:\"<command line>\"".to_owned(),
    };
    Some((format!("The program `{}` was not found; {how}.", agent.program), Exit::Failed))
}

pub(super) fn refuse(sentence: &str, exit: Exit) -> Exit {
    let _ = writeln!(std::io::stderr(), "breadboard-ls: {}", marked(sentence));
    exit
}

/// The end of a conversation that failed: the reason, and the server's last words if it is gone.
pub(super) fn give_up(client: Client, error: &ClientError) -> Exit {
    match error {
        ClientError::Interrupted => {
            client.finish(END);
            Exit::Interrupted
        }
        ClientError::Unclear(text) => {
            client.finish(END);
            refuse(text, Exit::Usage)
        }
        ClientError::Refused(_) => {
            client.finish(END);
            refuse(&own_words(&error.to_string()), Exit::Failed)
        }
        ClientError::Start(_) | ClientError::Gone(_) | ClientError::Nonsense(_) | ClientError::Silent(_) => {
            let last = client.abandon(END);
            let exit = refuse(&error.to_string(), Exit::Server);
            for line in last {
                let _ = writeln!(std::io::stderr(), "  server: {}", visible(&line));
            }
            exit
        }
    }
}

/// Makes the session; `None` when that needs trust and nobody gives it.
fn open(
    client: &mut Client,
    console: &mut Console<Stdout, Stderr>,
    args: &AskArgs,
    workspace: &Path,
    keyboard: &Keyboard,
) -> Result<Option<OpenedSession>, ClientError> {
    initialize(client, workspace, args.server.trust)?;
    let hello = hello(client)?;
    let mut trusted = hello.workspace_trusted;
    if args.go_on || args.session.is_some() {
        let opened = resume(client, console, args, &hello)?;
        set_mode(client, console, args, &opened.session_id)?;
        return Ok(Some(opened));
    }
    let mut made = session(client, console, args, hello.engine.kind);
    if let Err(ClientError::Refused(refusal)) = &made
        && refusal.code == "untrusted_workspace"
    {
        if !trust_for_session(workspace, refusal, keyboard) {
            return Ok(None);
        }
        trusted = true;
        client.notify("bb/workspaceTrust", json!({ "trusted": true }))?;
        made = session(client, console, args, hello.engine.kind);
    }
    let made = made?;
    let session_id = made.get("sessionId").and_then(Value::as_str).ok_or_else(|| {
        ClientError::Nonsense("The server made a session without an id; run `doctor`.".to_owned())
    })?;
    if let Err(error) = set_mode(client, console, args, session_id) {
        // Nothing was asked in it, and nobody shall find it.
        let _ = client.request("bb/deleteSession", made, ANSWER);
        return Err(error);
    }
    let uses_tools = hello.engine.kind == EngineKind::Embedded && hello.engine.model.is_some();
    if trusted && uses_tools && !args.json {
        found_servers::ask_about(client, session_id, keyboard)?;
    }
    let dialect = hello.engine.kind.dialect();
    let waiting = Vec::new();
    let without_model = hello.engine.kind == EngineKind::Embedded && hello.engine.model.is_none();
    let advice = without_model.then_some(CHOOSE_MODEL);
    let (session_id, earlier) = (session_id.to_owned(), Vec::new());
    Ok(Some(OpenedSession { session_id, seq: 0, earlier, trusted, dialect, waiting, advice }))
}

/// The mode that was asked for, before the prompt goes out.
fn set_mode(
    client: &mut Client,
    console: &mut Console<Stdout, Stderr>,
    args: &AskArgs,
    session_id: &str,
) -> Result<(), ClientError> {
    let Some(mode) = &args.mode else { return Ok(()) };
    let most = args.timeout.map_or(SESSION, Duration::from_secs);
    let waits = &mut || console.wait(&format!("Waiting up to {} s for the mode to be set", most.as_secs()));
    let set = mode::set(client, session_id, mode, most, waits);
    console.done();
    set
}

/// A session that is there already: the newest, or the one that was named.
fn resume(
    client: &mut Client,
    console: &mut Console<Stdout, Stderr>,
    args: &AskArgs,
    hello: &InitResult,
) -> Result<OpenedSession, ClientError> {
    let most = args.timeout.map_or(SESSION, Duration::from_secs);
    let waits = &mut || console.wait(&format!("Waiting up to {} s for the session", most.as_secs()));
    let listed = client.request_saying("bb/listSessions", json!({}), most, waits)?;
    let listed: ListSessionsResult = serde_json::from_value(listed).map_err(|error| {
        ClientError::Nonsense(format!("The server's list of sessions does not fit this version ({error})."))
    })?;
    let wanted = args.session.as_deref();
    // Pinned ones stand first, whatever their age.
    let newest = |one: &SessionSummary| one.updated_at;
    let found = match wanted {
        Some(id) => listed.sessions.into_iter().find(|one| id == one.session_id),
        None => listed.sessions.into_iter().rev().max_by_key(newest),
    };
    let refused = |message: String| ClientError::Refused(Refusal { number: 0, code: String::new(), message });
    let found = found.ok_or_else(|| {
        refused(match wanted {
            Some(id) => {
                format!("There is no session {id} in this workspace; `breadboard-ls sessions` lists them.")
            }
            None => "There is no session of this workspace to go on with; leave --continue out.".to_owned(),
        })
    })?;
    let found = match elsewhere(args, &found, hello) {
        Some(engine) => branch(client, console, args, &found, engine)?,
        None => found,
    };
    let waits = &mut || console.wait(&format!("Waiting up to {} s for the session", most.as_secs()));
    let params = json!({ "sessionId": found.session_id });
    let selected = client.request_saying("bb/selectSession", params, most, waits)?;
    console.done();
    let seq = selected.get("seq").and_then(Value::as_u64).ok_or_else(|| {
        ClientError::Nonsense("The server gave a session without its place; run `doctor`.".to_owned())
    })?;
    let kind =
        if found.agent.is_some() { EngineKind::Acp } else { found.engine.unwrap_or(hello.engine.kind) };
    let trusted = hello.workspace_trusted;
    let params = json!({ "sessionId": found.session_id });
    let listed = client.request("bb/permission/list", params, ANSWER)?;
    let listed: PermissionListResult = serde_json::from_value(listed).map_err(|error| {
        ClientError::Nonsense(format!("The server's list of requests does not fit this version ({error})."))
    })?;
    let waiting = listed.pending.into_iter().map(|pending| pending.permission).collect();
    let (dialect, session_id) = (kind.dialect(), found.session_id);
    let earlier = earlier::events(client, &session_id, seq)?;
    Ok(OpenedSession { session_id, seq, earlier, trusted, dialect, waiting, advice: None })
}

/// Who goes on with a session in a new one: where that is wanted, and where the session is of another engine than the one in use, or of
/// another agent than the one that was named. `None`: it goes on itself.
fn elsewhere(args: &AskArgs, found: &SessionSummary, hello: &InitResult) -> Option<&'static str> {
    let in_use = hello.engine.kind;
    let named =
        args.server.engine.is_some() || args.server.agent.is_some() || args.server.engine_url.is_some();
    let kind = if found.agent.is_some() { EngineKind::Acp } else { found.engine.unwrap_or(in_use) };
    let other_agent = args.server.agent.as_ref().is_some_and(|agent| found.agent.as_ref() != Some(agent));
    let is_other = match (kind, in_use) {
        (EngineKind::Acp, EngineKind::Acp) => other_agent,
        // Agents are there beside whatever the settings name.
        (EngineKind::Acp, _) => named,
        (kind, in_use) => kind != in_use,
    };
    match (is_other, args.branch) {
        (true, _) => Some("current"),
        (false, true) => Some("own"),
        (false, false) => None,
    }
}

/// The session that begins with the conversation of another one; what its engine knows of that is said.
fn branch(
    client: &mut Client,
    console: &mut Console<Stdout, Stderr>,
    args: &AskArgs,
    of: &SessionSummary,
    engine: &str,
) -> Result<SessionSummary, ClientError> {
    let most = args.timeout.map_or(SESSION, Duration::from_secs);
    let waits = &mut || console.wait(&format!("Waiting up to {} s for the session", most.as_secs()));
    let params = json!({ "sessionId": of.session_id, "engine": engine });
    let made = client.request_saying("bb/session/branch", params, most, waits);
    console.done();
    let made: SessionBranchResult = serde_json::from_value(made?).map_err(|error| {
        ClientError::Nonsense(format!("The server's new session does not fit this version ({error})."))
    })?;
    if !args.json {
        let _ = writeln!(std::io::stderr(), "{}", marked(&made.text));
    }
    let listed = client.request("bb/listSessions", json!({}), ANSWER)?;
    let listed: ListSessionsResult = serde_json::from_value(listed).map_err(|error| {
        ClientError::Nonsense(format!("The server's list of sessions does not fit this version ({error})."))
    })?;
    let found = listed.sessions.into_iter().find(|one| one.session_id == made.session_id);
    found.ok_or_else(|| {
        ClientError::Nonsense("The server does not list the session that it made; run `doctor`.".to_owned())
    })
}

/// Asks for a session; that it takes its time is said.
fn session(
    client: &mut Client,
    console: &mut Console<Stdout, Stderr>,
    args: &AskArgs,
    engine: EngineKind,
) -> Result<Value, ClientError> {
    let most = args.timeout.map_or(SESSION, Duration::from_secs);
    let who = if engine == EngineKind::Acp { "the agent to start" } else { "the engine to make a session" };
    let said = format!("Waiting up to {} s for {who}", most.as_secs());
    let waits = &mut || console.wait(&said);
    let made = client.request_saying("bb/createSession", json!({}), most, waits);
    console.done();
    match made {
        Err(ClientError::Silent(_)) => Err(ClientError::Refused(Refusal {
            number: 0,
            code: String::new(),
            message: format!(
                "There was no session within {} s; run `breadboard-ls doctor` with the same options, or wait longer with \
                 --timeout.",
                most.as_secs()
            ),
        })),
        other => other,
    }
}

/// An agent is a program, which is started for its first session: asks whether it may be, where somebody can be asked.
fn trust_for_session(workspace: &Path, refusal: &Refusal, keyboard: &Keyboard) -> bool {
    let said = marked(&refusal.message);
    let mut err = std::io::stderr();
    if !keyboard.is_there() {
        let _ = writeln!(err, "breadboard-ls: {said} Nobody can be asked here: pass --trust.");
        return false;
    }
    let shown = visible_code(&workspace.to_string_lossy()).into_owned();
    let _ = write!(err, "{said}\nTrust this folder ({shown})? [y/N] ");
    matches!(keyboard.line().as_deref(), Some("y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_must_be_a_folder_that_is_there() {
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join("file");
        std::fs::write(&file, "").expect("a file");
        assert!(folder(place.path()).is_ok());
        assert!(folder(&file).expect_err("is a file").contains("not a folder"));
        assert!(folder(&place.path().join("none")).expect_err("is not there").contains("cannot be opened"));
    }
}
