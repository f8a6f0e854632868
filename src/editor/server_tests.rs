//! The reader with a loop that the test plays itself, over real pipes.

use std::io::{BufRead, Write};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use super::*;
use crate::app::inbox::{EDITOR_BOUND, EditorReply, Event, Events};

const LONG: Duration = Duration::from_secs(60);

/// A server in process: what the editor writes, what it reads, what the loop gets, and why the reading ended.
struct Bench {
    stdin: Option<io::PipeWriter>,
    answers: mpsc::Receiver<Value>,
    events: Events,
    ended: mpsc::Receiver<EndCause>,
    outbox: Arc<FrameOutbox>,
}

impl Bench {
    fn start(fault: Fault) -> Self {
        let (stdin_reader, stdin) = io::pipe().unwrap();
        let (stdout_reader, stdout) = io::pipe().unwrap();
        let (inbox, events) = Inbox::new();
        let outbox = FrameOutbox::start(stdout, || true, || {});
        let lifecycle = Lifecycle::new(|| {});
        let mut driver = Driver::start(Edge {
            outbox: Arc::clone(&outbox),
            inbox: inbox.clone(),
            client: inbox.name_client(),
            overrides: Overrides::default(),
            lifecycle: Arc::clone(&lifecycle),
            gate: Arc::default(),
        })
        .unwrap();
        // The service owns its backend; a new one is the way to give it a fault.
        let (service, socket) = backend::service(Backend {
            commands: Arc::clone(&driver.commands),
            outbox: Arc::clone(&outbox),
            gate: Arc::default(),
            lifecycle,
            shapes: OnceLock::new(),
            overrides: Overrides::default(),
            fault,
        });
        (driver.service, driver._socket) = (service, socket);
        let (tell_end, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let cause = driver.run(stdin_reader);
            // The test may be over.
            let _ = tell_end.send(cause);
        });
        let (tell_answer, answers) = mpsc::channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout_reader);
            while let Some(message) = read_frame(&mut reader) {
                if tell_answer.send(message).is_err() {
                    return;
                }
            }
        });
        Self { stdin: Some(stdin), answers, events, ended, outbox }
    }

    /// Started, with `initialize` answered and its event taken.
    fn ready(fault: Fault) -> Self {
        let mut bench = Self::start(fault);
        bench.request(0, "initialize", json!({ "capabilities": {} }));
        assert!(bench.answer()["result"]["capabilities"].is_object());
        assert!(matches!(bench.event(), Event::Editor { event: EditorEvent::Initialize(_), .. }));
        bench
    }

    fn raw(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn request(&mut self, id: i64, method: &str, params: Value) {
        self.raw(&framed(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })));
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.raw(&framed(&json!({ "jsonrpc": "2.0", "method": method, "params": params })));
    }

    fn answer(&self) -> Value {
        self.answers.recv_timeout(LONG).expect("no answer")
    }

    fn event(&mut self) -> Event {
        self.events.blocking_recv().expect("no event")
    }

    fn next_request(&mut self) -> (crate::protocol::Request, EditorReply) {
        match self.event() {
            Event::Request { request, reply, .. } => (request, reply),
            other => panic!("not a request: {other:?}"),
        }
    }
}

