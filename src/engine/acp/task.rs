//! The task of one agent: carries calls, lines, time and reports between the agent's state and the world.
//!
//! Owns the process, its pipes, and the workers where what it wants of its client is done. While reports wait for the loop nothing is read, so that the pipe holds the agent back
//! and nothing is lost; calls are taken all the while. Decides nothing: `agent` does.

use std::path::PathBuf;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::agent::{Agent, Effect};
use super::client_side::{Finished, Workers};
use super::framing::{Line, LineReader};
use super::process::{AgentCommand, AgentProcess, AgentStdin, AgentStdout, Cwd, ExitNote, Secrets};
use crate::app::inbox::Reply;
use crate::app::ports::{AgentCall, Attachment, EngineCall, EngineReport, EngineSession};
use crate::domain::dialect::acp::blocks::{PromptAttachment, wants_content};
use crate::domain::dialect::acp::results::PromptCapabilities;
use crate::protocol::request::ModelsResult;
use crate::protocol::{ErrorCode, WireError};

/// Lines that wait for an agent to read. Ours are few: past that it does not read at all, and is ended.
const UNREAD: usize = 256;

/// How long the output of an agent that ended may be silent before it counts as whole: what it started may hold the pipe.
const DRAIN: Duration = Duration::from_millis(300);

/// Bytes of one attachment that go along; a larger one is linked.
const ATTACHMENT: u64 = 8 << 20;

/// What an agent is told.
pub(super) enum Message {
    /// By the loop.
    Call(EngineCall),
    /// Whether the workspace is trusted, where it works, and which model comes next.
    Settings { trusted: bool, folder: Option<Cwd> },
    /// The model for the next prompt.
    /// List its sessions.
    List(oneshot::Sender<Vec<EngineSession>>),
    /// Name its models.
    Models(Reply<ModelsResult>),
}

/// What is known before an agent is started.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    pub(super) hide: Secrets,
    pub(super) guard: PathBuf,
}

/// What other tasks finished for this one.
enum Done {
    Spawned(u64, Result<Box<(AgentProcess, AgentStdin, AgentStdout)>, WireError>),
    Exited(u64, ExitNote),
    Read { session_id: String, turn: u64, attachments: Vec<PromptAttachment> },
}

/// A process that was started.
struct Running {
    lines: LineReader<AgentStdout>,
    writer: mpsc::Sender<String>,
    /// Message or dropped, the process is ended.
    end: Option<oneshot::Sender<()>>,
    exit: Option<ExitNote>,
    /// Its output ended.
    closed: bool,
    /// When the output counts as whole, once the process ended.
    drained: Option<Instant>,
}

