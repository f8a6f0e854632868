//! Terminals that an agent asked for: their output, their end, and that nothing is left of them.

use std::path::{Path, PathBuf};

use breadboard_ls::testing::domain::coded_error::{CodedError, ErrorCode};
use breadboard_ls::testing::engine::acp::client_side::{
    CreateTerminal, EnvVariable, Printed, TerminalExit, TerminalOutput, Terminals,
};
use breadboard_ls::testing::protocol::standing::CommandBounds;
use serde_json::json;
use tokio::sync::mpsc;

use crate::marked::Mark;

const SESSION: &str = "s";

struct Bench {
    terminals: Terminals,
    /// What they printed; nobody has to take it for a command to end.
    _printed: mpsc::Receiver<Printed>,
    mark: Mark,
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::within(CommandBounds::default())
    }

    fn within(bounds: CommandBounds) -> Self {
        let guard = PathBuf::from(env!("CARGO_BIN_EXE_breadboard-ls"));
        let (news, printed) = mpsc::channel(4_096);
        let dir = tempfile::tempdir().unwrap();
        Self { terminals: Terminals::new(guard, bounds, news), _printed: printed, mark: Mark::new(), dir }
    }

    fn line(&self, command: &str) -> CreateTerminal {
        CreateTerminal {
            command: command.to_owned(),
            env: vec![EnvVariable { name: Mark::NAME.to_owned(), value: self.mark.0.clone() }],
            ..CreateTerminal::default()
        }
    }

    async fn create(&self, params: CreateTerminal) -> String {
        self.try_create(params).await.unwrap()
    }

    /// As an agent has it: where it would run is looked up, the user allows it, it runs.
    async fn try_create(&self, params: CreateTerminal) -> Result<String, CodedError> {
        let place = Terminals::place(params.cwd.as_deref(), &[self.dir.path().to_owned()])?;
        self.terminals.create(SESSION, place, params).await
    }

    /// Waits until this was printed.
    async fn shows(&self, id: &str, wanted: &str) {
        while self.terminals.output(SESSION, id).unwrap().output != wanted {
            tokio::task::yield_now().await;
        }
    }
}

fn exit(code: u32) -> TerminalExit {
    TerminalExit { exit_code: Some(code), signal: None }
}

fn killed() -> TerminalExit {
    TerminalExit { exit_code: None, signal: Some("SIGKILL".to_owned()) }
}

fn params(value: serde_json::Value) -> CreateTerminal {
    serde_json::from_value(value).unwrap()
}

#[tokio::test]
async fn c_a_terminal_runs_a_program_or_a_line_and_keeps_the_order_of_both_streams() {
    let bench = Bench::new();
    for (params, wanted) in [
        (
            params(
                json!({ "sessionId": "x", "command": "sh", "args": ["-c", "echo a; echo b >&2; echo c; exit 3"] }),
            ),
            "a\nb\nc\n",
        ),
        (
            params(
                json!({ "command": "echo a; echo b >&2; echo $X; cat; exit 3", "env": [{ "name": "X", "value": "c" }] }),
            ),
            "a\nb\nc\n",
        ),
    ] {
        let id = bench.create(params).await;
        assert_eq!(bench.terminals.wait_for_exit(SESSION, &id).await, Ok(exit(3)));
        let shown = bench.terminals.output(SESSION, &id).unwrap();
        assert_eq!(
            shown,
            TerminalOutput { output: wanted.to_owned(), truncated: false, exit_status: Some(exit(3)) }
        );
        assert_eq!(
            serde_json::to_value(&shown).unwrap(),
            json!({ "output": wanted, "truncated": false, "exitStatus": { "exitCode": 3, "signal": null } })
        );
    }
}

