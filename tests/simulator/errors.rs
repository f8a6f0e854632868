//! Section 1: routes, authorisation, the error envelope and where the engine breaks it; health and listings.

use std::time::{Duration, Instant};

use breadboard_ls::testing::simulate::breadboard::{HoldPoint, SimulatorOptions};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::desk::{Desk, PATIENCE};

#[tokio::test]
async fn only_versioned_routes_exist_and_the_rest_is_not_in_the_envelope() {
    let desk = Desk::plain();
    for path in
        ["/sessions", "/models", "/features", "/nothing", "/v1/sessions/x/nothing", "/v1/engine/identity"]
    {
        assert_eq!(desk.get(path).await.pair(), (404, json!({"detail": "Not Found"})), "{path}");
    }
    let wrong = desk.send(Method::PUT, "/v1/sessions", None, &[]).await;
    assert_eq!(wrong.status().as_u16(), 405);
    assert_eq!(wrong.json::<Value>().await.unwrap(), json!({"detail": "Method Not Allowed"}));
    assert_eq!(desk.send(Method::OPTIONS, "/health", None, &[]).await.status().as_u16(), 405);
}

#[tokio::test]
async fn with_a_token_every_path_needs_it() {
    let token = Some("s3cret".to_owned());
    let mut desk = Desk::new(SimulatorOptions { token, ..SimulatorOptions::default() });
    let refused = (401, json!({"error": "unauthorized", "detail": "unauthorized", "path": null}));
    for path in ["/health", "/openapi.json", "/v1/sessions", "/nothing"] {
        for header in [None, Some("Bearer wrong"), Some("Basic s3cret"), Some("s3cret")] {
            desk.bearer(header);
            assert_eq!(desk.get(path).await.pair(), refused, "{path} {header:?}");
        }
    }
    desk.bearer(Some("bEaReR s3cret"));
    assert_eq!(desk.get("/health").await.status, 200);
    let seen = desk.simulator.requests();
    assert_eq!(seen.len(), 17);
    assert!(!format!("{seen:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_web_page_is_refused() {
    let desk = Desk::plain();
    for header in [("origin", "http://127.0.0.1:9099"), ("host", "rebound.example:9099")] {
        let answer = desk.send(Method::GET, "/v1/sessions", None, &[header]).await;
        assert_eq!(answer.status().as_u16(), 403, "{header:?}");
    }
    let answer = desk.send(Method::GET, "/v1/sessions", None, &[("host", "localhost:9099")]).await;
    assert_eq!(answer.status().as_u16(), 200);
}

#[tokio::test]
async fn blank_fields_crash_the_engines_validator() {
    let desk = Desk::plain();
    let id = desk.create(&json!({})).await;
    for (path, body) in [
        ("/v1/sessions".to_owned(), json!({"config_path": "", "task": ""})),
        (format!("/v1/sessions/{id}/input"), json!({"content": "\n"})),
        (format!("/v1/sessions/{id}/command"), json!({"command": ""})),
    ] {
        let answer = desk.post(&path, &body).await;
        assert_eq!(
            (answer.status, answer.kind.as_str(), answer.text.as_str()),
            (500, "text/plain; charset=utf-8", "Internal Server Error"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn missing_fields_and_bad_json_are_422_in_the_envelope() {
    let desk = Desk::plain();
    let answer = desk.post("/v1/sessions", &json!({"config_path": "x"})).await;
    let errors = json!([{
        "type": "missing", "loc": ["body", "task"], "msg": "Field required", "input": {"config_path": "x"},
    }]);
    let expected = json!({"error": "invalid_request", "detail": {"errors": errors}, "path": null});
    assert_eq!(answer.pair(), (422, expected));
    let bad = desk.send(Method::POST, "/v1/sessions", Some("{".into()), &[]).await;
    assert_eq!(bad.status().as_u16(), 422);
    let bad: Value = bad.json().await.unwrap();
    assert_eq!(bad["detail"]["errors"][0]["type"], "json_invalid");
}

#[tokio::test]
async fn health_ready_and_status_state_the_protocol() {
    let desk = Desk::plain();
    let members = |value: Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let health = desk.get("/health").await.json();
    assert_eq!((&health["status"], &health["protocol_version"]), (&json!("ok"), &json!("1.0")));
    let base = [
        "status",
        "protocol_version",
        "version",
        "engine_version",
        "started_at",
        "started_at_unix",
        "pid",
        "served_revision",
    ];
    assert_eq!(members(health), base);
    let with = |more: [&'static str; 2]| base.into_iter().chain(more).collect::<Vec<_>>();
    assert_eq!(members(desk.get("/ready").await.json()), with(["ready", "provider_runtimes"]));
    assert_eq!(members(desk.get("/status").await.json()), with(["uptime_s", "ray"]));
    assert_eq!(members(desk.get("/v1/status").await.json()), with(["uptime_s", "ray"]));
}

#[tokio::test]
async fn listings_have_the_shapes_of_the_engine() {
    let desk = Desk::plain();
    let id = desk.create(&json!({})).await;
    let models = desk.get("/v1/models?config_path=agent_configs/a.yaml").await.json();
    assert_eq!(
        (&models["config_path"], &models["default_model"]),
        (&json!("agent_configs/a.yaml"), &models["models"][0]["id"])
    );
    assert_eq!(desk.get("/v1/models").await.status, 422);
    let model = |id: &str, length: u64| {
        json!({
            "id": id, "adapter": "simulator", "provider": "simulator", "name": id, "context_length": length,
            "params": null, "routing": null, "metadata": null,
        })
    };
    let both = json!([model("simulator/small", 8_192), model("simulator/large", 200_000)]);
    assert_eq!(models["models"], both);
    let missing = json!({
        "error": "invalid_request", "detail": "failed to load config: [Errno 2] No such file or directory: 'nope.yaml'", "path": null,
    });
    assert_eq!(desk.get("/v1/models?config_path=nope.yaml").await.pair(), (400, missing));
    assert_eq!(
        desk.get("/v1/features").await.json()["extensions"]["atp"],
        json!({"enabled": false, "mounted": false})
    );
    let records = desk.get(&format!("/v1/sessions/{id}/records?limit=5")).await;
    let expected = json!({"session_id": id, "records": [], "offset": 0, "limit": 5, "total": 0});
    assert_eq!(records.pair(), (200, expected));
    assert_eq!(desk.get(&format!("/v1/sessions/{id}/records?limit=0")).await.status, 422);
    let trees =
        json!({"snapshot": null, "compiler": null, "collapse": null, "runner": null, "last_node": null});
    assert_eq!(desk.get(&format!("/v1/sessions/{id}/ctrees")).await.pair(), (200, trees));
    let skills = desk.get(&format!("/v1/sessions/{id}/skills")).await.json();
    assert_eq!(
        skills["selection"],
        json!({"mode": "blocklist", "allowlist": [], "blocklist": [], "profile": null})
    );
    let paths = desk.get("/openapi.json").await.json()["paths"].clone();
    assert!(paths["/v1/sessions/{session_id}/events"]["get"].is_object());
    assert!(paths.get("/v1/sessions/{session_id}/turns/{turn_id}/cancel").is_none());
}

#[tokio::test]
async fn a_configuration_that_does_not_exist_is_accepted_and_fails_afterwards() {
    let desk = Desk::plain();
    for path in ["missing.yaml", " ", "/nothing/at/all.yaml"] {
        let id = desk.create(&json!({"config_path": path})).await;
        desk.logged(&id, "error", 1).await;
        let said: Vec<Value> = desk
            .simulator
            .sent(&id)
            .iter()
            .map(|event| serde_json::from_str(&event.payload).unwrap())
            .collect();
        assert_eq!(said, [json!({"message": format!("[Errno 2] No such file or directory: '{path}'")})]);
        assert_eq!(desk.summary(&id).await["status"], "failed", "{path}");
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_by_the_engine() {
    let idle_close = Duration::from_millis(200);
    let desk = Desk::new(SimulatorOptions { idle_close, ..SimulatorOptions::default() });
    let address = desk.simulator.base_url().trim_start_matches("http://").to_owned();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    socket.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let asked = Instant::now();
    let mut all = Vec::new();
    tokio::time::timeout(PATIENCE, socket.read_to_end(&mut all)).await.expect("is closed").unwrap();
    assert!(asked.elapsed() >= idle_close, "closed after {:?}", asked.elapsed());
    assert!(all.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn a_test_can_hold_answers_back_and_make_them_up() {
    let desk = Desk::plain();
    let id = desk.create(&json!({})).await;
    desk.logged(&id, "tool_result", 1).await;
    desk.simulator.answer_next("GET /health", 503, "{\"busy\":true}");
    assert_eq!(desk.get("/health").await.pair(), (503, json!({"busy": true})));
    assert_eq!(desk.get("/health").await.status, 200);

    desk.simulator.hold_answers("/input", HoldPoint::BeforeAnswer);
    let (answer, ()) = tokio::join!(desk.input(&id, "go"), async {
        // The input has its effect although its answer is held.
        desk.logged(&id, "run_finished", 1).await;
        desk.simulator.release_answers();
    });
    assert_eq!(answer.status, 202);

    desk.simulator.hold_answers("/input", HoldPoint::BeforeWork);
    let (answer, ()) = tokio::join!(desk.input(&id, "again"), async {
        desk.until("the second input", |simulator| {
            simulator.requests().iter().filter(|request| request.path.ends_with("/input")).count() == 2
        })
        .await;
        let runs = desk.simulator.sent(&id).iter().filter(|event| event.kind == "turn_start").count();
        assert_eq!(runs, 1);
        desk.simulator.release_answers();
    });
    assert_eq!(answer.status, 202);
}
