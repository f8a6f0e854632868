//! `breadboard-ls simulate`: an engine's wire on loopback, or an agent on stdio, until somebody ends it.
//!
//! Owns the options, and of the one on loopback the first line on stdout. Never knows the wire: the room `simulate` does.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use super::exit::Exit;
use super::simulate_args::{
    SimulateAcpArgs, SimulateArgs, SimulateBreadboardArgs, SimulateDesktopArgs, SimulatedDialect,
    SimulatedEngine,
};
use super::variables::ENV_API_TOKEN;
use crate::simulate::acp;
use crate::simulate::breadboard::{Faults, Script, Simulator, SimulatorOptions};
use crate::simulate::desktop::{HostDialect, HostOptions, HostSimulator, Plot};

/// Largest script: far above what a person or a test writes.
const LARGEST_SCRIPT: u64 = 64 * 1024 * 1024;

/// Faults of one session of a desktop host at most, where nothing else is said.
const HOST_BUDGET: u32 = 20;

/// Pieces a second of the built-in conversation: as fast as one reads.
const DEMO_RATE: u32 = 20;

/// Serves until it is interrupted.
pub(super) fn simulate(args: &SimulateArgs, environment: impl Fn(&str) -> Option<String>) -> Exit {
    let token =
        environment(ENV_API_TOKEN).map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    let served = match &args.engine {
        SimulatedEngine::Breadboard(args) => options(args, token).map(serve),
        SimulatedEngine::Desktop(args) => host_options(args, token).map(serve_host),
        SimulatedEngine::Acp(args) => return agent(args),
    };
    match served {
        Ok(Ok(())) => Exit::Done,
        Ok(Err(sentence)) => refuse(&sentence, Exit::Failed),
        Err(sentence) => refuse(&sentence, Exit::Usage),
    }
}

fn host_options(args: &SimulateDesktopArgs, token: Option<String>) -> Result<HostOptions, String> {
    let plot = |path: &Path| {
        let plot = Plot::parse(&read(path, "--script")?);
        plot.map_err(|sentence| format!("{}: {sentence}", path.display()))
    };
    let mut options = HostOptions {
        port: args.port,
        token,
        plot: args.script.as_deref().map(plot).transpose()?,
        dialect: match args.dialect {
            SimulatedDialect::Seed => HostDialect::Seed,
            SimulatedDialect::Source => HostDialect::Source,
        },
        waits_for_hello: args.waits_for_hello,
        cut: 0.0,
        garbage: 0.0,
        seed: args.seed,
        budget: HOST_BUDGET,
    };
    for fault in args.faults.split(',').map(str::trim).filter(|fault| !fault.is_empty()) {
        let unreadable =
            || format!("`{fault}` is no fault; there are cut, garbage and budget, as in cut=0.05.");
        let (name, value) = fault.split_once('=').ok_or_else(unreadable)?;
        let chance =
            || value.parse().ok().filter(|chance| (0.0..=1.0).contains(chance)).ok_or_else(unreadable);
        match name {
            "cut" => options.cut = chance()?,
            "garbage" => options.garbage = chance()?,
            "budget" => options.budget = value.parse().map_err(|_| unreadable())?,
            _ => return Err(unreadable()),
        }
    }
    Ok(options)
}