#[tokio::test]
async fn c_the_output_is_seen_while_the_command_runs_and_its_beginning_gives_way() {
    let bench = Bench::new();
    let flood = "head -c 3000000 /dev/zero | tr '\\0' x; printf 'é€'; cat fifo";
    std::process::Command::new("mkfifo").arg(bench.dir.path().join("fifo")).status().unwrap();
    let id = bench.create(CreateTerminal { output_byte_limit: Some(6), ..bench.line(flood) }).await;
    bench.shows(&id, "xé€").await;
    let running = bench.terminals.output(SESSION, &id).unwrap();
    assert_eq!((running.truncated, running.exit_status), (true, None));
    // The command ends when the pipe does.
    std::fs::write(bench.dir.path().join("fifo"), "ab").unwrap();
    assert_eq!(bench.terminals.wait_for_exit(SESSION, &id).await, Ok(exit(0)));
    assert_eq!(bench.terminals.output(SESSION, &id).unwrap().output, "€ab");
    let without_limit = bench.create(bench.line("head -c 3000000 /dev/zero | tr '\\0' x")).await;
    bench.terminals.wait_for_exit(SESSION, &without_limit).await.unwrap();
    let shown = bench.terminals.output(SESSION, &without_limit).unwrap();
    assert_eq!((shown.output.len(), shown.truncated), (1 << 20, true));
}

#[tokio::test]
async fn r002_92_a_command_of_an_agent_has_no_more_memory_and_processor_time_than_one_of_ours() {
    let bench =
        Bench::within(CommandBounds { memory_mebibytes: 64, cpu_seconds: 1, ..CommandBounds::default() });
    // Given a line and a program that want more memory than they may have
    let line = "dd if=/dev/zero of=/dev/null bs=200M count=1 2>/dev/null; echo code $?; ulimit -d unlimited 2>/dev/null || echo kept";
    let program = json!({ "command": "dd", "args": ["if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"] });
    // Then they do not get it, and cannot raise the bound
    let id = bench.create(bench.line(line)).await;
    bench.terminals.wait_for_exit(SESSION, &id).await.unwrap();
    assert_eq!(bench.terminals.output(SESSION, &id).unwrap().output, "code 1\nkept\n");
    let id = bench.create(params(program)).await;
    assert_eq!(bench.terminals.wait_for_exit(SESSION, &id).await, Ok(exit(1)));
    // And what computes for longer than it may is killed
    let id = bench.create(bench.line("while :; do :; done")).await;
    let ended = bench.terminals.wait_for_exit(SESSION, &id).await.unwrap();
    assert!(ended == killed() || ended == exit(137), "{ended:?}");
}

#[tokio::test]
async fn r002_92_a_command_of_an_agent_ends_with_its_time_and_says_so() {
    // Given a command that has a second, and that leaves something running which does not want to end
    let bench = Bench::within(CommandBounds { timeout_seconds: 1, ..CommandBounds::default() });
    let id = bench.create(bench.line(&format!("trap '' TERM; {STUBBORN}"))).await;
    // When nobody ends it
    let ended = bench.terminals.wait_for_exit(SESSION, &id).await.unwrap();
    // Then it is gone with all that it started, and whoever reads its output sees why
    assert_eq!(ended, killed());
    assert!(bench.mark.alive().is_empty(), "{:?}", bench.mark.alive());
    let shown = bench.terminals.output(SESSION, &id).unwrap();
    assert_eq!(
        shown.output,
        "up\n\n[breadboard-ls ended this command after 1 s, which is as long as a command may take here]\n"
    );
}

/// It has a child that ignores TERM in a session of its own.
const STUBBORN: &str = "setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 600; done'; echo never";

#[tokio::test]
async fn c_a_killed_terminal_keeps_its_output_and_nothing_of_it_runs() {
    let bench = Bench::new();
    let id = bench.create(bench.line(&format!("trap '' TERM; {STUBBORN}"))).await;
    bench.shows(&id, "up\n").await;
    bench.terminals.kill(SESSION, &id).await.unwrap();
    assert!(bench.mark.alive().is_empty(), "{:?}", bench.mark.alive());
    let shown = bench.terminals.output(SESSION, &id).unwrap();
    assert_eq!(
        shown,
        TerminalOutput { output: "up\n".into(), truncated: false, exit_status: Some(killed()) }
    );
    bench.terminals.release(SESSION, &id).unwrap();
    for refused in [
        bench.terminals.output(SESSION, &id).map(drop),
        bench.terminals.kill(SESSION, &id).await,
        bench.terminals.release(SESSION, &id),
        bench.terminals.wait_for_exit(SESSION, &id).await.map(drop),
    ] {
        assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
    }
}

