//! The Agent Client Protocol as an agent on stdio: any client of it over our sessions, journal and approvals.
//!
//! Owns the edge: lines in, lines out, and the state of one client on one thread. Never decides anything about a session: it hands
//! commands to the loop as an editor does, and tells what the loop tells (decision 0030). Tests: `tests/e2e/acp_front.rs`.

mod asks;
mod buffers;
mod choices;
mod front;
mod heard;
mod lines;
mod message;
mod outbox;
mod root;
mod session;
mod sessions;
mod turn;
mod wire;

use std::fs::File;
use std::io;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

use self::front::AcpFront;
use self::lines::{ClientLine, read_lines};
use self::message::{AcpClientMessage, RpcFault};
use self::wire::{AcpWire, HiddenSecrets};
use crate::app::inbox::Inbox;
use crate::domain::dialect::acp::decode::RpcId;
use crate::domain::policy::redact::Redactor;
use crate::protocol::settings::Overrides;

/// How long the journals may take to be written when the client is gone.
const FLUSH: Duration = Duration::from_millis(400);

/// How long the client may take to read what waits.
const DRAIN: Duration = Duration::from_millis(300);

/// What is said where we would be our own agent.
const INSIDE_ITSELF: &str = "breadboard-ls was started as an agent of breadboard-ls, which would only ask itself; choose \
                             another agent, or start breadboard-ls from the client directly.";

/// What the wiring gives to this front.
pub(crate) struct AcpServing {
    /// Starts a loop of its own for a folder.
    pub(crate) start_loop: Box<dyn Fn() -> Inbox>,
    /// Environment and flags.
    pub(crate) overrides: Overrides,
    /// What is secret already.
    pub(crate) hidden: Redactor,
}

/// Serves one client until its input ends.
pub(crate) fn serve(serving: AcpServing, out: File) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    let secrets = HiddenSecrets::default();
    if let Ok(mut known) = secrets.write() {
        known.add_all(&serving.hidden);
    }
    let started = AcpWire::start(out, HiddenSecrets::clone(&secrets))
        .and_then(|(wire, dead)| Ok((wire, dead, read_lines(io::stdin())?)));
    let Ok((wire, mut dead, lines)) = started else { return ExitCode::FAILURE };
    let front = AcpFront::new(wire, serving, secrets);
    LocalSet::new().block_on(&runtime, async {
        let heard_all = converse(&front, lines, &mut dead).await;
        // What does not come in time is left; the journal mends itself.
        let _ = tokio::time::timeout(FLUSH, front.flush()).await;
        front.wire.close();
        if heard_all {
            let _ = tokio::time::timeout(DRAIN, dead).await;
        }
    });
    ExitCode::SUCCESS
}

/// Hears the client until its input ends (`true`) or nobody reads us any more.
async fn converse(
    front: &Rc<AcpFront>,
    mut lines: mpsc::Receiver<ClientLine>,
    dead: &mut oneshot::Receiver<()>,
) -> bool {
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            _ = &mut *dead => return false,
        };
        let read = match line {
            None => return true,
            Some(ClientLine::TooLong) => Err((RpcId::null(), RpcFault::too_long())),
            Some(ClientLine::Whole(line)) => message::read(&line),
        };
        match read {
            Ok(message) => front.message(message).await,
            Err((id, fault)) => front.wire.answer(&id, &Err(fault)).await,
        }
    }
}

/// Answers everything with why nothing is done, until the input ends: whoever started us shows it to the user.
pub(crate) fn refuse_inside_itself(out: File) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    let started = AcpWire::start(out, HiddenSecrets::default())
        .and_then(|(wire, dead)| Ok((wire, dead, read_lines(io::stdin())?)));
    let Ok((wire, dead, mut lines)) = started else { return ExitCode::FAILURE };
    runtime.block_on(async {
        while let Some(line) = lines.recv().await {
            let ClientLine::Whole(line) = line else { continue };
            if let Ok(AcpClientMessage::Request { id, .. }) = message::read(&line) {
                wire.answer(&id, &Err(RpcFault::request(INSIDE_ITSELF))).await;
            }
        }
        wire.close();
        let _ = tokio::time::timeout(DRAIN, dead).await;
    });
    ExitCode::FAILURE
}
