//! Prompts on their way to the engine, and stops.
//!
//! Owns, for each session, the prompts that the engine may remember and the turn that is being sent. A prompt is sent once:
//! where the engine does not say whether it took it, its stream is waited for, and where that does not tell of it either, that
//! is said. The end of a turn is an event; this reports an end only for a turn that never began. Memory is bounded by the prompts
//! that the engine remembers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Map, json};
use tokio::sync::watch;

use super::engine_error::EngineError;
use super::failed_session;
use super::link::Listener;
use super::{EngineParts, commands, upload};
use crate::app::inbox::Answer;
use crate::app::ports::{EngineReport, Prompt, StreamReport, TurnBegun, TurnFailure};
use crate::domain::dialect::breadboard::http::{CancelTurn, EngineInput, InputReply};
use crate::domain::policy::engine_prompt::{REMEMBERED, sendable};
use crate::domain::remedy::{Retry, RetryWhen};

/// Sessions that are known at the same time. One more makes another, whose turn is not on its way, be forgotten: its
/// earlier prompts come with its next turn, and its model is told again.
const KNOWN_SESSIONS: usize = 256;

/// Tries of a stop, which may be said twice without harm.
const STOP_TRIES: u32 = 3;

/// Between them.
const STOP_PAUSE: Duration = Duration::from_millis(300);

/// What is known of a session's turns.
#[derive(Default)]
pub(super) struct SessionTurns {
    /// Prompts as they were sent, oldest first.
    remembered: VecDeque<String>,
    /// The model that the loop named last: a word of the user's since then stands until it names another.
    pub(super) model: Option<String>,
    /// The last turn that was sent or is being sent.
    last: Option<Sending>,
}

#[derive(Clone)]
struct Sending {
    phase: watch::Receiver<TurnPhase>,
    stop: watch::Sender<bool>,
}

/// How far a turn is on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TurnPhase {
    /// Nothing that begins it was sent.
    Preparing,
    /// It is being sent.
    Leaving,
    /// The engine took it; its own id of the turn, where it said one.
    Taken(Option<String>),
    /// It did not begin, or nobody knows.
    Failed,
}

/// What a turn sends.
struct SentInput {
    turn: u64,
    prompt: Prompt,
    /// The engine's id of the model.
    model: Option<String>,
    history: Vec<(String, String)>,
}

/// What the engine took.
struct Taken {
    /// Its own id of the turn, where it said one.
    turn_id: Option<String>,
    /// As it was sent.
    content: String,
    /// What the stream tells since; `None` where nothing needs to be heard, or nobody listens.
    heard: Option<Listener>,
}

/// Why a turn did not begin.
struct NotBegun(TurnFailure);

impl NotBegun {
    /// Nothing of the prompt was sent.
    fn unsent(message: impl Into<String>, when: RetryWhen) -> Self {
        Self(TurnFailure::new(message, Retry::not_taken(when)))
    }
}

/// Begins a turn.
pub(super) fn start(
    shared: &Arc<EngineParts>,
    session_id: String,
    begun: TurnBegun,
    looked_at: Option<Answer<()>>,
) {
    let TurnBegun { turn, prompt, model, history, memory: _ } = begun;
    let (phase, seen) = watch::channel(TurnPhase::Preparing);
    let (stop, stopped) = watch::channel(false);
    {
        let mut state = shared.state();
        make_room(&mut state.sessions, KNOWN_SESSIONS);
        let session = state.sessions.entry(session_id.clone()).or_default();
        session.last = Some(Sending { phase: seen, stop });
    }
    shared.links.turn_began(&session_id, turn);
    let shared = Arc::clone(shared);
    let runtime = shared.runtime.clone();
    runtime.spawn(async move {
        if let Some(looked_at) = looked_at {
            // A look that was given up is one that nobody waits for.
            let _ = looked_at.await;
        }
        let sent = SentInput { turn, prompt, model: model.map(|model| model.name), history };
        let next = stopped.clone();
        let begun = begin(&shared, &session_id, sent, &phase, stopped).await;
        let failure = match begun {
            Ok(Taken { turn_id, content, heard }) => {
                phase.send_replace(TurnPhase::Taken(turn_id));
                if let Some(heard) = heard {
                    let shared = Arc::downgrade(&shared);
                    tell_of_silence(&shared, session_id, turn, &content, heard, next).await;
                }
                return;
            }
            Err(NotBegun(why)) => Some(why),
        };
        phase.send_replace(TurnPhase::Failed);
        shared.report(EngineReport::TurnEnded { session_id, turn, failure, cancelled: false }).await;
    });
}

/// Tells whenever the engine falls quiet without having told of this prompt, while it told of another. `next` ends when
/// another turn begins or the session is forgotten.
async fn tell_of_silence(
    shared: &Weak<EngineParts>,
    session_id: String,
    turn: u64,
    content: &str,
    mut heard: Listener,
    mut next: watch::Receiver<bool>,
) {
    let Some(claim) = shared.upgrade().map(|shared| shared.client.patience().claim) else { return };
    let listen = async {
        while heard.falls_quiet_behind_another(content, claim).await {
            let Some(shared) = shared.upgrade() else { return };
            let session_id = session_id.clone();
            shared.report(EngineReport::Stream(StreamReport::QuietBehindAnother { session_id, turn })).await;
            drop(shared);
            // Once for each silence.
            if !heard.hears_more().await {
                return;
            }
        }
    };
    let another = async { while next.changed().await.is_ok() {} };
    tokio::select! {
        () = listen => {}
        () = another => {}
    }
}

