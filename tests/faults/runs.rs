//! Runs by their seeds: many at once, or one with all its words.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Once};

use breadboard_ls::testing::simulate::breadboard::{
    Faults, Script, SeenRequest, Simulator, SimulatorOptions,
};
use serde_json::{Value, json};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinSet;

use crate::plan::Plan;
use crate::process::Client;
use crate::proof::{self, Evidence, Fates};
use crate::tally::{Run, Tally};
use crate::user::User;

/// Runs at the same time. Most of a run is waiting.
const AT_ONCE: usize = 16;
/// Threads of all simulators and users; each process has its own.
const THREADS: usize = 2;

/// One run, told.
struct Story {
    met: BTreeMap<String, u64>,
    wrong: Vec<String>,
    fates: Fates,
    told: String,
}

/// Runs those of the seeds that the tally does not have.
pub fn all(seeds: RangeInclusive<u64>, tally: &mut Tally) {
    runtime().block_on(async {
        let mut running = JoinSet::new();
        let missing: Vec<u64> = seeds.filter(|seed| !tally.has(*seed)).collect();
        for seed in missing {
            if running.len() == AT_ONCE
                && let Some(done) = running.join_next().await
            {
                take(tally, done.unwrap());
            }
            running.spawn(async move {
                // A task of its own, so that a panic is told with its seed.
                (seed, tokio::spawn(run(seed)).await.map_err(|panic| panic.to_string()))
            });
        }
        while let Some(done) = running.join_next().await {
            take(tally, done.unwrap());
        }
    });
}

/// One run, with everything that happened.
pub fn again(seed: u64) {
    let story = runtime().block_on(run(seed));
    println!("{}", story.told);
    assert!(story.wrong.is_empty(), "seed {seed}: {}", story.wrong.join("\n"));
}

fn take(tally: &mut Tally, (seed, story): (u64, Result<Story, String>)) {
    let run = match story {
        Ok(story) => {
            if !story.wrong.is_empty() {
                keep(seed, &story.told);
            }
            Run { seed, met: story.met, fates: story.fates, why: story.wrong.join("; ") }
        }
        Err(panic) => Run { seed, why: panic, ..Run::default() },
    };
    tally.take(run);
}

/// The words of a run that failed, since timing may not let it fail again.
fn keep(seed: u64, told: &str) {
    let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fault-run-{seed}.log"));
    std::fs::write(&place, told).unwrap();
    println!("seed {seed} left its story in {}", place.display());
}

fn runtime() -> Runtime {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build().unwrap()
}

async fn run(seed: u64) -> Story {
    let plan = Plan::of(seed);
    let options = SimulatorOptions {
        script: Some(Script::parse(&plan.script.to_string()).unwrap()),
        faults: Faults::parse(&plan.faults).unwrap(),
        seed,
        pr40: plan.pr40,
        log_events: plan.log_events,
        remember: true,
        ..SimulatorOptions::default()
    };
    let engine = Simulator::start(options, &Handle::current()).unwrap();
    let place = tempfile::tempdir().unwrap();
    let mut user = match User::begin(&plan, &engine, place.path()).await {
        Ok(user) => user,
        Err(why) => {
            let told = format!("{plan:#?}");
            return Story { met: BTreeMap::new(), wrong: vec![why], fates: Fates::default(), told };
        }
    };
    let (mut wrong, mut fates) = (Vec::new(), Fates::default());
    let mut found = (Vec::new(), json!(null), json!(null));
    match user.live().await {
        Err(why) => wrong.push(why),
        Ok(()) => match ending(&mut user).await {
            Ok(ending) => found = ending,
            Err(why) => wrong.push(why),
        },
    }
    let session_id = user.session_id.clone();
    let mut met = std::mem::take(&mut user.met);
    for (fault, times) in engine.faults_met() {
        *met.entry(fault.to_owned()).or_default() += times;
    }
    let (status, pending, sent) = (user.status().to_owned(), user.pending, user.sent.clone());
    let (rested, resumes) = (user.rested, std::mem::take(&mut user.resumes_told));
    let foreign = std::mem::take(&mut user.foreign);
    let clients = user.leave().await;
    let evidence = Evidence {
        engine: engine.history(&session_id),
        rested,
        gone: engine.head(&session_id).is_none(),
        ended: engine.has_ended(&session_id),
        completed: engine.has_completed(&session_id),
        forgotten: engine.has_forgotten_all(&session_id),
        status,
        pending,
        journal: found.0,
        // The last one only opened it again.
        heard: clients
            .iter()
            .take(clients.len().saturating_sub(usize::from(!found.2.is_null())))
            .map(|client| of_session(client, &session_id))
            .collect(),
        resumes,
        selected: found.1,
        reopened: found.2,
        foreign: &foreign,
        prompts: &plan.prompts,
        sent: &sent,
        inputs: engine.requests().iter().filter_map(input).collect(),
    };
    if wrong.is_empty() {
        for (kind, is) in [("gone", evidence.gone), ("ended", evidence.ended)] {
            *met.entry(kind.to_owned()).or_default() += u64::from(is);
        }
        let gaps = evidence.journal.iter().filter(|event| event["type"] == "local.gap").count();
        *met.entry("gap".to_owned()).or_default() += gaps as u64;
        (wrong, fates) = proof::faults(&evidence);
    }
    let told = told(&plan, &engine, &evidence);
    Story { met, wrong, fates, told }
}