/// Runs until nobody calls any more; the process is ended then.
pub(super) async fn run(
    mut agent: Agent,
    mut calls: mpsc::Receiver<Message>,
    reports: mpsc::Sender<EngineReport>,
    place: Surroundings,
) {
    // Every job answers once, and there is one of each kind a turn.
    let (done, mut jobs) = mpsc::channel::<Done>(UNREAD);
    let mut running: Option<Running> = None;
    // What the process wants done ends with it.
    let mut workers: Option<Workers> = None;
    loop {
        agent.now = Instant::now();
        carry_out(&mut agent, &mut running, &mut workers, &done, &place);
        hand_over(&mut agent, &reports);
        if let Some(note) = whole(&agent, &mut running) {
            running = None;
            agent.exited(&note);
            continue;
        }
        let held_back = agent.has_reports();
        let deadline = agent.deadline();
        let drained = running.as_ref().and_then(|running| running.drained).filter(|_| !held_back);
        let next = [deadline, drained].into_iter().flatten().min();
        let reads = running.as_ref().is_some_and(|running| !running.closed) && !held_back;
        tokio::select! {
            told = calls.recv() => match told {
                Some(told) => {
                    agent.now = Instant::now();
                    tell(&mut agent, told);
                }
                None => break,
            },
            Some(finished) = jobs.recv() => {
                agent.now = Instant::now();
                match &finished {
                    Done::Spawned(generation, Ok(_)) if *generation == agent.process.generation() => {
                        workers = Some(Workers::new(reports.clone(), place.guard.clone()));
                    }
                    Done::Exited(generation, _) if *generation == agent.process.generation() => workers = None,
                    Done::Spawned(..) | Done::Exited(..) | Done::Read { .. } => {}
                }
                take(&mut agent, &mut running, finished, &done);
            }
            finished = next_work(&mut workers) => {
                agent.now = Instant::now();
                agent.work_done(finished.number, finished.outcome);
            }
            permit = reports.reserve(), if held_back => match permit {
                Ok(permit) => {
                    if let Some(report) = agent.next_report() {
                        permit.send(report);
                    }
                }
                // The loop is gone.
                Err(_) => break,
            },
            line = next_line(&mut running), if reads => {
                agent.now = Instant::now();
                hear(&mut agent, &mut running, line);
            }
            () = until(next), if next.is_some() => {
                agent.now = Instant::now();
                agent.passed();
            }
        }
    }
    if let Some(end) = running.as_mut().and_then(|running| running.end.take()) {
        // Its own task ends the process, and lives as long as the runtime.
        let _ = end.send(());
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn next_work(workers: &mut Option<Workers>) -> Finished {
    match workers {
        Some(workers) => workers.next().await,
        None => std::future::pending().await,
    }
}

async fn next_line(running: &mut Option<Running>) -> std::io::Result<Option<Line>> {
    match running {
        Some(running) => running.lines.next().await,
        None => std::future::pending().await,
    }
}

fn hear(agent: &mut Agent, running: &mut Option<Running>, line: std::io::Result<Option<Line>>) {
    let Some(running) = running else { return };
    match line {
        Ok(Some(line)) => {
            if running.exit.is_some() {
                running.drained = Some(agent.now + DRAIN);
            }
            agent.heard(line);
        }
        Ok(None) | Err(_) => {
            running.closed = true;
            if running.exit.is_none() {
                // Usually it is ending, and its exit code comes at once.
                running.drained = Some(agent.now + DRAIN);
            }
        }
    }
}

/// Everything that the process said was heard, and it has ended.
fn whole(agent: &Agent, running: &mut Option<Running>) -> Option<ExitNote> {
    let running = running.as_mut()?;
    let silent = running.drained.is_some_and(|at| at <= agent.now);
    if agent.has_reports() {
        return None;
    }
    if running.exit.is_none() && running.closed && silent {
        running.drained = None;
        if let Some(end) = running.end.take() {
            // It closed its output and lives on: of no use to anybody.
            let _ = end.send(());
        }
        return None;
    }
    if running.closed || silent { running.exit.take() } else { None }
}

/// Gives the loop as many reports as it has room for.
fn hand_over(agent: &mut Agent, reports: &mpsc::Sender<EngineReport>) {
    while agent.has_reports() {
        match reports.try_reserve() {
            Ok(permit) => {
                if let Some(report) = agent.next_report() {
                    permit.send(report);
                }
            }
            Err(TrySendError::Full(()) | TrySendError::Closed(())) => return,
        }
    }
}

fn carry_out(
    agent: &mut Agent,
    running: &mut Option<Running>,
    workers: &mut Option<Workers>,
    done: &mpsc::Sender<Done>,
    place: &Surroundings,
) {
    while let Some(effect) = agent.next_deed() {
        match effect {
            Effect::Start => {
                let command = AgentCommand {
                    program: agent.line.program.clone(),
                    args: agent.line.args.clone(),
                    env: agent.line.env.clone(),
                    cwd: agent.cwd(),
                    log: agent.log_file(),
                    hide: place.hide.clone(),
                    guard: place.guard.clone(),
                };
                let (done, generation) = (done.clone(), agent.process.generation());
                tokio::spawn(async move {
                    let outcome = AgentProcess::spawn(&command).await.map(Box::new);
                    // A task that is gone wants no process; it is ended by being dropped.
                    let _ = done.send(Done::Spawned(generation, outcome)).await;
                });
            }
            Effect::Write(line) => {
                let full = running.as_ref().is_some_and(|running| {
                    matches!(running.writer.try_send(line), Err(TrySendError::Full(_)))
                });
                if full {
                    agent.broke("reads nothing of what it is told");
                }
            }
            Effect::End => {
                // Without one it is still being started, and `take` ends it.
                if let Some(end) = running.as_mut().and_then(|running| running.end.take()) {
                    // It may be ending by itself.
                    let _ = end.send(());
                }
            }
            // Without a workers the process has ended, and `gone` forgets what it wanted.
            Effect::Work(order) => {
                if let Some(workers) = workers {
                    workers.begin(order);
                }
            }
            Effect::GiveUp(number) => {
                if let Some(workers) = workers {
                    workers.give_up(number);
                }
            }
            Effect::EndTerminals(session_id) => {
                if let Some(workers) = workers {
                    workers.end_session(&session_id);
                }
            }
            Effect::Read { session_id, turn, attachments, takes } => {
                let done = done.clone();
                tokio::task::spawn_blocking(move || {
                    let attachments = attachments.iter().map(|one| read(one, &takes)).collect();
                    // The agent may be gone by now.
                    let _ = done.blocking_send(Done::Read { session_id, turn, attachments });
                });
            }
        }
    }
}

fn take(agent: &mut Agent, running: &mut Option<Running>, finished: Done, done: &mpsc::Sender<Done>) {
    match finished {
        Done::Spawned(generation, _) if generation != agent.process.generation() => {}
        Done::Spawned(_, Err(error)) => agent.started(Err(error)),
        Done::Spawned(generation, Ok(spawned)) => {
            let (process, stdin, stdout) = *spawned;
            let (writer, lines) = mpsc::channel(UNREAD);
            let (end, ends) = oneshot::channel();
            tokio::spawn(write(stdin, lines));
            tokio::spawn(watch(process, ends, done.clone(), generation));
            let unwanted = agent.process.is_ending();
            *running = Some(Running {
                lines: LineReader::new(stdout),
                writer,
                // Dropped, the process ends: it was wanted no more before it was there.
                end: Some(end).filter(|_| !unwanted),
                exit: None,
                closed: false,
                drained: None,
            });
            agent.started(Ok(()));
        }
        Done::Exited(generation, note) => {
            if let Some(running) = running.as_mut().filter(|_| generation == agent.process.generation()) {
                running.exit = Some(note);
                running.drained = Some(agent.now + DRAIN);
            }
        }
        Done::Read { session_id, turn, attachments } => {
            agent.attachments_read(&session_id, turn, &attachments)
        }
    }
}

/// Writes lines until nobody has any more or nobody reads.
async fn write(mut stdin: AgentStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() {
            // It is ending, or reads no more; its exit is seen elsewhere.
            return;
        }
    }
}

/// Waits for the end of a process, or brings it about.
async fn watch(
    mut process: AgentProcess,
    end: oneshot::Receiver<()>,
    done: mpsc::Sender<Done>,
    generation: u64,
) {
    tokio::select! {
        _ = process.exited() => {}
        _ = end => process.end().await,
    }
    let note = process.exited().await;
    // A task that is gone needs no note.
    let _ = done.send(Done::Exited(generation, note)).await;
}

/// Reads an attachment, where the agent takes its content. Blocking.
fn read(attachment: &Attachment, takes: &PromptCapabilities) -> PromptAttachment {
    let wanted = attachment.bytes <= ATTACHMENT && wants_content(&attachment.mime, takes);
    // One that is gone is linked, and the agent says so.
    let content = wanted.then(|| std::fs::read(&attachment.path).ok()).flatten();
    let uri = url::Url::from_file_path(&attachment.path).map(String::from).unwrap_or_default();
    PromptAttachment {
        name: attachment.name.clone(),
        mime: attachment.mime.clone(),
        uri,
        size: attachment.bytes,
        content,
    }
}

fn tell(agent: &mut Agent, told: Message) {
    match told {
        Message::Settings { trusted, folder } => {
            agent.set_trust(trusted);
            agent.set_folder(folder);
        }
        Message::List(give) => agent.list(give),
        Message::Models(reply) => reply.settle(agent.models()),
        Message::Call(call) => called(agent, call),
    }
}

fn called(agent: &mut Agent, call: EngineCall) {
    match call {
        EngineCall::MakeSession { session_id, wish, reply } => agent.make(session_id, wish, reply),
        EngineCall::Agent(AgentCall::Remember(session)) => agent.remember(session),
        EngineCall::StartTurn { session_id, turn, prompt, model, .. } => {
            agent.start_turn(&session_id, turn, prompt, model.map(|model| model.name));
        }
        EngineCall::Stop { session_id } => agent.stop(&session_id),
        EngineCall::Decide { engine_request_id, decision, .. } => agent.decide(&engine_request_id, decision),
        EngineCall::Agent(AgentCall::CloseSession { session_id }) => agent.close(&session_id),
        EngineCall::DeleteSession { session_id, reply, .. } => agent.delete(&session_id, reply),
        EngineCall::Forget { session_id } => agent.forget(&session_id),
        EngineCall::Command { session_id, command, args, reply } => {
            agent.command(&session_id, &command, &args, reply);
        }
        EngineCall::Agent(AgentCall::Restart { reply, .. }) => agent.restart(reply),
        // `AcpEngine` keeps or refuses the others.
        call => call.refuse(WireError::new(ErrorCode::Unsupported, "Agents cannot do this.")),
    }
}