#[tokio::test]
async fn c_a_terminal_dies_with_its_release_its_session_and_its_agent() {
    let release = |bench: &mut Bench, id: &str| bench.terminals.release(SESSION, id).unwrap();
    let session = |bench: &mut Bench, _: &str| bench.terminals.end_session(SESSION);
    let agent = |bench: &mut Bench, _: &str| {
        let none = Terminals::new(PathBuf::new(), CommandBounds::default(), mpsc::channel(1).0);
        drop(std::mem::replace(&mut bench.terminals, none));
    };
    type End<'a> = &'a dyn Fn(&mut Bench, &str);
    for end in [&release as End<'_>, &session, &agent] {
        let mut bench = Bench::new();
        let id = bench.create(bench.line(STUBBORN)).await;
        bench.shows(&id, "up\n").await;
        assert_eq!(bench.terminals.output("other", &id).unwrap_err().code, ErrorCode::NotFound);
        end(&mut bench, &id);
        // The task that has the process is let go by the runtime.
        while bench.mark.alive().len() > 2 {
            tokio::task::yield_now().await;
        }
        bench.mark.assert_gone();
    }
}

#[tokio::test]
async fn r000_36_a_terminal_runs_in_a_folder_of_the_session_only() {
    let bench = Bench::new();
    let inside = bench.dir.path().join("d");
    std::fs::create_dir(&inside).unwrap();
    std::os::unix::fs::symlink("/etc", bench.dir.path().join("out")).unwrap();
    let id = bench.create(CreateTerminal { cwd: Some(inside.clone()), ..bench.line("pwd -P") }).await;
    bench.terminals.wait_for_exit(SESSION, &id).await.unwrap();
    let shown = bench.terminals.output(SESSION, &id).unwrap().output;
    assert_eq!(Path::new(shown.trim()), inside.canonicalize().unwrap());
    for (cwd, code) in [
        ("out", ErrorCode::PathOutsideWorkspace),
        ("d/../..", ErrorCode::PathOutsideWorkspace),
        ("none", ErrorCode::NotFound),
    ] {
        let params = CreateTerminal { cwd: Some(bench.dir.path().join(cwd)), ..bench.line("pwd") };
        let refused = bench.try_create(params).await.unwrap_err();
        assert_eq!(refused.code, code, "{cwd}");
    }
    let relative = CreateTerminal { cwd: Some(PathBuf::from(".")), ..bench.line("pwd") };
    let refused = bench.try_create(relative).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::PathOutsideWorkspace);
    let missing = bench.try_create(bench.line("no-such-program")).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn r000_36_a_terminal_runs_in_the_directory_that_was_shown_or_not_at_all() {
    let bench = Bench::new();
    let (inside, outside) = (bench.dir.path().join("d"), tempfile::tempdir().unwrap());
    std::fs::create_dir(&inside).unwrap();
    let folders = [bench.dir.path().to_owned()];
    // Given a place that the user was shown
    let place = Terminals::place(Some(&inside), &folders).unwrap();
    assert_eq!(place.path(), inside.canonicalize().unwrap());
    // When a link takes its place before the command starts
    std::fs::rename(&inside, bench.dir.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(outside.path(), &inside).unwrap();
    let refused = bench.terminals.create(SESSION, place, bench.line("touch ran")).await.unwrap_err();
    // Then nothing runs, neither there nor in the place that was meant
    assert_eq!(refused.code, ErrorCode::Conflict, "{refused:?}");
    assert!(!outside.path().join("ran").exists() && !bench.dir.path().join("moved/ran").exists());
}

#[tokio::test]
async fn c_a_session_has_so_many_terminals_and_no_more() {
    let bench = Bench::new();
    let mut last = String::new();
    for _ in 0..32 {
        last = bench.create(bench.line("true")).await;
    }
    let refused = bench.try_create(bench.line("true")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Overloaded);
    bench.terminals.release(SESSION, &last).unwrap();
    bench.create(bench.line("true")).await;
}
