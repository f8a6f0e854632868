//! Programs that do not want to end: what a command of the model and what an agent may start, stop and kill, against every way
//! in which its time can be over. Nothing of it may live 3 s later, and the server answers another session meanwhile.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::own_time::OwnTime;
use crate::harness::{Options, Server};
use crate::limits::{Random, assert_answers, assert_memory, attempts, seed};
use crate::model::{Model, calls, says};

/// From the end of its time to the end of its last process.
const WITHIN: Duration = Duration::from_secs(3);

/// How long a program may take until it has done what it wants to do.
const READY: Duration = Duration::from_secs(20);

const BINARY: &str = env!("CARGO_BIN_EXE_breadboard-ls");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Command,
    Agent,
}

/// How a tree is hidden. The script of each runs in `sh`; `$LOOP` never ends, `$I` and `$O` are the guardians, `ready` tells the
/// test that it may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    DoubleFork,
    Setsid,
    SetsidAndWait,
    Nohup,
    IgnoresSignals,
    ClearedEnvironment,
    StoppedItself,
    Subreaper,
    OwnPidNamespace,
    ForkChain,
    FiveHundredChildren,
    KillsBothGuardians,
    StopsBothGuardians,
    StopsInnerKillsOuter,
    StopsOuterKillsInner,
    StopsAndContinuesGuardians,
}

use Shape::*;

const SHAPES: [Shape; 17] = [
    Plain,
    DoubleFork,
    Setsid,
    SetsidAndWait,
    Nohup,
    IgnoresSignals,
    ClearedEnvironment,
    StoppedItself,
    Subreaper,
    OwnPidNamespace,
    ForkChain,
    FiveHundredChildren,
    KillsBothGuardians,
    StopsBothGuardians,
    StopsInnerKillsOuter,
    StopsOuterKillsInner,
    StopsAndContinuesGuardians,
];

impl Shape {
    fn script(self) -> &'static str {
        match self {
            Plain => "ready",
            DoubleFork => "(sh -c \"$LOOP\" & exit 0); ready",
            Setsid => "setsid sh -c \"$LOOP\" & ready",
            SetsidAndWait => "(sleep 0.1; ready) & setsid -w sh -c \"$UNTIL_END\"",
            Nohup => "nohup sh -c \"$LOOP\" > nohup.txt 2>&1 & ready",
            IgnoresSignals => {
                "trap '' TERM HUP INT QUIT; (setsid sh -c \"trap '' TERM HUP; $LOOP\" & exit 0); ready"
            }
            ClearedEnvironment => "(setsid env -i PATH=\"$PATH\" sh -c \": $MARK; $LOOP\" & exit 0); ready",
            StoppedItself => "setsid sh -c \"kill -STOP \\$\\$; $LOOP\" & ready",
            Subreaper => {
                "MISBEHAVES=1 \"$TEST\" processes::misbehaves --exact --ignored & wait_for reaper; ready"
            }
            OwnPidNamespace => {
                "(unshare -p -f setsid sh -c \"$LOOP\" || setsid sh -c \"$LOOP\") 2> unshare.txt & ready"
            }
            ForkChain => "hop() { hop & }; hop; ready",
            FiveHundredChildren => "i=0; while [ $i -lt 500 ]; do sleep 600 & i=$((i+1)); done; ready",
            KillsBothGuardians => {
                "(setsid env -i PATH=\"$PATH\" sh -c \": $MARK; $LOOP\" & exit 0); ready; kill -9 $O $I"
            }
            StopsBothGuardians => "setsid sh -c \"$LOOP\" & kill -STOP $O $I; ready",
            StopsInnerKillsOuter => "setsid sh -c \"$LOOP\" & ready; kill -STOP $I; kill -9 $O",
            StopsOuterKillsInner => "setsid sh -c \"$LOOP\" & ready; kill -STOP $O; kill -9 $I",
            StopsAndContinuesGuardians => {
                "setsid sh -c \"$LOOP\" & kill -STOP $O $I; sleep 0.1; kill -CONT $O $I; ready"
            }
        }
    }

    /// The server ends the tree at once, whatever else happens. Were the server killed in the same instant, only a cgroup's owner
    /// could end what lives: that is stated, and not tried.
    fn ends_by_the_server(self) -> bool {
        matches!(self, KillsBothGuardians | StopsInnerKillsOuter | StopsOuterKillsInner)
    }
}

