//! The task of one agent: carries calls, lines, time and reports between the agent's state and the world.
//!
//! Owns the process and the workers where what it wants of its client is done. While reports wait for the loop nothing is
//! read, so that the pipe holds the agent back and nothing is lost; calls are taken all the while. Decides nothing: `agent`
//! does.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::agent::Agent;
use super::client_side::{WorkNews, Workers};
use super::framing::Line;
use super::outgoing::Effect;
use super::process::{AgentCommand, AgentProcess, AgentStdin, AgentStdout, Cwd, ExitNote, Secrets};
use super::running::{Running, Written};
use crate::app::inbox::{Answer, Reply};
use crate::app::ports::{AgentCall, Attachment, EngineCall, EngineReport, EngineSession};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::blocks::{PromptAttachment, wants_content};
use crate::domain::dialect::acp::results::PromptCapabilities;
use crate::protocol::request::ModelsResult;
use crate::protocol::standing::CommandBounds;

/// What others finished for a task that has not looked at it. Every job answers once, and there is one of each kind a turn.
const FINISHED: usize = 256;

/// Bytes of one attachment that go along; a larger one is linked.
const ATTACHMENT: u64 = 8 << 20;

/// What an agent is told.
pub(super) enum Message {
    /// By the loop.
    Call(Box<EngineCall>),
    /// Whether the workspace is trusted, where it works, and which model comes next.
    Settings { trusted: bool, folder: Option<Cwd> },
    /// List its sessions.
    List(oneshot::Sender<Vec<EngineSession>>),
    /// Name its models.
    Models(Reply<ModelsResult>),
}

/// What is known before an agent is started.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    /// Keys that its process is given, by the names of their variables.
    pub(super) keys: BTreeMap<String, String>,
    pub(super) hide: Secrets,
    pub(super) guard: PathBuf,
    /// Of the commands in its terminals.
    pub(super) commands: CommandBounds,
}

/// What other tasks finished for this one.
enum TaskDone {
    Spawned(u64, Result<Box<(AgentProcess, AgentStdin, AgentStdout)>, CodedError>),
    Exited(u64, ExitNote),
    Read { session_id: String, turn: u64, attachments: Vec<PromptAttachment> },
}

/// What a task waits for, beside its process and its workers.
struct TaskInput {
    calls: mpsc::Receiver<Message>,
    jobs: mpsc::Receiver<TaskDone>,
    /// Room for one more report.
    room: mpsc::Sender<EngineReport>,
}

/// One agent, its process, and those who work for it.
struct AgentTask {
    agent: Agent,
    reports: mpsc::Sender<EngineReport>,
    place: Surroundings,
    /// For those who finish something for this one.
    done: mpsc::Sender<TaskDone>,
    running: Option<Running>,
    /// What the process wants done ends with it.
    workers: Option<Workers>,
}

/// Runs until nobody calls any more; the process is ended then.
pub(super) async fn run(
    agent: Agent,
    calls: mpsc::Receiver<Message>,
    reports: mpsc::Sender<EngineReport>,
    place: Surroundings,
) {
    let (done, jobs) = mpsc::channel(FINISHED);
    let mut incoming = TaskInput { calls, jobs, room: reports.clone() };
    let mut task = AgentTask { agent, reports, place, done, running: None, workers: None };
    loop {
        task.agent.now = Instant::now();
        task.carry_out();
        task.hand_over();
        if let Some(note) = task.whole() {
            task.running = None;
            task.agent.exited(&note);
        } else if task.wait(&mut incoming).await.is_break() {
            break;
        }
    }
    // The task that watches the process ends it, and lives as long as the runtime.
    task.end_process();
}