/// Plays an agent; what the script says about its exit code is the exit code.
fn agent(args: &SimulateAcpArgs) -> Exit {
    let options = match agent_options(args) {
        Ok(options) => options,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    match acp::run(options) {
        Ok(0) => Exit::Done,
        // Everything is written: the code of a recording is the agent's own, not one of ours.
        Ok(code) => std::process::exit(code),
        Err(sentence) => refuse(&sentence, Exit::Failed),
    }
}

fn agent_options(args: &SimulateAcpArgs) -> Result<acp::Options, String> {
    let named = |path: &Path, sentence: String| format!("{}: {sentence}", path.display());
    let (play, rate) = match (&args.script, &args.replay) {
        (_, Some(path)) => {
            let recording = acp::Recording::parse(&read(path, "--replay")?, args.process);
            (acp::Play::Recording(recording.map_err(|sentence| named(path, sentence))?), 0)
        }
        (Some(given), None) if given.trim_start().starts_with(['{', '[']) => {
            (acp::Play::Script(Box::new(acp::Script::parse(given)?)), 0)
        }
        (Some(given), None) => {
            let path = Path::new(given);
            let script = acp::Script::parse(&read(path, "--script")?);
            (acp::Play::Script(Box::new(script.map_err(|sentence| named(path, sentence))?)), 0)
        }
        (None, None) => (acp::Play::Script(Box::new(acp::Script::demo()?)), DEMO_RATE),
    };
    Ok(acp::Options {
        play,
        rate: args.rate.unwrap_or(rate),
        sessions: args.sessions.clone(),
        log: args.log.clone(),
    })
}

fn refuse(sentence: &str, exit: Exit) -> Exit {
    let _ = writeln!(std::io::stderr(), "breadboard-ls: {sentence}");
    exit
}

fn options(args: &SimulateBreadboardArgs, token: Option<String>) -> Result<SimulatorOptions, String> {
    Ok(SimulatorOptions {
        port: args.port,
        token,
        script: args.script.as_deref().map(script).transpose()?,
        faults: Faults::parse(&args.faults)?,
        seed: args.seed,
        pr40: args.pr40,
        latency: Duration::from_millis(args.latency_ms),
        ..SimulatorOptions::default()
    })
}

/// A file that an option names.
fn read(path: &Path, option: &str) -> Result<String, String> {
    let unreadable =
        |error: std::io::Error| format!("{} cannot be read: {error}; check {option}.", path.display());
    if std::fs::metadata(path).map_err(unreadable)?.len() > LARGEST_SCRIPT {
        return Err(format!("{} is larger than {LARGEST_SCRIPT} bytes; use `repeat`.", path.display()));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

fn script(path: &Path) -> Result<Script, String> {
    Script::parse(&read(path, "--script")?).map_err(|sentence| format!("{}: {sentence}", path.display()))
}

fn serve(options: SimulatorOptions) -> Result<(), String> {
    let (seed, port) = (options.seed, options.port);
    until_interrupted("BreadBoard", seed, port, |handle| {
        let simulator = Simulator::start(options, handle)?;
        let url = simulator.base_url().to_owned();
        Ok((simulator, url))
    })
}

fn serve_host(options: HostOptions) -> Result<(), String> {
    let (seed, port) = (options.seed, options.port);
    until_interrupted("a desktop host", seed, port, |handle| {
        let simulator = HostSimulator::start(options, handle)?;
        let url = simulator.base_url().to_owned();
        Ok((simulator, url))
    })
}

/// Serves what `start` starts, until somebody ends it.
fn until_interrupted<S>(
    what: &str,
    seed: u64,
    port: u16,
    start: impl FnOnce(&tokio::runtime::Handle) -> std::io::Result<(S, String)>,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("No thread could be started: {error}; free some memory."))?;
    let (simulator, url) = start(runtime.handle())
        .map_err(|error| format!("Port {port} cannot be served: {error}; choose another --port."))?;
    // Heard before the first line is out: whoever reads that may end us at once.
    let interrupts = {
        let _inside = runtime.enter();
        Interrupts::heard().map_err(|error| format!("Ctrl-C cannot be heard: {error}; free some memory."))?
    };
    let mut out = std::io::stdout().lock();
    // Whoever started it may not read; it serves all the same.
    let _ = writeln!(out, "listening on {url}");
    let _ = out.flush();
    drop(out);
    let _ = writeln!(std::io::stderr(), "breadboard-ls: simulates {what}, seed {seed}; Ctrl-C ends it");
    runtime.block_on(interrupts.first());
    drop(simulator);
    Ok(())
}

/// Ctrl-C, and the signal by which a supervisor ends a process.
#[cfg(unix)]
struct Interrupts(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Interrupts {
    /// From now on they are heard.
    fn heard() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self(signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
    }

    async fn first(mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
struct Interrupts(tokio::signal::windows::CtrlC);

#[cfg(not(unix))]
impl Interrupts {
    /// From now on it is heard.
    fn heard() -> std::io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn first(mut self) {
        let _ = self.0.recv().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> SimulateBreadboardArgs {
        SimulateBreadboardArgs {
            port: 0,
            script: None,
            seed: 7,
            faults: String::new(),
            pr40: true,
            latency_ms: 5,
        }
    }

    #[test]
    fn the_options_are_those_of_the_command_line_and_the_token_is_not_among_them() {
        let options = options(&args(), Some("t".into())).expect("are sound");
        assert_eq!((options.seed, options.pr40, options.latency), (7, true, Duration::from_millis(5)));
        assert_eq!((options.token.as_deref(), options.script), (Some("t"), None));
    }

    #[test]
    fn a_script_that_cannot_be_used_is_one_sentence() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("s.json");
        let refused = |path: &Path| {
            let args = SimulateBreadboardArgs { script: Some(path.to_owned()), ..args() };
            options(&args, None).err().unwrap_or_default()
        };
        assert!(refused(&path).contains("cannot be read"));
        std::fs::write(&path, "7").expect("is written");
        assert!(refused(&path).ends_with(
            "The script cannot be read: invalid type: integer `7`, expected an object or a list."
        ));
    }
}
