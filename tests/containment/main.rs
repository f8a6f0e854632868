//! An agent and all that it starts die with us: real processes under the real guardians, whoever is killed.
//!
//! Where orphans fall to a guardian, that is on Linux.
#![cfg(target_os = "linux")]

mod marked;
#[path = "../e2e/harness/own_time.rs"]
mod own_time;
mod terminals;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use breadboard_ls::testing::domain::coded_error::ErrorCode;
use breadboard_ls::testing::engine::acp::process::{
    AgentCommand, AgentProcess, AgentStdin, AgentStdout, Cwd, ExitNote, Secrets,
};
use marked::Mark;
use own_time::OwnTime;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

/// An agent with a child that ignores TERM, one in a session of its own that ignores it too, one that lost its parent and has a
/// session of its own, and that itself ignores TERM and the end of its stdin. Each says `up` when it is.
const STUBBORN: &str = r#"
(trap '' TERM; echo up; while :; do sleep 600; done) &
setsid sh -c 'trap "" TERM HUP; echo up; while :; do sleep 600; done' &
(setsid sh -c 'trap "" TERM; echo up; while :; do sleep 600; done' & exit 0)
trap '' TERM
echo up
cat > /dev/null
while :; do sleep 600; done
"#;
const UPS: usize = 4;

fn command(mark: &Mark, script: &str) -> AgentCommand {
    AgentCommand {
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: [(Mark::NAME.to_owned(), mark.0.clone())].into(),
        cwd: Cwd::Path(std::env::temp_dir()),
        log: None,
        hide: Secrets::default(),
        guard: PathBuf::from(env!("CARGO_BIN_EXE_breadboard-ls")),
    }
}

struct Running {
    agent: AgentProcess,
    stdin: AgentStdin,
    stdout: BufReader<AgentStdout>,
}

async fn started(command: &AgentCommand) -> Running {
    let (agent, stdin, stdout) = AgentProcess::spawn(command).await.unwrap();
    Running { agent, stdin, stdout: BufReader::new(stdout) }
}

impl Running {
    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).await.unwrap();
        line
    }
}

async fn stubborn(mark: &Mark) -> Running {
    let mut running = started(&command(mark, STUBBORN)).await;
    for _ in 0..UPS {
        assert_eq!(running.line().await, "up\n");
    }
    // Two guardians, four shells and what they wait for.
    assert!(mark.alive().len() >= UPS + 2, "{:?}", mark.alive());
    running
}

fn killed(signal: i32) -> ExitNote {
    ExitNote { code: None, signal: Some(signal), stderr_tail: String::new() }
}

#[tokio::test]
async fn c5_end_leaves_nothing_of_an_agent_that_does_not_want_to_end() {
    let mark = Mark::new();
    let mut running = stubborn(&mark).await;
    let mut time = OwnTime::of_programs();
    running.agent.end().await;
    assert!(mark.alive().is_empty(), "{:?}", mark.alive());
    let took = time.taken();
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(running.agent.exited().await, killed(9));
}

#[tokio::test]
async fn c5_an_agent_that_ends_at_the_end_of_its_stdin_is_not_signalled() {
    let mark = Mark::new();
    let script = "trap 'echo signalled >&2; exit 9' TERM; echo up; cat; echo bye >&2; exit 4";
    let mut running = started(&command(&mark, script)).await;
    assert_eq!(running.line().await, "up\n");
    running.stdin.write_all(b"said\n").await.unwrap();
    assert_eq!(running.line().await, "said\n");
    let mut time = OwnTime::of_programs();
    running.agent.end().await;
    let took = time.taken();
    assert!(took < Duration::from_millis(900), "it was not waited for: {took:?}");
    let note = ExitNote { code: Some(4), signal: None, stderr_tail: "bye\n".to_owned() };
    assert_eq!(running.agent.exited().await, note);
    assert!(mark.alive().is_empty(), "{:?}", mark.alive());
    assert!(running.stdin.write_all(b"late\n").await.is_err());
}