/// Forgets sessions until there are fewer than `most`, those whose turn is on its way excepted.
fn make_room(sessions: &mut HashMap<String, SessionTurns>, most: usize) {
    while sessions.len() >= most {
        let settled = sessions.iter().find(|(_, session)| !session.is_sending()).map(|(id, _)| id.clone());
        let Some(id) = settled else { return };
        sessions.remove(&id);
    }
}

impl SessionTurns {
    fn is_sending(&self) -> bool {
        let on_its_way =
            |sending: &Sending| matches!(*sending.phase.borrow(), TurnPhase::Preparing | TurnPhase::Leaving);
        self.last.as_ref().is_some_and(on_its_way)
    }
}

fn remember(shared: &EngineParts, session_id: &str, content: String) {
    let mut state = shared.state();
    let session = state.sessions.entry(session_id.to_owned()).or_default();
    session.remembered.push_back(content);
    if session.remembered.len() > REMEMBERED {
        session.remembered.pop_front();
    }
}

async fn begin(
    shared: &Arc<EngineParts>,
    session_id: &str,
    sent: SentInput,
    phase: &watch::Sender<TurnPhase>,
    mut stopped: watch::Receiver<bool>,
) -> Result<Taken, NotBegun> {
    let SentInput { turn, prompt, model, history } = sent;
    let content = {
        let state = shared.state();
        let known = state.sessions.get(session_id);
        let sent = known.into_iter().flat_map(|session| session.remembered.iter().map(String::as_str));
        // What was asked before this process began was sent bare, or behind white space that other turns do not use.
        let asked = history.iter().rev().take(REMEMBERED).map(|(asked, _)| asked.as_str());
        sendable(&prompt.context.with_typed_words(&prompt.text), turn, sent.chain(asked))
            .map_err(|refused| NotBegun::unsent(refused.reason(), RetryWhen::Never))?
    };
    let preparation = async {
        follow_model(shared, session_id, model).await?;
        upload::all(shared, session_id, &prompt.attachments).await.map_err(NotBegun)
    };
    let attachments = tokio::select! {
        // A stop that was said before is seen as well.
        _ = stopped.wait_for(|stopped| *stopped) => {
            let why = "The turn was stopped before its prompt was sent to the engine.";
            return Err(NotBegun(why.into()));
        }
        prepared = preparation => prepared?,
    };
    phase.send_replace(TurnPhase::Leaving);
    let input =
        EngineInput { content: content.clone(), attachments, client_message_id: prompt.message_id.clone() };
    // Before it is known that it arrived: the engine may remember what it did not say that it took.
    remember(shared, session_id, content);
    let heard = shared.links.listen(session_id);
    match post(shared, session_id, &input).await {
        Ok(reply) => {
            shared.links.turn_taken(session_id, turn);
            Ok(Taken { turn_id: reply.turn_id, content: input.content, heard })
        }
        Err(trouble) if trouble.leaves_it_open() => {
            let told = heard.map(|heard| heard.tells_of(&input.content, shared.client.patience().echo));
            let arrived = async {
                match told {
                    Some(told) => told.await,
                    None => false,
                }
            };
            tokio::select! {
                biased;
                _ = stopped.wait_for(|stopped| *stopped) => Err(undecided(shared)),
                arrived = arrived => if arrived { Ok(Taken { turn_id: None, content: input.content.clone(), heard: None }) } else { Err(undecided(shared)) },
            }
        }
        Err(EngineError::Refused { status: 409, .. }) => {
            Err(NotBegun::unsent(failed_session::why_over(shared, session_id).await, RetryWhen::Never))
        }
        Err(trouble) => Err(refused(shared, &trouble)),
    }
}

/// Nobody knows whether the prompt arrived, and the stream did not tell of it in time.
fn undecided(shared: &EngineParts) -> NotBegun {
    let why = format!(
        "The engine at {} did not say whether it took the prompt; look at the session before you send it again.",
        shared.client.base_url().origin()
    );
    NotBegun(TurnFailure::new(why, Retry::perhaps_taken(RetryWhen::Later)))
}

fn refused(shared: &EngineParts, trouble: &EngineError) -> NotBegun {
    match trouble {
        // What this engine makes of content that it does not like.
        EngineError::Broken { status: 500, .. } => NotBegun::unsent(
            "The engine failed inside and did not take the prompt; look into its log and send it again.",
            RetryWhen::Changed,
        ),
        EngineError::Gone { .. } => NotBegun::unsent(
            "The engine no longer has this session, as after a restart of it; make a new one and send the prompt there.",
            RetryWhen::Never,
        ),
        trouble => NotBegun(shared.told(trouble).into()),
    }
}

