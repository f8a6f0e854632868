//! Everything that we say to an agent, read by the types of the protocol's owners.

use agent_client_protocol_schema::v1;
use breadboard_ls::testing::domain::dialect::acp::blocks::{PromptAttachment, prompt_blocks};
use breadboard_ls::testing::domain::dialect::acp::decode::RpcId;
use breadboard_ls::testing::domain::dialect::acp::encode::{
    self as out, ClientCapabilities, ConfigValue, ElicitationAnswer, PermissionOutcome,
};
use breadboard_ls::testing::domain::dialect::acp::results::PromptCapabilities;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads a value with a type of the schema and writes it again: what is not of the schema would be gone.
fn agrees<T: DeserializeOwned + Serialize>(ours: &Value) {
    let theirs: T = serde_json::from_value(ours.clone()).unwrap_or_else(|error| panic!("{error}: {ours}"));
    let again = serde_json::to_value(&theirs).unwrap();
    contains(&again, ours, ours);
}

/// Everything of ours is in theirs; theirs may state defaults. They leave out what is `null` or empty.
fn contains(theirs: &Value, ours: &Value, whole: &Value) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (name, value) in ours {
                match theirs.get(name) {
                    Some(other) => contains(other, value, whole),
                    None => assert!(value.is_null(), "{name} is not of the schema: {whole}"),
                }
            }
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            assert_eq!(theirs.len(), ours.len(), "{whole}");
            for (theirs, ours) in theirs.iter().zip(ours) {
                contains(theirs, ours, whole);
            }
        }
        (theirs, ours) => assert_eq!(theirs, ours, "{whole}"),
    }
}

#[test]
fn every_parameter_of_ours_is_one_of_the_schema() {
    let all = ClientCapabilities {
        read_text_file: true,
        write_text_file: true,
        terminal: true,
        elicitation_form: true,
        elicitation_url: true,
        notices: true,
        compaction: true,
        boolean_options: true,
    };
    agrees::<v1::InitializeRequest>(&out::initialize(all, "0.1.0"));
    agrees::<v1::InitializeRequest>(&out::initialize(ClientCapabilities::default(), "0.1.0"));
    assert_eq!(
        out::initialize(ClientCapabilities::default(), "0.1.0")["clientCapabilities"],
        json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false})
    );
    agrees::<v1::AuthenticateRequest>(&out::authenticate("login"));
    agrees::<v1::NewSessionRequest>(&out::new_session("/workspace"));
    agrees::<v1::LoadSessionRequest>(&out::open_session("s", "/workspace"));
    agrees::<v1::ResumeSessionRequest>(&json!({"sessionId": "s", "cwd": "/workspace"}));
    let resume: v1::ResumeSessionRequest =
        serde_json::from_value(out::open_session("s", "/workspace")).unwrap();
    assert_eq!(serde_json::to_value(resume).unwrap()["sessionId"], "s");
    agrees::<v1::ListSessionsRequest>(&out::list_sessions(Some("/workspace"), Some("c")));
    agrees::<v1::ListSessionsRequest>(&out::list_sessions(None, None));
    agrees::<v1::CloseSessionRequest>(&out::of_session("s"));
    agrees::<v1::DeleteSessionRequest>(&out::of_session("s"));
    agrees::<v1::CancelNotification>(&out::of_session("s"));
    agrees::<v1::SetSessionModeRequest>(&out::set_mode("s", "code"));
    agrees::<v1::SetSessionConfigOptionRequest>(&out::set_config_option(
        "s",
        "model",
        &ConfigValue::Choice("m".into()),
    ));
    agrees::<v1::SetSessionConfigOptionRequest>(&out::set_config_option(
        "s",
        "web",
        &ConfigValue::Switch(true),
    ));
}

#[test]
fn every_block_of_a_prompt_is_one_of_the_schema() {
    let attachment = |mime: &str, content: Option<&[u8]>| PromptAttachment {
        name: "a".into(),
        mime: mime.into(),
        uri: "file:///workspace/a".into(),
        size: 3,
        content: content.map(<[u8]>::to_vec),
    };
    let attachments = [
        attachment("image/png", Some(b"x")),
        attachment("audio/wav", Some(b"x")),
        attachment("text/plain", Some(b"x")),
        attachment("", Some(&[0xff])),
        attachment("text/plain", None),
    ];
    let all = PromptCapabilities { image: true, audio: true, embedded_context: true };
    for capabilities in [all, PromptCapabilities::default()] {
        let blocks = prompt_blocks("hi", &attachments, &capabilities);
        assert_eq!(blocks.len(), 6);
        agrees::<v1::PromptRequest>(&out::prompt("s", blocks));
    }
}

#[test]
fn every_answer_of_ours_is_one_of_the_schema() {
    agrees::<v1::RequestPermissionResponse>(&out::permission(PermissionOutcome::Selected("once")));
    agrees::<v1::RequestPermissionResponse>(&out::permission(PermissionOutcome::Cancelled));
    for answer in [
        ElicitationAnswer::Accept(Some(json!({"name": "x", "n": 1, "list": ["a"]}))),
        ElicitationAnswer::Accept(None),
        ElicitationAnswer::Decline,
        ElicitationAnswer::Cancel,
    ] {
        agrees::<v1::CreateElicitationResponse>(&out::elicitation(answer));
    }
    agrees::<v1::ReadTextFileResponse>(&out::file_content("x"));
    agrees::<v1::WriteTextFileResponse>(&out::done());
    agrees::<v1::KillTerminalResponse>(&out::done());
    agrees::<v1::ReleaseTerminalResponse>(&out::done());
    agrees::<v1::CreateTerminalResponse>(&out::terminal_created("t"));
    agrees::<v1::TerminalOutputResponse>(&out::terminal_output("x", true, None));
    agrees::<v1::TerminalOutputResponse>(&out::terminal_output("x", false, Some((Some(3), None))));
    agrees::<v1::WaitForTerminalExitResponse>(&out::terminal_exit(None, Some("SIGKILL")));
}

#[test]
fn a_line_of_ours_is_one_json_object_on_one_line() {
    let id = RpcId::number(4);
    let text = json!({"text": "a\nb\r\u{2028}"});
    let lines = [
        out::request(&id, "m", &text),
        out::notification("m", &text),
        out::answer(&RpcId::from_json("\"x\"").unwrap(), &text),
        out::error_answer(&RpcId::null(), -32601, "no"),
    ];
    for line in &lines {
        assert!(!line.contains(['\n', '\r']), "{line}");
    }
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    assert_eq!(read(&lines[0]), json!({"jsonrpc": "2.0", "id": 4, "method": "m", "params": text}));
    assert_eq!(read(&lines[1]), json!({"jsonrpc": "2.0", "method": "m", "params": text}));
    assert_eq!(read(&lines[2]), json!({"jsonrpc": "2.0", "id": "x", "result": text}));
    assert_eq!(
        read(&lines[3]),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "no"}})
    );
}