/// The journal and the view at the end, and the verdict of another process behind it.
async fn ending(user: &mut User<'_>) -> Result<(Vec<Value>, Value, Value), String> {
    let selected = user.must("bb/selectSession", json!({"sessionId": user.session_id})).await?;
    let journal = user.journal().await?;
    Ok((journal, selected, user.reopen().await?))
}

fn of_session(client: &Arc<Client>, session_id: &str) -> BTreeMap<String, Vec<Value>> {
    let mut heard: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for message in client.from(0) {
        let Some(method) = message["method"].as_str() else { continue };
        if message["params"]["sessionId"] == session_id {
            heard.entry(method.to_owned()).or_default().push(message["params"].clone());
        }
    }
    heard
}

/// The body of a request that is a prompt.
fn input(request: &SeenRequest) -> Option<Value> {
    let is_input = request.method == "POST" && request.path.ends_with("/input");
    is_input.then(|| serde_json::from_str(&request.body).unwrap_or(Value::Null))
}

/// Everything that happened, for a person.
fn told(plan: &Plan, engine: &Simulator, evidence: &Evidence) -> String {
    let short = |value: &Value| value.to_string().chars().take(260).collect::<String>();
    let mut lines = vec![
        format!("seed {}: pr40 {}, log of {}, {}", plan.seed, plan.pr40, plan.log_events, plan.faults),
        format!("prompts {:?}, beside {:?}", plan.prompts, plan.beside),
        format!("script {}", plan.script),
        format!("met {:?}", engine.faults_met()),
    ];
    for request in engine.requests() {
        let last = request.headers.iter().find(|(name, _)| name == "last-event-id");
        lines.push(format!("asked {} {} {:?} {}", request.method, request.path, last, request.body));
    }
    for event in &evidence.engine {
        let payload: String = event.payload.chars().take(120).collect();
        lines.push(format!("engine {} {} {payload}", event.seq, event.kind));
    }
    lines.extend(evidence.journal.iter().map(|event| format!("journal {}", short(event))));
    for (process, heard) in evidence.heard.iter().enumerate() {
        for told in heard.get("bb/connection").into_iter().flatten() {
            lines.push(format!("process {process} told {}", short(told)));
        }
        // Where a run never came to rest there is no journal to show.
        for event in
            heard.get("bb/events").into_iter().flatten().flat_map(|batch| batch["events"].as_array().unwrap())
        {
            lines.push(format!("process {process} told {}", short(event)));
        }
    }
    lines.push(format!(
        "status {}, {} pending, prompts {:?}",
        evidence.status, evidence.pending, evidence.sent
    ));
    lines.join("\n")
}