/// Posts the input. Once more only where nothing went out, or where the engine knows a message that it has already.
async fn post(
    shared: &EngineParts,
    session_id: &str,
    input: &EngineInput,
) -> Result<InputReply, EngineError> {
    let path = ["v1", "sessions", session_id, "input"];
    let body = json!(input);
    let first = match shared.client.post::<InputReply>(&path, &body).await {
        Ok(reply) => return Ok(reply),
        Err(trouble) => trouble,
    };
    let knows_messages = shared.has.borrow().has("cancel");
    let again = match &first {
        EngineError::Unreachable { sent: false, .. } => true,
        trouble => trouble.leaves_it_open() && knows_messages,
    };
    if again { shared.client.post::<InputReply>(&path, &body).await } else { Err(first) }
}

/// Tells the session the model of its turn, when the loop named another one before.
async fn follow_model(shared: &EngineParts, session_id: &str, model: Option<String>) -> Result<(), NotBegun> {
    let Some(model) = model else { return Ok(()) };
    if shared.state().sessions.get(session_id).and_then(|session| session.model.as_ref()) == Some(&model) {
        return Ok(());
    }
    let mut payload = Map::new();
    payload.insert("model".to_owned(), model.clone().into());
    commands::send(shared, session_id, "set_model", payload).await.map_err(|trouble| {
        let why = commands::refused(shared, "set_model", &trouble).message;
        let why = format!("The engine did not take the chosen model, so the prompt was not sent. {why}");
        NotBegun(trouble.unsent(why))
    })?;
    shared.state().sessions.entry(session_id.to_owned()).or_default().model = Some(model);
    Ok(())
}

/// Stops the turn that runs or is on its way. What is on its way is waited for, since the engine forgets a stop that comes
/// before its turn.
pub(super) fn stop(shared: &Arc<EngineParts>, session_id: String) {
    let sending = shared.state().sessions.get(&session_id).and_then(|session| session.last.clone());
    if let Some(sending) = &sending {
        sending.stop.send_replace(true);
    }
    let shared = Arc::clone(shared);
    let runtime = shared.runtime.clone();
    runtime.spawn(async move {
        let mut turn_id = None;
        if let Some(mut sending) = sending {
            let over = |phase: &TurnPhase| matches!(phase, TurnPhase::Taken(_) | TurnPhase::Failed);
            // Its task reports every end; without it there is nothing to stop.
            match sending.phase.wait_for(over).await.as_deref() {
                Ok(TurnPhase::Taken(id)) => turn_id = id.clone(),
                Ok(TurnPhase::Preparing | TurnPhase::Leaving | TurnPhase::Failed) | Err(_) => {}
            }
        }
        for attempt in 1..=STOP_TRIES {
            match say_stop(&shared, &session_id, turn_id.as_deref()).await {
                Ok(()) => return,
                Err(trouble) => {
                    tracing::warn!(attempt, why = %shared.told(&trouble).message, "the engine did not take a stop");
                    if !matches!(trouble, EngineError::Unreachable { .. } | EngineError::TimedOut { .. }) {
                        return;
                    }
                    tokio::time::sleep(STOP_PAUSE).await;
                }
            }
        }
    });
}

async fn say_stop(shared: &EngineParts, session_id: &str, turn_id: Option<&str>) -> Result<(), EngineError> {
    if let Some(turn_id) = turn_id.filter(|_| shared.has.borrow().has("cancel")) {
        let body =
            CancelTurn { cancellation_request_key: format!("stop-{turn_id}"), reason: "user_requested" };
        let path = ["v1", "sessions", session_id, "turns", turn_id, "cancel"];
        match shared.client.post::<serde_json::Value>(&path, &json!(body)).await {
            Ok(_) => return Ok(()),
            Err(trouble @ (EngineError::Unreachable { .. } | EngineError::TimedOut { .. })) => {
                return Err(trouble);
            }
            // The turn may have another id by now; the command stops whatever runs.
            Err(_) => {}
        }
    }
    commands::send(shared, session_id, "stop", Map::new()).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tokio::sync::watch;

    use super::{Sending, SessionTurns, TurnPhase, make_room};

    #[test]
    fn the_number_of_known_sessions_is_bounded_and_none_that_sends_is_forgotten() {
        let turns = |phase| {
            let last = Sending { phase: watch::channel(phase).1, stop: watch::channel(false).0 };
            SessionTurns { last: Some(last), ..SessionTurns::default() }
        };
        let mut sessions: HashMap<String, SessionTurns> = [
            ("preparing", turns(TurnPhase::Preparing)),
            ("leaving", turns(TurnPhase::Leaving)),
            ("taken", turns(TurnPhase::Taken(None))),
            ("failed", turns(TurnPhase::Failed)),
            ("made", SessionTurns::default()),
        ]
        .map(|(id, session)| (id.to_owned(), session))
        .into();
        make_room(&mut sessions, 6);
        assert_eq!(sessions.len(), 5);
        make_room(&mut sessions, 5);
        assert_eq!(sessions.len(), 4);
        make_room(&mut sessions, 1);
        let mut left: Vec<&str> = sessions.keys().map(String::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["leaving", "preparing"]);
    }
}