fn framed(message: &Value) -> String {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

fn read_frame(reader: &mut impl BufRead) -> Option<Value> {
    let (mut header, mut blank) = (String::new(), String::new());
    if reader.read_line(&mut header).ok()? == 0 {
        return None;
    }
    let length: usize = header.strip_prefix("Content-Length: ")?.trim_end().parse().ok()?;
    reader.read_line(&mut blank).ok()?;
    assert_eq!(blank, "\r\n");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn error_of(answer: &Value) -> (i64, i64, Option<&str>) {
    let error = &answer["error"];
    (answer["id"].as_i64().unwrap_or(-1), error["code"].as_i64().unwrap(), error["data"]["code"].as_str())
}

#[test]
fn requests_before_initialize_and_after_shutdown_are_refused() {
    let mut bench = Bench::start(Fault::default());
    for method in ["bb/listSessions", "no/such", "shutdown"] {
        bench.request(1, method, Value::Null);
        assert_eq!(error_of(&bench.answer()), (1, -32002, None), "{method}");
    }
    bench.notify("bb/workspaceTrust", json!({ "trusted": true }));
    bench.request(2, "initialize", json!({ "capabilities": {} }));
    assert_eq!(bench.answer()["result"]["serverInfo"]["name"], "breadboard-ls");
    assert!(
        matches!(bench.event(), Event::Editor { event: EditorEvent::Initialize(_), .. }),
        "the notification was not dropped"
    );
    bench.request(3, "initialize", json!({ "capabilities": {} }));
    assert_eq!(error_of(&bench.answer()), (3, -32600, None));

    bench.request(4, "shutdown", Value::Null);
    let Event::Shutdown { reply, .. } = bench.event() else { panic!("no shutdown") };
    reply.answer(());
    assert_eq!(bench.answer(), json!({ "jsonrpc": "2.0", "id": 4, "result": null }));
    bench.request(5, "bb/listSessions", json!({}));
    assert_eq!(error_of(&bench.answer()), (5, -32600, None));
    bench.notify("exit", Value::Null);
    assert_eq!(bench.ended.recv_timeout(LONG), Ok(EndCause::Exit));
}

#[test]
fn an_odd_initialize_starts_all_the_same_and_says_what_it_left_out() {
    let mut bench = Bench::start(Fault::default());
    let odd = json!({
        "rootUri": "",
        "capabilities": { "workspace": { "workspaceEdit": { "failureHandling": "new-word" } } },
        "initializationOptions": { "stateDir": 5, "workspaceTrusted": true },
    });
    bench.request(1, "initialize", odd);
    let warning = bench.answer();
    assert_eq!(warning["method"], "window/showMessage");
    assert!(warning["params"]["message"].as_str().unwrap().contains("`stateDir`"), "{warning}");
    assert!(bench.answer()["result"].is_object());
    let Event::Editor { event: EditorEvent::Initialize(start_up), .. } = bench.event() else {
        panic!("no start")
    };
    assert_eq!(start_up.options.workspace_trusted, Some(true));
}

#[test]
fn events_come_in_the_order_of_the_wire() {
    let mut bench = Bench::ready(Fault::default());
    let mut burst = String::new();
    for at in 0..200 {
        burst += &framed(&json!({ "jsonrpc": "2.0", "method": "textDocument/didClose",
            "params": { "textDocument": { "uri": format!("u{at}") } } }));
        burst += &framed(&json!({ "jsonrpc": "2.0", "id": at, "method": "bb/stop",
            "params": { "sessionId": format!("s{at}") } }));
        burst += &framed(&json!({ "jsonrpc": "2.0", "id": format!("ours-{at}"), "result": at }));
    }
    bench.raw(&burst);
    for at in 0..200 {
        match bench.event() {
            Event::Editor { event: EditorEvent::Document(DocumentEvent::Closed { uri }), .. } => {
                assert_eq!(uri, format!("u{at}"))
            }
            other => panic!("{other:?}"),
        }
        let (request, reply) = bench.next_request();
        assert_eq!(request.method(), "bb/stop");
        match bench.event() {
            Event::Editor { event: EditorEvent::Answered { id, outcome }, .. } => {
                assert_eq!((id, outcome), (format!("ours-{at}"), Ok(json!(at))));
            }
            other => panic!("{other:?}"),
        }
        reply.answer(json!({ "at": at }));
        assert_eq!(bench.answer(), json!({ "jsonrpc": "2.0", "id": at, "result": { "at": at } }));
    }
}

#[test]
fn slow_requests_hold_nothing_back_and_each_can_be_cancelled() {
    let mut bench = Bench::ready(Fault::default());
    for id in 1..=20 {
        bench.request(id, "bb/listSessions", Value::Null);
    }
    let replies: Vec<EditorReply> = (0..20).map(|_| bench.next_request().1).collect();
    bench.request(21, "bb/models/list", Value::Null);
    bench.next_request().1.answer(json!("quick"));
    assert_eq!(bench.answer()["id"], 21);

    bench.notify("$/cancelRequest", json!({ "id": 7 }));
    assert_eq!(error_of(&bench.answer()), (7, -32800, Some("cancelled")));
    assert!(replies[6].is_abandoned());
    for reply in replies {
        reply.answer(json!(1));
    }
    let mut rest: Vec<i64> = (0..19).map(|_| bench.answer()["id"].as_i64().unwrap()).collect();
    rest.sort_unstable();
    assert_eq!(rest, (1..=20).filter(|id| *id != 7).collect::<Vec<_>>());
}

#[test]
fn a_cancel_in_the_same_read_yields_exactly_one_answer() {
    let mut bench = Bench::ready(Fault::default());
    let large = i64::MAX - 1;
    bench.raw(&format!(
        "{}{}",
        framed(&json!({ "jsonrpc": "2.0", "id": large, "method": "bb/listSessions" })),
        framed(&json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": large } })),
    ));
    let (_, reply) = bench.next_request();
    assert_eq!(error_of(&bench.answer()), (large, -32800, Some("cancelled")));
    reply.answer(json!(1));
    bench.request(2, "no/such", Value::Null);
    assert_eq!(bench.answer()["id"], 2);
}

#[test]
fn the_513th_request_in_flight_is_refused() {
    let mut bench = Bench::ready(Fault::default());
    for id in 1..=513 {
        bench.request(id, "bb/listSessions", json!({}));
    }
    assert_eq!(error_of(&bench.answer()), (513, -32803, Some("overloaded")));
    bench.next_request().1.answer(json!(1));
    assert_eq!(bench.answer()["id"], 1);
    bench.request(514, "bb/models/list", json!({}));
    let last = (0..512).map(|_| bench.next_request().0.method()).last();
    assert_eq!(last, Some("bb/models/list"));
}

#[test]
fn a_panic_answers_internal_and_the_server_lives() {
    let mut bench = Bench::ready(Fault::of(Some("bb/stop"), None));
    for id in [1, 2] {
        bench.request(id, "bb/stop", json!({ "sessionId": "s" }));
        assert_eq!(error_of(&bench.answer()), (id, -32603, Some("internal")));
    }
    bench.request(3, "bb/listSessions", json!({}));
    bench.next_request().1.answer(json!("alive"));
    assert_eq!(bench.answer()["result"], "alive");
}

#[test]
fn a_dropped_reply_answers_internal() {
    let mut bench = Bench::ready(Fault::of(None, Some("bb/models/list")));
    bench.request(1, "bb/listSessions", json!({}));
    drop(bench.next_request());
    assert_eq!(error_of(&bench.answer()), (1, -32603, Some("internal")));
    bench.request(2, "bb/models/list", json!({}));
    bench.notify("$/cancelRequest", json!({ "id": 2 }));
    assert_eq!(error_of(&bench.answer()), (2, -32800, Some("cancelled")));
}

#[test]
fn mistakes_are_answered_with_their_codes() {
    let mut bench = Bench::ready(Fault::default());
    bench.request(1, "bb/nothing", json!({}));
    assert_eq!(error_of(&bench.answer()), (1, -32601, Some("unknown_method")));
    bench.request(2, "$/unknown", json!({}));
    assert_eq!(error_of(&bench.answer()), (2, -32601, Some("unknown_method")));
    bench.request(3, "heard:textDocument/didOpen", json!({}));
    assert_eq!(error_of(&bench.answer()), (3, -32601, Some("unknown_method")));
    bench.request(4, "bb/stop", json!({ "sessionId": 5 }));
    assert_eq!(error_of(&bench.answer()), (4, -32602, Some("invalid_params")));
    bench.request(5, "bb/stop", json!("text"));
    assert_eq!(error_of(&bench.answer()), (5, -32602, Some("invalid_params")));
    bench.request(6, "bb/workspaceTrust", json!({ "trusted": true }));
    assert_eq!(error_of(&bench.answer()), (6, -32600, None));
    bench.raw("Content-Length: 1\r\n\r\n{Content-Length: 2\r\n\r\n[]");
    assert_eq!(error_of(&bench.answer()), (-1, -32700, None));
    assert_eq!(error_of(&bench.answer()), (-1, -32600, None));
    bench.request(7, "bb/listSessions", json!({}));
    bench.request(7, "bb/listSessions", json!({}));
    assert_eq!(error_of(&bench.answer()), (7, -32600, None));
}

#[test]
fn envelopes_say_what_they_can() {
    let mut bench = Bench::ready(Fault::default());
    let envelope = |method: &str| json!({ "v": 1, "kind": "req", "id": "e", "method": method });
    bench.request(1, "bb/rpc", envelope("bb.models.list"));
    let (request, reply) = bench.next_request();
    assert_eq!(request.method(), "bb/models/list");
    reply.answer(json!({ "models": [] }));
    assert_eq!(
        bench.answer()["result"],
        json!({ "v": 1, "kind": "res", "id": "e", "ok": true, "result": { "models": [] } })
    );

    bench.request(2, "bb/rpc", envelope("bb.listSessions"));
    bench.next_request().1.refuse(CodedError::unknown_session("x"));
    assert_eq!(bench.answer()["result"]["error"]["code"], "unknown_session");
    bench.request(3, "bb/rpc", envelope("bb.nothing"));
    assert_eq!(bench.answer()["result"]["error"]["code"], "unknown_method");
    bench.request(4, "bb/rpc", json!({ "v": 2, "kind": "req", "id": "e", "method": "bb.init" }));
    assert_eq!(bench.answer()["result"]["ok"], false);
    bench.request(5, "bb/rpc", json!({ "v": 1 }));
    assert_eq!(error_of(&bench.answer()), (5, -32602, Some("invalid_params")));
    bench.request(6, "bb/rpc", envelope("bb.listSessions"));
    let _waiting = bench.next_request();
    bench.notify("$/cancelRequest", json!({ "id": 6 }));
    assert_eq!(error_of(&bench.answer()), (6, -32800, Some("cancelled")));
}

#[test]
fn notifications_become_events() {
    let mut bench = Bench::ready(Fault::default());
    bench.notify("initialized", Value::Null);
    bench.notify("bb/workspaceTrust", json!({ "trusted": "yes" }));
    bench.notify("textDocument/didSave", json!({}));
    bench.notify("bb/workspaceTrust", json!({ "trusted": true }));
    bench.notify("$/setTrace", json!({ "value": "verbose" }));
    bench.notify("window/workDoneProgress/cancel", json!({ "token": 5 }));
    bench.notify("workspace/didChangeConfiguration", json!({ "settings": null }));
    bench.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "breadboard": { "delivery": { "maxEvents": 3 } } } }),
    );
    bench.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({ "event": {
        "added": [{ "uri": "file:///a", "name": "a" }], "removed": [{ "uri": "file:///b", "name": "b" }] } }),
    );
    bench.notify("textDocument/didChange", json!({ "textDocument": { "uri": "u" }, "contentChanges": 5 }));

    assert!(matches!(bench.event(), Event::Editor { event: EditorEvent::Initialized, .. }));
    assert!(matches!(
        bench.event(),
        Event::Editor { event: EditorEvent::WorkspaceTrust { trusted: true }, .. }
    ));
    assert!(
        matches!(bench.event(), Event::Editor { event: EditorEvent::ProgressCancelled { token }, .. } if token == "5")
    );
    assert!(matches!(bench.event(), Event::Editor { event: EditorEvent::ConfigurationChanged, .. }));
    assert!(matches!(bench.event(), Event::Editor { event: EditorEvent::Configuration(configuration), .. }
        if configuration.delivery.as_ref().and_then(|delivery| delivery.max_events) == Some(3)));
    assert!(
        matches!(bench.event(), Event::Editor { event: EditorEvent::FoldersChanged { added, removed }, .. }
        if added[0].name == "a" && removed == ["file:///b"])
    );
    assert!(
        matches!(bench.event(), Event::Editor { event: EditorEvent::Document(DocumentEvent::Lost { uri: Some(uri), .. }), .. } if uri == "u")
    );
}