/// How the time of a tree is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    OwnEnd,
    /// `bb/stop` for a command, `bb/tab/close` for an agent.
    Stop,
    /// Of an agent; a command is stopped.
    Restart,
    Exit,
    StdinClosed,
    Term,
    Hangup,
    KillServer,
    KillOuter,
    KillInner,
}

use Way::*;

const WAYS: [Way; 10] =
    [OwnEnd, Stop, Restart, Exit, StdinClosed, Term, Hangup, KillServer, KillOuter, KillInner];

impl Way {
    fn ends_the_server(self) -> bool {
        match self {
            Exit | StdinClosed | Term | Hangup | KillServer => true,
            OwnEnd | Stop | Restart | KillOuter | KillInner => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cgroup {
    WhereOneCanBeHad,
    Off,
}

type Try = (Who, Shape, Way, Cgroup);

/// What lived on before commands ran under guardians and the server watched over these: always tried.
const ALWAYS: [Try; 14] = [
    (Who::Command, Plain, Exit, Cgroup::Off),
    (Who::Command, Plain, KillServer, Cgroup::Off),
    (Who::Command, DoubleFork, StdinClosed, Cgroup::Off),
    (Who::Command, Setsid, OwnEnd, Cgroup::Off),
    (Who::Command, SetsidAndWait, Stop, Cgroup::Off),
    (Who::Command, Nohup, Term, Cgroup::Off),
    (Who::Command, ClearedEnvironment, Hangup, Cgroup::WhereOneCanBeHad),
    (Who::Command, KillsBothGuardians, Stop, Cgroup::Off),
    (Who::Command, StopsBothGuardians, OwnEnd, Cgroup::Off),
    (Who::Agent, KillsBothGuardians, StdinClosed, Cgroup::Off),
    (Who::Agent, StopsBothGuardians, KillServer, Cgroup::Off),
    (Who::Agent, StopsBothGuardians, Restart, Cgroup::Off),
    (Who::Agent, StopsInnerKillsOuter, Exit, Cgroup::Off),
    (Who::Agent, StopsOuterKillsInner, Stop, Cgroup::WhereOneCanBeHad),
];

const FULL: usize = 100;

/// The tries of this run: those of `ALWAYS`, and then any others.
fn tries() -> Vec<Try> {
    let mut random = Random(seed("containment"));
    let mut others = Vec::new();
    for who in [Who::Command, Who::Agent] {
        for shape in SHAPES {
            for way in WAYS.into_iter().filter(|way| who == Who::Agent || *way != Restart) {
                let cgroup = if random.below(2) == 0 { Cgroup::Off } else { Cgroup::WhereOneCanBeHad };
                others.push((who, shape, way, cgroup));
            }
        }
    }
    for at in (1..others.len()).rev() {
        others.swap(at, random.below(at + 1));
    }
    let mut chosen = ALWAYS.to_vec();
    chosen.extend(
        others
            .into_iter()
            .filter(|(who, shape, way, _)| !ALWAYS.iter().any(|(w, s, y, _)| (w, s, y) == (who, shape, way))),
    );
    chosen.truncate(attempts(FULL).max(ALWAYS.len()));
    chosen
}

#[test]
fn nothing_that_a_command_or_an_agent_starts_outlives_its_time() {
    let tries = tries();
    let mut failed = Vec::new();
    for one in &tries {
        let begun = Instant::now();
        let outcome = std::panic::catch_unwind(|| attempt(*one));
        println!("{one:?}: {} in {:?}", if outcome.is_ok() { "gone" } else { "FAILED" }, begun.elapsed());
        if outcome.is_err() {
            failed.push(one);
        }
    }
    println!("containment: {} tries, {} failed", tries.len(), failed.len());
    assert!(failed.is_empty(), "{failed:#?}");
}

fn attempt((who, shape, way, cgroup): Try) {
    let during = format!("{who:?} {shape:?} {way:?} {cgroup:?}");
    let mark = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap().trim().to_owned();
    let model =
        Model::start(vec![calls("run_command", json!({ "command": "sh shape.sh", "reason": "to see" }))]);
    for _ in 0..3 {
        model.then(says("done"));
    }
    let mut options = match who {
        Who::Command => model.chosen(true),
        Who::Agent => agent(),
    };
    if cgroup == Cgroup::Off {
        options = options.env("BREADBOARD_LS_CGROUP", "off");
    }
    let mut server = Server::ready(options);
    let place = server.workspace.path().to_owned();
    std::fs::write(place.join("shape.sh"), shape_script(shape, who, &mark)).unwrap();
    let session = start(&mut server, who);
    let tree = Tree::when_ready(&place, &mark);
    if shape.ends_by_the_server() {
        tree.assert_gone_since(Instant::now(), &during);
        assert_no_cgroup_of(server.pid(), &during);
    } else {
        assert!(!tree.alive().is_empty(), "{during}: nothing was started");
    }
    assert_answers(&mut server, &during);
    let since = Instant::now();
    bring_about(way, who, &mut server, &session, &tree, &place);
    tree.assert_gone_since(since, &during);
    if !way.ends_the_server() {
        assert_answers(&mut server, &during);
        assert_memory(&server, &during);
        server.assert_alive();
    }
    let pid = server.pid();
    if way.ends_the_server() {
        drop(server);
    } else {
        // What a killed server leaves behind is removed by the next one; an orderly one leaves nothing.
        server.shut_down();
    }
    assert_no_cgroup_of(pid, &during);
}

fn shape_script(shape: Shape, who: Who, mark: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let at_end = match who {
        Who::Command => "exit 0",
        Who::Agent => "[ -z \"$A\" ] || kill -9 $A",
    };
    format!(
        r#"export MARK={mark} CONTAINED_MARK={mark} TEST='{}'
export LOOP='while :; do sleep 600; done'
export UNTIL_END='while [ ! -e end ]; do sleep 0.05; done'
# Without a guardian above it no process is named: those further up are not the test's.
p=$$ below=$$ I= O= A=
while [ "$p" -gt 1 ]; do
  read -r _ name _ above _ < /proc/$p/stat
  if [ "$name" = "(bb-guard)" ]; then I=$p O=$above A=$below; break; fi
  below=$p p=$above
done
ready() {{ echo "${{I:-0}} ${{O:-0}} ${{A:-0}}" > ready.new; mv ready.new ready; }}
wait_for() {{ while [ ! -e "$1" ]; do sleep 0.05; done; }}
{}
eval "$UNTIL_END"
{at_end}
"#,
        test.display(),
        shape.script(),
    )
}

/// An agent whose process is a shell that starts the shape, once, and then becomes an agent that answers.
fn agent() -> Options {
    let script = json!([{ "chunk": "hello" }]).to_string();
    let line = format!(
        "[ -e ready ] || sh shape.sh > /dev/null 2>&1 < /dev/null & exec '{BINARY}' simulate acp --script '{script}'"
    );
    let agents = json!({ "sim": { "command": "sh", "args": ["-c", line] } });
    let options = json!({ "workspaceTrusted": true, "agents": agents });
    Options { options, ..Options::default() }
}

const TAB: &str = "00000000-0000-4000-8000-000000000001";
const MESSAGE: &str = "00000000-0000-4000-8000-000000000011";

/// Has the shape run; gives the session of a command.
fn start(server: &mut Server, who: Who) -> String {
    match who {
        Who::Command => {
            let session = server.session();
            server.prompt(&session, "run it");
            let ask = server.wait_ask(&session);
            server.decide(&session, &ask, "allow_once");
            session
        }
        Who::Agent => {
            server.ask("bb/init", json!({}));
            server.ask("bb/tab/open", json!({ "tabId": TAB, "agent": "sim" }));
            server.ask("bb/tab/prompt", json!({ "tabId": TAB, "messageId": MESSAGE, "text": "go" }));
            String::new()
        }
    }
}

fn bring_about(way: Way, who: Who, server: &mut Server, session: &str, tree: &Tree, place: &Path) {
    let server_gets = |server: &Server, signal| {
        kill_process(Pid::from_raw(server.pid().cast_signed()).unwrap(), signal).unwrap();
    };
    match (way, who) {
        (OwnEnd, _) => std::fs::write(place.join("end"), "").unwrap(),
        (Stop, Who::Command) => {
            server.ask("bb/stop", json!({ "sessionId": session }));
        }
        (Stop, Who::Agent) => {
            server.ask("bb/tab/close", json!({ "tabId": TAB }));
        }
        // The new process is made behind the end of the old one; nobody needs to wait for it here.
        (Restart, _) => {
            server.request("bb/agent/restart", json!({ "agent": "sim" }));
        }
        (Exit, _) => {
            server.ask("shutdown", Value::Null);
            server.notify("exit", Value::Null);
        }
        (StdinClosed, _) => server.close_stdin(),
        (Term, _) => server_gets(server, Signal::TERM),
        (Hangup, _) => server_gets(server, hangup()),
        (KillServer, _) => server.kill(),
        // It may have been killed by the shape.
        (KillOuter, _) => tree.kill(tree.outer),
        (KillInner, _) => tree.kill(tree.inner),
    }
}

/// The signal of a terminal that goes away. Under `nohup` every child ignores it, as it should; then another one ends it.
fn hangup() -> Signal {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    if ignored & 1 == 0 {
        return Signal::HUP;
    }
    println!("SIGHUP is ignored here (nohup), so SIGTERM stands in for it");
    Signal::TERM
}

/// One process, of all that ever have its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Process {
    pid: i32,
    start: u64,
}

impl Process {
    /// `None` also for one that is dead and not buried.
    fn alive(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        (words[0] != "Z" && words[0] != "X").then(|| Self { pid, start: words[19].parse().unwrap() })
    }
}

/// The processes of one try: its guardians, its first process, and whoever has the mark in its environment or its words.
#[derive(Debug)]
struct Tree {
    mark: String,
    inner: i32,
    outer: i32,
    named: Vec<Process>,
    /// They were there before, and have the mark for no other reason than that they are the test.
    ours: HashSet<i32>,
}

impl Tree {
    fn when_ready(place: &Path, mark: &str) -> Self {
        let ready = place.join("ready");
        let until = Instant::now() + READY;
        while !ready.exists() {
            assert!(Instant::now() < until, "the shape does not run");
            std::thread::park_timeout(Duration::from_millis(2));
        }
        let said = std::fs::read_to_string(ready).unwrap();
        let pids: Vec<i32> = said.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        let named = pids.iter().filter_map(|pid| Process::alive(*pid)).collect();
        let ours = HashSet::from([std::process::id().cast_signed()]);
        Self { mark: mark.to_owned(), inner: pids[0], outer: pids[1], named, ours }
    }

    fn alive(&self) -> Vec<(Process, String)> {
        let pids = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| !self.ours.contains(pid))
            .filter_map(|pid| {
                let process = Process::alive(pid)?;
                let read = |what: &str| std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
                let (environment, words) = (read("environ"), read("cmdline"));
                let has_mark = |bytes: &[u8]| memchr::memmem::find(bytes, self.mark.as_bytes()).is_some();
                let is_one = self.named.contains(&process) || has_mark(&environment) || has_mark(&words);
                is_one.then(|| (process, String::from_utf8_lossy(&words).replace('\0', " ")))
            })
            .collect()
    }

    #[track_caller]
    fn assert_gone_since(&self, since: Instant, during: &str) {
        let (before, mut time) = (since.elapsed(), OwnTime::of_programs());
        loop {
            let alive = self.alive();
            if alive.is_empty() {
                return;
            }
            if since.elapsed() >= WITHIN && before + time.taken() >= WITHIN {
                // Nothing of a failed try may disturb the next one.
                for (process, _) in &alive {
                    self.kill(process.pid);
                }
                panic!(
                    "{during}: {} still alive after {WITHIN:?}: {:?}",
                    alive.len(),
                    &alive[..alive.len().min(5)]
                );
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    fn kill(&self, pid: i32) {
        let is_one = self.named.iter().any(|process| Process::alive(pid) == Some(*process))
            || self.alive().iter().any(|(process, _)| process.pid == pid);
        if is_one {
            // It may have ended since.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
}

/// Nothing is left of what a server made in the hierarchy of cgroups.
#[track_caller]
fn assert_no_cgroup_of(server: u32, during: &str) {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(own) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return };
    let roots =
        mounts.lines().filter(|line| line.contains(" - cgroup2 ")).filter_map(|line| line.split(' ').nth(4));
    for root in roots {
        let prefix = format!("breadboard-ls.{server}.");
        let left = || -> Vec<PathBuf> {
            let entries = std::fs::read_dir(Path::new(root).join(own)).into_iter().flatten().flatten();
            let of_server = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
            of_server.map(|entry| entry.path()).collect()
        };
        let mut time = OwnTime::of_programs();
        while !left().is_empty() {
            assert!(time.taken() < WITHIN, "{during}: {:?} is left", left());
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

/// Not a test: a program to which orphans fall, with one that fell to it.
#[test]
#[ignore = "started by a shape"]
fn misbehaves() {
    if std::env::var_os("MISBEHAVES").is_none() {
        return;
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let script = "(setsid sh -c \"trap '' TERM; $LOOP\" & exit 0)";
    std::process::Command::new("sh").args(["-c", script]).env_remove("MISBEHAVES").status().unwrap();
    std::fs::write("reaper", "").unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_root_that_was_swapped_for_a_link_runs_nothing_outside() {
    // Given a command that waits to be allowed
    let model = Model::start(vec![
        calls("run_command", json!({ "command": "pwd -P > where", "reason": "to see" })),
        says("done"),
    ]);
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    // When a link to another place takes the root's place before it is
    let root = server.workspace.path().to_owned();
    let outside = tempfile::tempdir().unwrap();
    let moved = outside.path().join("moved");
    let other = outside.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::rename(&root, &moved).unwrap();
    std::os::unix::fs::symlink(&other, &root).unwrap();
    let refused = server.refused("bb/approvePermission", Server::decision(&session, &ask, "allow_once"));
    server.decide(&session, &ask, "deny");
    server.wait_end(&session);
    // Then it is not allowed and ran nowhere
    assert_eq!(refused["data"]["code"], "conflict", "{refused}");
    assert!(!other.join("where").exists() && !moved.join("where").exists());
    std::fs::remove_file(&root).unwrap();
    std::fs::rename(&moved, &root).unwrap();
}

#[test]
fn a_root_that_was_deleted_and_came_back_as_a_link_runs_nothing_outside() {
    let model = Model::start(vec![
        calls("run_command", json!({ "command": "pwd -P > where", "reason": "to see" })),
        says("done"),
    ]);
    let mut server = Server::ready(model.chosen(true));
    let session = server.session();
    server.prompt(&session, "run it");
    let ask = server.wait_ask(&session);
    let root = server.workspace.path().to_owned();
    let outside = tempfile::tempdir().unwrap();
    std::fs::remove_dir_all(&root).unwrap();
    std::os::unix::fs::symlink(outside.path(), &root).unwrap();
    let refused = server.refused("bb/approvePermission", Server::decision(&session, &ask, "allow_once"));
    server.decide(&session, &ask, "deny");
    server.wait_end(&session);
    assert_eq!(refused["data"]["code"], "conflict", "{refused}");
    assert!(!outside.path().join("where").exists());
    std::fs::remove_file(&root).unwrap();
    std::fs::create_dir(&root).unwrap();
}

#[test]
fn an_editor_that_answers_nonsense_about_a_command_is_not_believed() {
    let terminal = json!({ "experimental": { "breadboard": { "terminalRun": true } } });
    let text = |size: usize| "x".repeat(size);
    let nonsense = [
        Value::Null,
        json!(true),
        json!([]),
        json!({}),
        json!({ "exitCode": null, "stdout": "", "stderr": "", "durationMs": 1 }),
        json!({ "exitCode": "0", "stdout": "", "stderr": "", "durationMs": 1 }),
        json!({ "exitCode": 0.5, "stdout": "", "stderr": "", "durationMs": 1 }),
        json!({ "exitCode": 1_u64 << 40, "stdout": "", "stderr": "", "durationMs": 1 }),
        json!({ "exitCode": 0, "stdout": 7, "stderr": "", "durationMs": 1 }),
        json!({ "exitCode": 0, "stdout": "", "stderr": ["a"], "durationMs": 1 }),
        json!({ "exitCode": 0, "stderr": "", "durationMs": 1 }),
        json!({ "exitCode": 0, "stdout": "", "stderr": "", "durationMs": -1 }),
    ];
    let model = Model::start(Vec::new());
    let mut server = Server::ready(Options { capabilities: terminal, ..model.chosen(true) });
    let session = server.session();
    let told = |server: &mut Server, answer: Value| {
        model.then(calls("run_command", json!({ "command": "make", "reason": "to see" })));
        model.then(says("done"));
        server.prompt(&session, "run it");
        let ask = server.wait_ask(&session);
        server.decide(&session, &ask, "allow_once");
        let request = server.wait_request("bb/terminal/run");
        server.answer(&request["id"], answer);
        server.wait_end(&session);
        model.asked();
        model.asked().tool_result()
    };
    for answer in nonsense {
        let said = told(&mut server, answer.clone());
        assert!(
            said.starts_with("Error (engine_rejected)") && said.contains("gave an unusable answer"),
            "{answer}: {said}"
        );
        assert!(!said.contains("signal"), "{answer}: {said}");
    }
    // What is right is believed, however long it is, and cut.
    let long =
        json!({ "exitCode": 3, "stdout": text(8 << 20), "stderr": "é".repeat(4 << 20), "durationMs": 1e300 });
    let said = told(&mut server, long);
    assert!(
        said.starts_with("The command ended with exit code 3.") && said.len() < 1 << 20,
        "{}",
        said.len()
    );
    assert_answers(&mut server, "an answer of 16 MiB");
    assert_memory(&server, "an answer of 16 MiB");
}