impl AgentTask {
    /// Takes in what comes next. Breaks when nobody calls any more, or the loop is gone.
    async fn wait(&mut self, incoming: &mut TaskInput) -> ControlFlow<()> {
        let held_back = self.agent.has_reports();
        let drained = self.running.as_ref().and_then(Running::counts_as_whole_at).filter(|_| !held_back);
        let next = [self.agent.deadline(), drained].into_iter().flatten().min();
        let reads = self.running.as_ref().is_some_and(Running::speaks) && !held_back;
        tokio::select! {
            told = incoming.calls.recv() => {
                let Some(told) = told else { return ControlFlow::Break(()) };
                self.agent.now = Instant::now();
                tell(&mut self.agent, told);
            }
            Some(finished) = incoming.jobs.recv() => {
                self.agent.now = Instant::now();
                self.take(finished);
            }
            news = next_work(&mut self.workers), if !held_back => {
                self.agent.now = Instant::now();
                match news {
                    WorkNews::Done(finished) => self.agent.work_done(finished.number, finished.outcome),
                    WorkNews::Printed(printed) => self.agent.terminal_printed(printed),
                }
            }
            permit = incoming.room.reserve(), if held_back => {
                // The loop is gone.
                let Ok(permit) = permit else { return ControlFlow::Break(()) };
                if let Some(report) = self.agent.next_report() {
                    permit.send(report);
                }
            }
            line = next_line(&mut self.running), if reads => {
                self.agent.now = Instant::now();
                self.hear(line);
            }
            () = until(next), if next.is_some() => {
                self.agent.now = Instant::now();
                self.agent.passed();
            }
        }
        ControlFlow::Continue(())
    }

    fn hear(&mut self, line: std::io::Result<Option<Line>>) {
        let Some(running) = &mut self.running else { return };
        match line {
            Ok(Some(line)) => {
                running.heard(self.agent.now);
                self.agent.heard(line);
            }
            Ok(None) | Err(_) => running.fell_silent(self.agent.now),
        }
    }

    /// Everything that the process said was heard, and it has ended.
    fn whole(&mut self) -> Option<ExitNote> {
        if self.agent.has_reports() {
            return None;
        }
        self.running.as_mut()?.whole(self.agent.now)
    }

    /// Gives the loop as many reports as it has room for.
    fn hand_over(&mut self) {
        while self.agent.has_reports() {
            match self.reports.try_reserve() {
                Ok(permit) => {
                    if let Some(report) = self.agent.next_report() {
                        permit.send(report);
                    }
                }
                Err(TrySendError::Full(()) | TrySendError::Closed(())) => return,
            }
        }
    }

    fn carry_out(&mut self) {
        while let Some(effect) = self.agent.next_effect() {
            match effect {
                Effect::Start => self.start_process(),
                Effect::Write(line) => self.write(line),
                // Without one it is still being started, and `take` ends it.
                Effect::End => self.end_process(),
                Effect::Work(order) => self.with_workers(|workers| workers.begin(order)),
                Effect::GiveUp(number) => self.with_workers(|workers| workers.give_up(number)),
                Effect::EndTerminals(session_id) => {
                    self.with_workers(|workers| workers.end_session(&session_id));
                }
                Effect::Read { session_id, turn, looked_at, attachments, takes } => {
                    self.read_attachments((session_id, turn), looked_at, attachments, takes);
                }
            }
        }
    }

    fn start_process(&self) {
        // What the user wrote for it wins.
        let mut env = self.place.keys.clone();
        env.extend(self.agent.line.env.clone());
        let command = AgentCommand {
            program: self.agent.line.program.clone(),
            args: self.agent.line.args.clone(),
            env,
            cwd: self.agent.cwd(),
            log: self.agent.log_file(),
            hide: self.place.hide.clone(),
            guard: self.place.guard.clone(),
        };
        let (done, generation) = (self.done.clone(), self.agent.process.generation());
        tokio::spawn(async move {
            let outcome = AgentProcess::spawn(&command).await.map(Box::new);
            // A task that is gone wants no process; it is ended by being dropped.
            let _ = done.send(TaskDone::Spawned(generation, outcome)).await;
        });
    }

