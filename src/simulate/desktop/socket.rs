//! One client's connection to a session of a simulated host.
//!
//! Owns the handshake and what a client's message does. In the words of the public source a stop closes the socket, and a turn dies
//! with it.

use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket};
use serde_json::Value;

use super::HostDialect;
use super::host::SimulatedHost;
use super::hosted_session::{HostedSession, ToSocket};
use super::play::play;

/// Whether the socket stays.
#[derive(PartialEq, Eq)]
enum Stays {
    Yes,
    No,
}

/// Speaks until the socket ends.
pub(super) async fn speak(host: Arc<SimulatedHost>, session: Arc<HostedSession>, mut socket: WebSocket) {
    let (_, mut words) = session.joins();
    if !host.options.waits_for_hello && !greet(&host, &session, &mut socket).await {
        return;
    }
    loop {
        tokio::select! {
            word = words.recv() => match word {
                Some(ToSocket::Text(text)) => {
                    if socket.send(Message::Text(text.into())).await.is_err() {
                        break;
                    }
                }
                Some(ToSocket::Cut) | None => break,
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) => {
                    if take(&host, &session, &mut socket, &text).await == Stays::No {
                        break;
                    }
                }
                Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
            },
        }
    }
    if host.options.dialect == HostDialect::Source {
        let mut state = session.state();
        state.running = false;
        if let Some(turn) = state.turn.take() {
            turn.abort();
        }
    }
}

async fn greet(host: &SimulatedHost, session: &HostedSession, socket: &mut WebSocket) -> bool {
    let dialect = host.options.dialect;
    let state = {
        let state = session.state();
        dialect.state(state.running, &state.waiting)
    };
    for message in [Some(dialect.hello()), state].into_iter().flatten() {
        if socket.send(Message::Text(message.to_string().into())).await.is_err() {
            return false;
        }
    }
    true
}

/// One message of a client.
async fn take(
    host: &Arc<SimulatedHost>,
    session: &Arc<HostedSession>,
    socket: &mut WebSocket,
    text: &str,
) -> Stays {
    let dialect = host.options.dialect;
    let Some(message) = serde_json::from_str::<Value>(text).ok().filter(Value::is_object) else {
        // The public source breaks the socket over it.
        if dialect == HostDialect::Seed {
            session.tell(&ToSocket::Text(dialect.unreadable("This is no JSON object.").to_string()));
            return Stays::Yes;
        }
        return Stays::No;
    };
    host.heard_message(&message);
    session.hears(message.clone());
    match message["type"].as_str().unwrap_or_default() {
        "client.hello" if host.options.waits_for_hello => {
            let greeted = greet(host, session, socket).await;
            return if greeted { Stays::Yes } else { Stays::No };
        }
        "client.user_message" => {
            let prompt = message["message"].as_str().unwrap_or_default().to_owned();
            begin(host, session, prompt);
        }
        "client.cancel" => {
            let turn = {
                let mut state = session.state();
                state.running = false;
                state.turn.take()
            };
            if let Some(turn) = turn {
                turn.abort();
            }
            if dialect == HostDialect::Source {
                return Stays::No;
            }
            session.tell(&ToSocket::Text(dialect.last("", true).to_string()));
        }
        _ => {}
    }
    Stays::Yes
}

fn begin(host: &Arc<SimulatedHost>, session: &Arc<HostedSession>, prompt: String) {
    {
        let mut state = session.state();
        state.running = true;
        if state.title.is_none() {
            state.title = prompt.lines().next().map(|line| line.chars().take(80).collect());
        }
    }
    let turn = host.runtime.spawn(play(Arc::clone(host), Arc::clone(session), prompt));
    session.state().turn = Some(turn.abort_handle());
}