#[tokio::test]
async fn c5_end_closes_a_stdin_that_somebody_is_writing_to() {
    let mark = Mark::new();
    let Running { mut agent, mut stdin, mut stdout } =
        started(&command(&mark, "echo up; exec sleep 600")).await;
    assert_eq!(stdout.read_u8().await.unwrap(), b'u');
    let writer = tokio::spawn(async move { stdin.write_all(&vec![b'x'; 1 << 20]).await });
    agent.end().await;
    assert_eq!(writer.await.unwrap().unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
    mark.assert_gone();
}

#[tokio::test]
async fn c5_dropping_kills_all_at_once() {
    let mark = Mark::new();
    let running = stubborn(&mark).await;
    let mut time = OwnTime::of_programs();
    drop(running);
    mark.assert_gone();
    let took = time.taken();
    assert!(took < Duration::from_millis(900), "somebody was asked first: {took:?}");
}

#[tokio::test]
async fn c5_a_process_that_never_stops_forking_away_is_caught() {
    let mark = Mark::new();
    // Each process of the chain lives only until it has made the next one.
    let mut running = started(&command(&mark, "hop() { hop & }; hop; echo up; exec cat")).await;
    assert_eq!(running.line().await, "up\n");
    let since = Instant::now();
    drop(running);
    mark.assert_gone_since(since);
}

#[tokio::test]
async fn c5_what_a_killed_agent_leaves_running_is_ended() {
    let mark = Mark::new();
    let mut running = stubborn(&mark).await;
    let since = Instant::now();
    rustix::process::kill_process(Pid::from_raw(running.agent.pid()).unwrap(), Signal::KILL).unwrap();
    assert_eq!(running.agent.exited().await, killed(9));
    mark.assert_gone_since(since);
}

#[tokio::test]
async fn c5_what_an_agent_leaves_running_at_its_own_end_is_ended_and_its_last_words_are_kept() {
    let mark = Mark::new();
    let script = "(trap '' TERM; while :; do sleep 600; done) & echo 'model: gone' >&2; exit 7";
    let mut running = started(&command(&mark, script)).await;
    let note = ExitNote { code: Some(7), signal: None, stderr_tail: "model: gone\n".to_owned() };
    assert_eq!(running.agent.exited().await, note);
    mark.assert_gone();
}

#[tokio::test]
async fn c5_a_killed_outer_guardian_takes_all_with_it() {
    let mark = Mark::new();
    let mut running = stubborn(&mark).await;
    let since = Instant::now();
    mark.outer().kill();
    assert_eq!(running.agent.exited().await, killed(9));
    mark.assert_gone_since(since);
}

#[tokio::test]
async fn c5_a_killed_inner_guardian_takes_all_with_it() {
    let mark = Mark::new();
    let mut running = stubborn(&mark).await;
    let since = Instant::now();
    mark.inner().kill();
    assert_eq!(running.agent.exited().await, killed(9));
    mark.assert_gone_since(since);
}

#[tokio::test]
async fn c5_a_guardian_that_was_stopped_keeps_nothing_alive() {
    for guardian in [Mark::outer, Mark::inner] {
        let mark = Mark::new();
        let mut running = stubborn(&mark).await;
        rustix::process::kill_process(guardian(&mark).pid, Signal::STOP).unwrap();
        running.agent.end().await;
        mark.assert_gone();
    }
}

#[tokio::test]
async fn c5_both_guardians_killed_leave_nothing_while_the_server_lives() {
    let mark = Mark::new();
    let mut running = stubborn(&mark).await;
    let since = Instant::now();
    let (outer, inner) = (mark.outer(), mark.inner());
    outer.kill();
    inner.kill();
    assert_eq!(running.agent.exited().await, killed(9));
    mark.assert_gone_since(since);
}

#[tokio::test]
async fn c5_stopped_guardians_are_seen_by_the_server_itself() {
    for guardians in [vec![Mark::outer as fn(&Mark) -> _], vec![Mark::inner], vec![Mark::outer, Mark::inner]]
    {
        let mark = Mark::new();
        let mut running = stubborn(&mark).await;
        let since = Instant::now();
        for guardian in &guardians {
            rustix::process::kill_process(guardian(&mark).pid, Signal::STOP).unwrap();
        }
        // Nobody orders anything: the overseer looks by itself.
        assert_eq!(running.agent.exited().await, killed(9));
        mark.assert_gone_since(since);
    }
}

#[tokio::test]
async fn c5_one_guardian_stopped_and_the_other_killed_leave_nothing() {
    type Pick = fn(&Mark) -> marked::Process;
    for (stopped, dead) in [(Mark::inner as Pick, Mark::outer as Pick), (Mark::outer, Mark::inner)] {
        let mark = Mark::new();
        let mut running = stubborn(&mark).await;
        let since = Instant::now();
        let dead = dead(&mark);
        rustix::process::kill_process(stopped(&mark).pid, Signal::STOP).unwrap();
        dead.kill();
        assert_eq!(running.agent.exited().await, killed(9));
        mark.assert_gone_since(since);
    }
}

#[tokio::test]
async fn c5_a_guardian_that_goes_on_in_time_keeps_its_agent() {
    let mark = Mark::new();
    let mut running = started(&command(&mark, "echo up; cat")).await;
    assert_eq!(running.line().await, "up\n");
    for guardian in [mark.outer(), mark.inner()] {
        rustix::process::kill_process(guardian.pid, Signal::STOP).unwrap();
        rustix::process::kill_process(guardian.pid, Signal::CONT).unwrap();
    }
    running.stdin.write_all(b"said\n").await.unwrap();
    assert_eq!(running.line().await, "said\n");
    running.agent.end().await;
    assert_eq!(running.agent.exited().await.code, Some(0));
    mark.assert_gone();
}

#[tokio::test]
async fn r000_36_an_agent_starts_in_the_folder_that_was_opened_or_not_at_all() {
    let (mark, parent) = (Mark::new(), tempfile::tempdir().unwrap());
    let (folder, outside) = (parent.path().join("ws"), parent.path().join("outside"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(&outside).unwrap();
    let command = AgentCommand { cwd: Cwd::open(folder.clone()), ..command(&mark, "pwd -P; cat") };
    let mut running = started(&command).await;
    assert_eq!(running.line().await.trim(), folder.canonicalize().unwrap().to_str().unwrap());
    running.agent.end().await;
    std::fs::rename(&folder, parent.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(&outside, &folder).unwrap();
    let refused = AgentProcess::spawn(&command).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict, "{refused:?}");
    assert!(refused.message.contains("was replaced since it was opened"), "{refused:?}");
    mark.assert_gone();
}

#[tokio::test]
async fn c5_an_agent_killed_together_with_a_guardian_leaves_nothing() {
    for guardian in [Mark::outer, Mark::inner] {
        let mark = Mark::new();
        let mut running = stubborn(&mark).await;
        let since = Instant::now();
        let agent = Pid::from_raw(running.agent.pid()).unwrap();
        guardian(&mark).kill();
        let _ = rustix::process::kill_process(agent, Signal::KILL);
        assert_eq!(running.agent.exited().await, killed(9));
        mark.assert_gone_since(since);
    }
}

const STAND_IN: &str = "CONTAINED_STAND_IN";

/// Not a test: a server with one agent, to be killed.
#[tokio::test]
#[ignore = "started by the tests that kill it"]
async fn stand_in() {
    let Ok(mark) = std::env::var(STAND_IN) else { return };
    let _running = stubborn(&Mark(mark)).await;
    println!("\nstanding");
    std::future::pending::<()>().await;
}

fn server(mark: &Mark) -> std::process::Child {
    use std::os::unix::process::CommandExt;
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["stand_in", "--exact", "--ignored", "--nocapture"])
        .env(STAND_IN, &mark.0)
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = std::io::BufReader::new(server.stdout.take().unwrap());
    assert!(stdout.lines().map_while(Result::ok).any(|line| line == "standing"));
    server
}

#[test]
fn c5_a_killed_server_takes_its_agents_with_it() {
    let mark = Mark::new();
    let mut server = server(&mark);
    let since = Instant::now();
    server.kill().unwrap();
    server.wait().unwrap();
    mark.assert_gone_since(since);
}

#[test]
fn c5_a_server_killed_with_its_whole_process_group_takes_its_agents_with_it() {
    let mark = Mark::new();
    let mut server = server(&mark);
    let since = Instant::now();
    kill_process_group(Pid::from_child(&server), Signal::KILL).unwrap();
    server.wait().unwrap();
    mark.assert_gone_since(since);
}

#[test]
fn c5_a_server_killed_together_with_a_guardian_takes_its_agents_with_it() {
    for guardian in [Mark::outer, Mark::inner] {
        let mark = Mark::new();
        let mut server = server(&mark);
        let guardian = guardian(&mark);
        let since = Instant::now();
        guardian.kill();
        server.kill().unwrap();
        server.wait().unwrap();
        mark.assert_gone_since(since);
    }
}

#[tokio::test]
async fn c5_a_flood_on_stderr_neither_blocks_the_agent_nor_fills_the_disk() {
    let (mark, dir) = (Mark::new(), tempfile::tempdir().unwrap());
    let log = dir.path().join("logs/agent.log");
    let script =
        "head -c 20000000 /dev/zero | tr '\\0' 'x' | fold -w 99 >&2; echo >&2; echo last >&2; echo done; cat";
    let command = AgentCommand { log: Some(log.clone()), ..command(&mark, script) };
    let mut running = started(&command).await;
    assert_eq!(running.line().await, "done\n");
    running.agent.end().await;
    let tail = running.agent.exited().await.stderr_tail;
    assert_eq!((tail.len(), tail.ends_with("\nlast\n")), (4_096, true), "{tail}");
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();
    assert!(size(&log) <= 4 << 20);
    let mut names: Vec<_> =
        std::fs::read_dir(log.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["agent.log", "agent.log.1"]);
}

#[tokio::test]
async fn c5_no_token_and_nothing_of_ours_is_in_the_environment_of_an_agent_or_its_guardians() {
    // Given a server with secrets, whose agent was given one of its own
    let mark = Mark::new();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["says_its_environment", "--exact", "--ignored", "--nocapture"])
        .env(STAND_IN, &mark.0)
        .envs([("BREADBOARD_API_TOKEN", "t0ken-a"), ("GITHUB_TOKEN", "t0ken-b"), ("HARMLESS", "seen")])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    // Then all three processes have what is theirs and nothing else; values of this machine stay out of what a failure prints
    let times = |wanted: &str| said.lines().filter(|line| *line == wanted).count();
    assert_eq!((times("HARMLESS=seen"), times("OPENAI_API_KEY=given")), (3, 3));
    assert!(!said.contains("t0ken"), "a token was handed on");
    // Of ours there is the mark alone by which our own program knows that an agent of ours started it
    let ours: Vec<&str> = said.lines().filter(|line| line.starts_with("BREADBOARD_")).collect();
    assert_eq!(ours, ["BREADBOARD_INSIDE_AGENT=1"; 3]);
}

#[tokio::test]
#[ignore = "started by the test that looks at its environment"]
async fn says_its_environment() {
    let Ok(mark) = std::env::var(STAND_IN).map(Mark) else { return };
    // The shell stays what it is: a process that turns into another program has no environment to be read for a moment.
    let mut command = command(&mark, "echo up; read -r _");
    command.env.insert("OPENAI_API_KEY".to_owned(), "given".to_owned());
    let mut running = started(&command).await;
    assert_eq!(running.line().await, "up\n");
    println!();
    for process in mark.alive() {
        for line in process.environment() {
            println!("{line}");
        }
    }
}

#[tokio::test]
async fn c5_what_cannot_be_started_is_said_in_a_sentence_and_leaves_nothing() {
    let mark = Mark::new();
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let given = |program: &str, cwd: &Path| AgentCommand {
        program: program.to_owned(),
        cwd: Cwd::Path(cwd.to_owned()),
        ..command(&mark, "")
    };
    for (command, words) in [
        (given("no-such-agent", dir.path()), "`no-such-agent` was not found"),
        (given(plain.to_str().unwrap(), dir.path()), "may not be run"),
        (given("sh", &dir.path().join("gone")), "does not exist"),
    ] {
        let refused = AgentProcess::spawn(&command).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound, "{refused:?}");
        assert!(refused.message.contains(words), "{refused:?}");
    }
    mark.assert_gone();
}