    fn end_process(&mut self) {
        if let Some(running) = &mut self.running {
            running.end();
        }
    }

    fn write(&mut self, line: String) {
        if self.running.as_ref().is_some_and(|running| running.write(line) == Written::NoRoom) {
            self.agent.broke("reads nothing of what it is told");
        }
    }

    /// Without workers the process has ended, and `gone` forgets what it wanted.
    fn with_workers(&mut self, work: impl FnOnce(&mut Workers)) {
        if let Some(workers) = &mut self.workers {
            work(workers);
        }
    }

    fn read_attachments(
        &self,
        (session_id, turn): (String, u64),
        looked_at: Option<Answer<()>>,
        attachments: Vec<Attachment>,
        takes: PromptCapabilities,
    ) {
        let done = self.done.clone();
        tokio::spawn(async move {
            if let Some(looked_at) = looked_at {
                // A look that was given up is one that nobody waits for.
                let _ = looked_at.await;
            }
            // The agent may be gone by now.
            let _ = tokio::task::spawn_blocking(move || {
                let attachments = attachments.iter().map(|one| read(one, &takes)).collect();
                let _ = done.blocking_send(TaskDone::Read { session_id, turn, attachments });
            })
            .await;
        });
    }

    fn take(&mut self, finished: TaskDone) {
        match finished {
            TaskDone::Spawned(generation, _) if generation != self.agent.process.generation() => {}
            TaskDone::Spawned(_, Err(error)) => self.agent.started(Err(error)),
            TaskDone::Spawned(generation, Ok(spawned)) => {
                let (process, stdin, stdout) = *spawned;
                let (running, end) = Running::begin(stdin, stdout);
                tokio::spawn(watch(process, end, self.done.clone(), generation));
                let running = self.running.insert(running);
                if self.agent.process.is_ending() {
                    // It was wanted no more before it was there.
                    running.end();
                }
                self.workers = Some(Workers::new(
                    self.reports.clone(),
                    self.place.guard.clone(),
                    self.place.commands.clone(),
                ));
                self.agent.started(Ok(()));
            }
            TaskDone::Exited(generation, _) if generation != self.agent.process.generation() => {}
            TaskDone::Exited(_, note) => {
                self.workers = None;
                if let Some(running) = &mut self.running {
                    running.exited(note, self.agent.now);
                }
            }
            TaskDone::Read { session_id, turn, attachments } => {
                self.agent.attachments_read(&session_id, turn, &attachments);
            }
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn next_work(workers: &mut Option<Workers>) -> WorkNews {
    match workers {
        Some(workers) => workers.next().await,
        None => std::future::pending().await,
    }
}

async fn next_line(running: &mut Option<Running>) -> std::io::Result<Option<Line>> {
    match running {
        Some(running) => running.next_line().await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of a process, or brings it about.
async fn watch(
    mut process: AgentProcess,
    end: oneshot::Receiver<()>,
    done: mpsc::Sender<TaskDone>,
    generation: u64,
) {
    tokio::select! {
        _ = process.exited() => {}
        _ = end => process.end().await,
    }
    let note = process.exited().await;
    // A task that is gone needs no note.
    let _ = done.send(TaskDone::Exited(generation, note)).await;
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
        Message::Call(call) => called(agent, *call),
    }
}

fn called(agent: &mut Agent, call: EngineCall) {
    match call {
        EngineCall::MakeSession { session_id, wish, reply } => agent.make(session_id, wish, reply),
        EngineCall::Agent(AgentCall::Remember(session)) => agent.remember(session),
        EngineCall::StartTurn { session_id, turn, prompt, model, looked_at, history: _, memory: _ } => {
            agent.start_turn(&session_id, turn, prompt, model.map(|model| model.name), looked_at);
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
        call => call.refuse(CodedError::new(ErrorCode::Unsupported, "Agents cannot do this.")),
    }
}