#[test]
fn a_message_above_the_cap_is_answered_by_its_kind() {
    let mut bench = Bench::ready(Fault::default());
    let text = "x".repeat(33 << 20);
    bench.request(1, "bb/attachment/put", json!({ "base64": text }));
    assert_eq!(error_of(&bench.answer()), (1, -32803, Some("too_large")));
    bench.notify("textDocument/didOpen", json!({ "textDocument": { "uri": "file:///big", "text": text } }));
    let warning = bench.answer();
    assert_eq!((&warning["method"], &warning["params"]["type"]), (&json!("window/showMessage"), &json!(2)));
    assert!(warning["params"]["message"].as_str().unwrap().contains("file:///big"), "{warning}");
    assert!(
        matches!(bench.event(), Event::Editor { event: EditorEvent::Document(DocumentEvent::Lost { uri: Some(uri), .. }), .. }
        if uri == "file:///big")
    );
    bench.notify("textDocument/didClose", json!({ "textDocument": { "uri": "file:///big" }, "more": text }));
    assert_eq!(bench.answer()["method"], "window/showMessage");
    assert!(
        matches!(bench.event(), Event::Editor { event: EditorEvent::Document(DocumentEvent::Lost { uri: Some(uri), .. }), .. }
        if uri == "file:///big")
    );
    bench.raw(&framed(&json!({ "jsonrpc": "2.0", "id": "ours", "result": text })));
    assert_eq!(bench.answer()["method"], "window/showMessage");
    assert!(
        matches!(bench.event(), Event::Editor { event: EditorEvent::Answered { id, outcome: Err(_) }, .. } if id == "ours")
    );
}

#[test]
fn a_full_inbox_refuses_requests_and_loses_no_order() {
    let mut bench = Bench::ready(Fault::default());
    for _ in 0..=EDITOR_BOUND {
        bench.notify("textDocument/didClose", json!({ "textDocument": { "uri": "u" } }));
    }
    bench.request(1, "bb/listSessions", json!({}));
    assert_eq!(error_of(&bench.answer()), (1, -32803, Some("overloaded")));
    for _ in 0..=EDITOR_BOUND {
        assert!(matches!(
            bench.event(),
            Event::Editor { event: EditorEvent::Document(DocumentEvent::Closed { .. }), .. }
        ));
    }
    bench.request(2, "bb/listSessions", json!({}));
    bench.next_request().1.answer(json!(1));
    assert_eq!(bench.answer()["id"], 2);
}

#[test]
fn the_end_of_stdin_ends_the_reading() {
    let mut bench = Bench::ready(Fault::default());
    bench.request(1, "bb/listSessions", json!({}));
    let _slow = bench.next_request();
    drop(bench.stdin.take());
    assert_eq!(bench.ended.recv_timeout(LONG), Ok(EndCause::StdinClosed));
    assert!(bench.outbox.drain(LONG));
}
