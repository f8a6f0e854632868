//! What can be asked about engine and session besides the session itself: health, models, skills, trees, records.

use serde_json::{Value, json};

use super::answer::{self, HttpAnswer};
use super::clock;
use super::configuration;
use super::engine::SimulatedEngine;
use super::server::AskedRequest;
use super::session::SimulatedSession;

/// Version that the engine states by default.
const VERSION: &str = "0.1.0";

fn health_body(engine: &SimulatedEngine) -> Value {
    let started = clock::iso(engine.started);
    json!({
        "status": "ok", "protocol_version": "1.0", "version": VERSION, "engine_version": VERSION,
        "started_at": started, "started_at_unix": engine.started.as_secs_f64(), "pid": std::process::id(),
        "served_revision": {"repo_root": "/simulator", "commit": null, "branch": null, "dirty": null},
    })
}

fn with(mut body: Value, more: Value) -> HttpAnswer {
    if let (Some(members), Value::Object(more)) = (body.as_object_mut(), more) {
        members.extend(more);
    }
    answer::ok(&body)
}

/// `GET /health`.
pub(super) fn health(engine: &SimulatedEngine) -> HttpAnswer {
    answer::ok(&health_body(engine))
}

/// `GET /ready`.
pub(super) fn ready(engine: &SimulatedEngine) -> HttpAnswer {
    with(health_body(engine), json!({"ready": true, "provider_runtimes": ["simulator"]}))
}

/// `GET /status`.
pub(super) fn status(engine: &SimulatedEngine) -> HttpAnswer {
    let uptime = clock::now().saturating_sub(engine.started).as_secs_f64();
    with(health_body(engine), json!({"uptime_s": uptime, "ray": {"available": false, "initialized": false}}))
}

/// `GET /v1/engine/identity`, PR #40 only.
pub(super) fn identity(engine: &SimulatedEngine) -> HttpAnswer {
    answer::ok(
        &json!({"engine_version": VERSION, "pid": std::process::id(), "started_at": clock::iso(engine.started)}),
    )
}

/// `GET /v1/features`.
pub(super) fn features(_engine: &SimulatedEngine) -> HttpAnswer {
    let off = json!({"enabled": false, "mounted": false});
    answer::ok(&json!({
        "status": "ok", "extensions": {"atp": off, "evolake": off}, "atp": off, "metadata": {"mounted_extensions": []},
    }))
}

/// `GET /openapi.json`: the paths alone, which is what a client probes.
pub(super) fn openapi(engine: &SimulatedEngine) -> HttpAnswer {
    let session = "/v1/sessions/{session_id}";
    let of_session = |rest: &str| format!("{session}{rest}");
    let mut paths = vec![
        ("/health".to_owned(), "get"),
        ("/ready".to_owned(), "get"),
        ("/status".to_owned(), "get"),
        ("/v1/status".to_owned(), "get"),
        ("/v1/features".to_owned(), "get"),
        ("/v1/models".to_owned(), "get"),
        ("/v1/provider-auth/status".to_owned(), "get"),
        ("/v1/sessions".to_owned(), "get post"),
        (of_session(""), "get delete"),
        (of_session("/input"), "post"),
        (of_session("/command"), "post"),
        (of_session("/attachments"), "post"),
        (of_session("/events"), "get"),
        (of_session("/files"), "get"),
        (of_session("/files/content"), "get"),
        (of_session("/download"), "get"),
        (of_session("/skills"), "get"),
        (of_session("/ctrees"), "get"),
        (of_session("/records"), "get"),
    ];
    if engine.options.pr40 {
        paths.push(("/v1/engine/identity".to_owned(), "get"));
        paths.push((of_session("/turns/{turn_id}/cancel"), "post"));
    }
    let paths: serde_json::Map<String, Value> = paths
        .into_iter()
        .map(|(path, methods)| {
            let methods: serde_json::Map<String, Value> =
                methods.split(' ').map(|method| (method.to_owned(), json!({"responses": {}}))).collect();
            (path, Value::Object(methods))
        })
        .collect();
    answer::ok(
        &json!({"openapi": "3.1.0", "info": {"title": "BreadBoard simulator", "version": VERSION}, "paths": paths}),
    )
}

/// `GET /v1/models`.
pub(super) fn models(asked: &AskedRequest) -> HttpAnswer {
    let Some(config_path) = asked.parameter("config_path") else {
        return answer::unprocessable("missing", &["query", "config_path"], "Field required", Value::Null);
    };
    if let Err(reason) = configuration::read(&config_path) {
        return answer::refused(400, format!("failed to load config: {reason}"));
    }
    let model = |id: &str, length: u64| {
        json!({
            "id": id, "adapter": "simulator", "provider": "simulator", "name": id, "context_length": length,
            "params": null, "routing": null, "metadata": null,
        })
    };
    answer::ok(&json!({
        "models": [model("simulator/small", 8_192), model("simulator/large", 200_000)],
        "default_model": "simulator/small", "config_path": config_path,
    }))
}

/// `GET …/skills`, and the payload of `skills_catalog`.
pub(super) fn skills(session: &SimulatedSession) -> Value {
    let every = || json!({"mode": "blocklist", "allowlist": [], "blocklist": [], "profile": null});
    let selection = session.state().skills.clone().unwrap_or_else(every);
    let skill = json!({
        "id": "explain", "version": "1", "label": "Explain", "description": "Explains what it sees.", "type": "prompt",
    });
    json!({
        "catalog": {
            "catalog_version": "skills_catalog_v1", "selection": selection, "skills": [skill], "prompt_skills": [skill],
            "graph_skills": [],
        },
        "selection": selection,
        "sources": {
            "config_path": session.config_path, "workspace": session.workspace.to_string_lossy(), "plugin_count": 0,
            "plugin_snapshot": null, "skill_paths": [],
        },
    })
}

/// `GET …/ctrees`.
pub(super) fn ctrees(session: &SimulatedSession) -> Value {
    let nodes = session.state().ctree_nodes;
    let snapshot =
        json!({"schema_version": "0.2", "node_count": nodes, "event_count": nodes, "link_count": 0});
    let last = (nodes > 0).then(|| json!({"id": format!("ctn_{nodes:06}")}));
    json!({
        "snapshot": if nodes > 0 { snapshot } else { Value::Null }, "compiler": null, "collapse": null, "runner": null,
        "last_node": last,
    })
}

/// `GET …/records`: empty, as without the engine's environment variable for them.
pub(super) fn records(session: &SimulatedSession, asked: &AskedRequest) -> HttpAnswer {
    let number =
        |name: &str, default: u64| asked.parameter(name).map_or(Some(default), |word| word.parse().ok());
    match (number("offset", 0), number("limit", 100)) {
        (Some(offset), Some(limit @ 1..=1_000)) => answer::ok(&json!({
            "session_id": session.id, "records": [], "offset": offset, "limit": limit, "total": 0,
        })),
        _ => {
            let message = "Input should be between 1 and 1000";
            answer::unprocessable("value_error", &["query", "limit"], message, Value::Null)
        }
    }
}
