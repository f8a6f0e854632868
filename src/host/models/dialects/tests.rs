//! What each protocol's replies become, what goes back, and what no reply can do.

use std::collections::VecDeque;

use serde_json::json;

use super::*;
use crate::host::models::bounds;
use crate::host::models::conversation::{Call, ToolSpec};
use crate::host::models::target::ModelChoice;
use crate::http::FramingDecoder;

/// Replies as the providers' documentation shows them.
const REPLIES: [(ProviderDialect, &str); 6] = [
    (ProviderDialect::OpenAiChat, include_str!("../../../../tests/fixtures/models/openai_chat_text.sse")),
    (ProviderDialect::OpenAiChat, include_str!("../../../../tests/fixtures/models/openai_chat_tools.sse")),
    (
        ProviderDialect::OpenAiResponses,
        include_str!("../../../../tests/fixtures/models/openai_responses.sse"),
    ),
    (ProviderDialect::Anthropic, include_str!("../../../../tests/fixtures/models/anthropic.sse")),
    (ProviderDialect::Gemini, include_str!("../../../../tests/fixtures/models/gemini.sse")),
    (ProviderDialect::Ollama, include_str!("../../../../tests/fixtures/models/ollama.ndjson")),
];

const ALL: [ProviderDialect; 5] = [
    ProviderDialect::OpenAiChat,
    ProviderDialect::OpenAiResponses,
    ProviderDialect::Anthropic,
    ProviderDialect::Gemini,
    ProviderDialect::Ollama,
];

/// Reads the bytes of a whole body as a reply, and how it ends when that is not whole. Total: no bytes panic.
fn decode_all(dialect: ProviderDialect, body: &[u8]) -> (Vec<Delta>, Result<Finished, String>) {
    let mut framing = FramingDecoder::new(dialect.framing(), bounds::STREAM.event_bytes);
    let mut decoder = Decoder::new(dialect);
    let (mut events, mut deltas) = (VecDeque::new(), VecDeque::new());
    let fed = framing.feed(body, &mut events);
    framing.end(&mut events);
    let mut end = None;
    for event in events {
        match decoder.event(&event, &mut deltas) {
            Ok(ReplyProgress::More) => continue,
            Ok(ReplyProgress::Complete) => end = Some(Ok(())),
            Err(fault) => end = Some(Err(fault)),
        }
        break;
    }
    let end = match (end, fed) {
        (Some(Err(fault)), _) => Err(format!("{fault:?}")),
        (None, Err(error)) => Err(format!("{error:?}")),
        (None, Ok(())) if !decoder.is_complete() => Err("cut off".to_owned()),
        (Some(Ok(())), _) | (None, Ok(())) => decoder.finish().map_err(|fault| format!("{fault:?}")),
    };
    (deltas.into(), end)
}

fn reply(dialect: ProviderDialect, which: usize) -> &'static str {
    REPLIES.iter().filter(|(other, _)| *other == dialect).nth(which).unwrap().1
}

fn decoded(dialect: ProviderDialect, body: &str) -> (Vec<String>, Finished) {
    let (deltas, end) = decode_all(dialect, body.as_bytes());
    let finished = end.unwrap_or_else(|why| panic!("{dialect:?}: {why}"));
    let deltas = deltas.into_iter().map(|delta| match delta {
        Delta::Text(text) => format!("text {text}"),
        Delta::Reasoning(text) => format!("thought {text}"),
        Delta::Finished(_) => panic!("only `finish` gives the end"),
    });
    (deltas.collect(), finished)
}

fn call(call_id: &str, name: &str, arguments: Value) -> Call {
    Call { call_id: call_id.to_owned(), name: name.to_owned(), arguments }
}

/// The body of the request behind this reply, whose calls all had the result `found`.
fn asked_again(dialect: ProviderDialect, finished: &Finished) -> Value {
    let tools = [ToolSpec {
        name: "read_file".into(),
        description: "Reads.".into(),
        parameters: json!({ "type": "object" }),
    }];
    let mut conversation = Conversation::new("Be brief.", &tools);
    conversation.user("before");
    conversation.assistant("answered");
    conversation.user("now");
    conversation.replied(finished);
    conversation.results(finished.calls.iter().map(|call| (call.clone(), "found".to_owned())).collect());
    dialect.body("m", &conversation)
}

#[test]
fn openai_chat_tells_reasoning_text_and_usage() {
    let (deltas, finished) = decoded(ProviderDialect::OpenAiChat, reply(ProviderDialect::OpenAiChat, 0));
    assert_eq!(deltas, ["thought Greet them. ", "text Hello", "text  ü!"]);
    assert_eq!((finished.tokens_used, finished.calls.len()), (29, 0));
    assert!(finished.ended_early.unwrap().contains("length limit"));
}

#[test]
fn openai_chat_puts_calls_together_and_gives_them_back() {
    let (deltas, finished) = decoded(ProviderDialect::OpenAiChat, reply(ProviderDialect::OpenAiChat, 1));
    assert_eq!(deltas, Vec::<String>::new());
    let calls = vec![
        call("call_a", "read_file", json!({ "path": "a.txt" })),
        call("call_b", "outline", json!({ "path": "b.rs" })),
    ];
    assert_eq!((&finished.calls, finished.tokens_used), (&calls, 99));
    let function = |name: &str, arguments: &str| json!({ "name": name, "arguments": arguments });
    assert_eq!(
        asked_again(ProviderDialect::OpenAiChat, &finished),
        json!({
            "model": "m",
            "stream": true,
            "stream_options": { "include_usage": true },
            "tools": [{ "type": "function", "function": {
                "name": "read_file", "description": "Reads.", "parameters": { "type": "object" } } }],
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "before" },
                { "role": "assistant", "content": "answered" },
                { "role": "user", "content": "now" },
                { "role": "assistant", "content": "", "tool_calls": [
                    { "type": "function", "id": "call_a", "function": function("read_file", r#"{"path":"a.txt"}"#) },
                    { "type": "function", "id": "call_b", "function": function("outline", r#"{"path":"b.rs"}"#) },
                ] },
                { "role": "tool", "tool_call_id": "call_a", "content": "found" },
                { "role": "tool", "tool_call_id": "call_b", "content": "found" },
            ],
        })
    );
}

#[test]
fn openai_chat_of_other_servers_is_read_too() {
    let event = |delta: Value, reason: Value| {
        format!("data: {}\n\n", json!({ "choices": [{ "delta": delta, "finish_reason": reason }] }))
    };
    let body = [
        event(
            json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] },
                                  { "type": "text", "text": "so" }] }),
            Value::Null,
        ),
        event(json!({ "reasoning": "and", "content": null, "tool_calls": null }), Value::Null),
        event(
            json!({ "tool_calls": [{ "function": { "name": "f", "arguments": { "a": 1 } } }] }),
            Value::Null,
        ),
        event(
            json!({ "tool_calls": [{ "id": "x", "function": { "name": "g", "arguments": "{\"b\"" } }] }),
            Value::Null,
        ),
        event(json!({ "tool_calls": [{ "function": { "arguments": ":2}" } }] }), json!("stop")),
    ]
    .concat();
    // This one leaves out the mark behind the last event; the model's own end is enough.
    let (deltas, finished) = decoded(ProviderDialect::OpenAiChat, &body);
    assert_eq!(deltas, ["thought hm", "text so", "thought and"]);
    assert_eq!(finished.calls, [call("call_0", "f", json!({ "a": 1 })), call("x", "g", json!({ "b": 2 }))]);
    let message = &asked_again(ProviderDialect::OpenAiChat, &finished)["messages"][4];
    assert_eq!((&message["content"], &message["reasoning_content"]), (&json!("so"), &json!("hmand")));
}

#[test]
fn openai_responses_gives_its_sealed_reasoning_back() {
    let (deltas, finished) =
        decoded(ProviderDialect::OpenAiResponses, reply(ProviderDialect::OpenAiResponses, 0));
    assert_eq!(deltas, ["thought Look first.", "text Let me ", "text look."]);
    assert_eq!(finished.calls, [call("call_a", "read_file", json!({ "path": "a.txt" }))]);
    assert_eq!(finished.tokens_used, 48);
    let body = asked_again(ProviderDialect::OpenAiResponses, &finished);
    let text = |text: &str| json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    assert_eq!((&body["store"], &body["instructions"]), (&json!(false), &json!("Be brief.")));
    assert_eq!(
        body["input"],
        json!([
            { "role": "user", "content": "before" },
            text("answered"),
            { "role": "user", "content": "now" },
            { "type": "reasoning", "summary": [], "encrypted_content": "gAAAAAB-sealed" },
            text("Let me look."),
            { "type": "function_call", "call_id": "call_a", "name": "read_file", "arguments": "{\"path\":\"a.txt\"}" },
            { "type": "function_call_output", "call_id": "call_a", "output": "found" },
        ])
    );
}

#[test]
fn openai_responses_that_come_in_one_event_are_read_from_it() {
    let output = json!([
        { "type": "message", "content": [{ "type": "output_text", "text": "Hi" }] },
        { "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" },
    ]);
    let response = json!({ "output": output, "incomplete_details": { "reason": "content_filter" } });
    let event = json!({ "type": "response.incomplete", "response": response });
    let (deltas, finished) = decoded(ProviderDialect::OpenAiResponses, &format!("data: {event}\n\n"));
    assert_eq!((deltas, finished.calls), (vec!["text Hi".to_owned()], vec![call("c", "f", json!({}))]));
    assert!(finished.ended_early.unwrap().contains("filter"));
}

#[test]
fn anthropic_gives_its_signed_reasoning_back() {
    let (deltas, finished) = decoded(ProviderDialect::Anthropic, reply(ProviderDialect::Anthropic, 0));
    assert_eq!(deltas, ["thought Read the ", "thought file.", "text Let me look."]);
    assert_eq!(finished.calls, [call("toolu_1", "read_file", json!({ "path": "a.txt" }))]);
    assert_eq!(finished.tokens_used, 25 + 5 + 10 + 89);
    let body = asked_again(ProviderDialect::Anthropic, &finished);
    assert_eq!((&body["max_tokens"], &body["system"][0]["text"]), (&json!(64_000), &json!("Be brief.")));
    assert_eq!(body["tools"][0]["input_schema"], json!({ "type": "object" }));
    assert_eq!(
        body["messages"].as_array().unwrap()[3..],
        [
            json!({ "role": "assistant", "content": [
                { "type": "thinking", "thinking": "Read the file.",
                  "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk=" },
                { "type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix" },
                { "type": "text", "text": "Let me look." },
                { "type": "tool_use", "id": "toolu_1", "name": "read_file", "input": { "path": "a.txt" } },
            ] }),
            json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1", "content": "found",
                  "cache_control": { "type": "ephemeral" } } ] }),
        ]
    );
}

#[test]
fn gemini_gives_its_signatures_back_where_they_stood() {
    let (deltas, finished) = decoded(ProviderDialect::Gemini, reply(ProviderDialect::Gemini, 0));
    assert_eq!(deltas, ["thought Read it.", "text Let me look."]);
    let calls = vec![
        call("fc-7", "read_file", json!({ "path": "a.txt" })),
        call("call_1", "outline", json!({ "path": "b.rs" })),
    ];
    assert_eq!((&finished.calls, finished.tokens_used), (&calls, 34));
    let body = asked_again(ProviderDialect::Gemini, &finished);
    assert_eq!(
        body["contents"].as_array().unwrap()[3..],
        [
            json!({ "role": "model", "parts": [
                { "text": "Let me look." },
                { "functionCall": { "name": "read_file", "args": { "path": "a.txt" }, "id": "fc-7" },
                  "thoughtSignature": "CpcBAVmNaXk=" },
                { "functionCall": { "name": "outline", "args": { "path": "b.rs" } } },
                { "text": "", "thoughtSignature": "CuECAQ==" },
            ] }),
            json!({ "role": "user", "parts": [
                { "functionResponse": { "name": "read_file", "response": { "result": "found" }, "id": "fc-7" } },
                { "functionResponse": { "name": "outline", "response": { "result": "found" } } },
            ] }),
        ]
    );
    assert_eq!(
        body["tools"],
        json!([{ "functionDeclarations": [{ "name": "read_file", "description": "Reads.",
                                            "parametersJsonSchema": { "type": "object" } }] }])
    );
}

#[test]
fn ollama_gives_its_thinking_and_calls_back() {
    let (deltas, finished) = decoded(ProviderDialect::Ollama, reply(ProviderDialect::Ollama, 0));
    assert_eq!(deltas, ["thought Read it.", "text Let me ", "text look."]);
    assert_eq!(finished.calls, [call("call_0", "read_file", json!({ "path": "a.txt" }))]);
    assert_eq!(finished.tokens_used, 184);
    let body = asked_again(ProviderDialect::Ollama, &finished);
    assert_eq!(
        body["messages"].as_array().unwrap()[4..],
        [
            json!({ "role": "assistant", "content": "Let me look.", "thinking": "Read it.", "tool_calls": [
                { "function": { "name": "read_file", "arguments": { "path": "a.txt" } } } ] }),
            json!({ "role": "tool", "tool_name": "read_file", "content": "found" }),
        ]
    );
}

#[test]
fn a_reply_that_is_cut_anywhere_is_never_a_complete_one() {
    for (dialect, body) in REPLIES {
        let whole = decoded(dialect, body).1;
        for at in (0..body.len()).filter(|at| body.is_char_boundary(*at)) {
            if let (_, Ok(finished)) = decode_all(dialect, &body.as_bytes()[..at]) {
                // Only the mark behind the end, or the usage, may be missing.
                assert_eq!(finished.parts, whole.parts, "{dialect:?} cut at {at}");
            }
        }
    }
}

#[test]
fn a_provider_that_says_that_it_failed_is_repeated() {
    for (dialect, event) in [
        (ProviderDialect::OpenAiChat, r#"{"error":{"message":"overloaded","code":529}}"#),
        (ProviderDialect::OpenAiChat, r#"{"error":"overloaded"}"#),
        (ProviderDialect::OpenAiChat, r#"{"object":"error","message":"overloaded"}"#),
        (ProviderDialect::OpenAiResponses, r#"{"type":"error","message":"overloaded"}"#),
        (
            ProviderDialect::OpenAiResponses,
            r#"{"type":"response.failed","response":{"error":{"message":"overloaded"}}}"#,
        ),
        (
            ProviderDialect::Anthropic,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}"#,
        ),
        (ProviderDialect::Gemini, r#"{"error":{"code":503,"message":"overloaded"}}"#),
        (ProviderDialect::Ollama, r#"{"error":"overloaded"}"#),
    ] {
        let deltas = Decoder::new(dialect).event(event.as_bytes(), &mut VecDeque::new());
        assert_eq!(deltas, Err(ModelFault::Reported("overloaded".to_owned())), "{dialect:?}");
    }
}

/// An event with one tool call whose number, id, name and arguments are these.
fn call_event(dialect: ProviderDialect, number: &str, name: &str, arguments: &str) -> String {
    let text = json!(arguments);
    match dialect {
        ProviderDialect::OpenAiChat => format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{number},"id":"c","function":{{"name":"{name}","arguments":{text}}}}}]}}}}]}}"#
        ),
        ProviderDialect::OpenAiResponses => format!(
            r#"{{"type":"response.output_item.added","output_index":{number},"item":{{"type":"function_call","call_id":"c","name":"{name}","arguments":{text}}}}}"#
        ),
        ProviderDialect::Anthropic => format!(
            r#"{{"type":"content_block_start","index":{number},"content_block":{{"type":"tool_use","id":"c","name":"{name}","input":{arguments}}}}}"#
        ),
        ProviderDialect::Gemini => format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"{name}","args":{arguments}}}}}]}}}}]}}"#
        ),
        ProviderDialect::Ollama => {
            format!(
                r#"{{"message":{{"tool_calls":[{{"function":{{"name":"{name}","arguments":{arguments}}}}}]}}}}"#
            )
        }
    }
}

#[test]
fn no_number_of_a_provider_sizes_anything() {
    for number in [
        "129",
        "100000",
        "300000",
        "1000000",
        "2147483648",
        "4294967296",
        "18446744073709551616",
        "-1",
        "1.5",
        "1e300",
        "1e999",
        "\"0\"",
        "[0]",
        "{}",
        "true",
    ] {
        for dialect in
            [ProviderDialect::OpenAiChat, ProviderDialect::OpenAiResponses, ProviderDialect::Anthropic]
        {
            let event = call_event(dialect, number, "f", "{}");
            let mut decoder = Decoder::new(dialect);
            let refused = decoder.event(event.as_bytes(), &mut VecDeque::new());
            // Blocks of the other two are numbered with their text; a number out of JSON's range is read as none.
            let is_taken = number == "1e999" || (number == "129" && dialect != ProviderDialect::OpenAiChat);
            let expected = if is_taken { Ok(ReplyProgress::More) } else { Err(ModelFault::CallIndex) };
            assert_eq!(refused, expected, "{dialect:?} {number}");
        }
    }
}

#[test]
fn usage_that_is_no_count_counts_nothing() {
    for number in ["-1", "1.5", "1e300", "NaN", "99999999999999999999", "\"7\"", "null", "[]"] {
        let events = [
            (
                ProviderDialect::OpenAiChat,
                format!(
                    "data: {{\"choices\":[{{\"finish_reason\":\"stop\"}}],\"usage\":{{\"total_tokens\":{number}}}}}\n\n"
                ),
            ),
            (
                ProviderDialect::Gemini,
                format!(
                    "data: {{\"candidates\":[{{\"finishReason\":\"STOP\"}}],\"usageMetadata\":{{\"totalTokenCount\":{number}}}}}\n\n"
                ),
            ),
            (
                ProviderDialect::Ollama,
                format!("{{\"done\":true,\"eval_count\":{number},\"prompt_eval_count\":{number}}}\n"),
            ),
        ];
        for (dialect, body) in events {
            assert_eq!(decoded(dialect, &body).1.tokens_used, 0, "{dialect:?} {number}");
        }
    }
    let most = u64::MAX;
    let body = format!("{{\"done\":true,\"eval_count\":{most},\"prompt_eval_count\":{most}}}\n");
    assert_eq!(decoded(ProviderDialect::Ollama, &body).1.tokens_used, most);
}

#[test]
fn each_limit_is_an_error_of_its_own() {
    for dialect in ALL {
        let fault = |events: &mut dyn Iterator<Item = String>| {
            let mut decoder = Decoder::new(dialect);
            for event in events.take(10_000) {
                if let Err(fault) = decoder.event(event.as_bytes(), &mut VecDeque::new()) {
                    return fault;
                }
                assert!(decoder.held() <= bounds::RETAINED_BYTES);
            }
            panic!("{dialect:?}: no limit was met")
        };
        let mut number = 0;
        let mut calls = std::iter::repeat_with(|| {
            number += 1;
            call_event(dialect, &(number - 1).to_string(), "f", "{}")
        });
        assert_eq!(fault(&mut calls), ModelFault::Calls, "{dialect:?}");
        let long = "n".repeat(bounds::NAME_BYTES + 1);
        assert_eq!(fault(&mut std::iter::once(call_event(dialect, "0", &long, "{}"))), ModelFault::Name);
        let huge = json!({ "a": "x".repeat(bounds::ARGUMENT_BYTES) }).to_string();
        let huge = call_event(dialect, "0", "f", &huge);
        assert_eq!(fault(&mut std::iter::once(huge)), ModelFault::ArgumentBytes, "{dialect:?}");
        let large = json!({ "a": "x".repeat(bounds::ARGUMENT_BYTES - 100) }).to_string();
        let mut number = 0;
        let mut larger = std::iter::repeat_with(|| {
            number += 1;
            call_event(dialect, &(number - 1).to_string(), "f", &large)
        });
        assert_eq!(fault(&mut larger), ModelFault::Retained, "{dialect:?}");
        let many = format!("[{}0]", "0,".repeat(bounds::ARGUMENT_VALUES));
        let mut decoder = Decoder::new(dialect);
        let event = call_event(dialect, "0", "f", &many);
        assert_eq!(decoder.event(event.as_bytes(), &mut VecDeque::new()), Ok(ReplyProgress::More));
        assert_eq!(decoder.finish().err(), Some(ModelFault::ArgumentValues), "{dialect:?}");
    }
}

#[test]
fn a_models_name_stays_in_the_path_of_its_own_origin() {
    for name in ["m", "models/m", "../../x", "//evil.example/x", "x?key=1#y", "@evil.example", "a b\u{202e}"]
    {
        for provider in ["openai", "anthropic", "gemini", "ollama"] {
            let choice = ModelChoice {
                provider: Some(provider.to_owned()),
                name: name.to_owned(),
                url: Some("http://127.0.0.1:9/v1".to_owned()),
            };
            let target = Target::resolve(&choice).unwrap();
            let url = ProviderDialect::of(&target).reply_url(&target);
            assert_eq!(url.origin(), target.base.origin(), "{name}");
            assert_eq!(url.query(), (provider == "gemini").then_some("alt=sse"), "{name}");
            assert_eq!(url.fragment(), None, "{name}");
        }
    }
}

#[test]
fn models_are_listed_and_what_is_no_list_is_unreadable() {
    let openai = br#"{"object":"list","data":[{"id":"a"},{"id":7},{},{"id":"b"}]}"#;
    let gemini = br#"{"models":[{"name":"models/a"},{"name":"b"}]}"#;
    let ollama = br#"{"models":[{"name":"a:8b"}]}"#;
    assert_eq!(ProviderDialect::OpenAiChat.listed(openai), Ok(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(ProviderDialect::Gemini.listed(gemini), Ok(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(ProviderDialect::Ollama.listed(ollama), Ok(vec!["a:8b".to_owned()]));
    for broken in ["", "{}", "null", "{\"data\":null}", "<html>"] {
        assert_eq!(
            ProviderDialect::Anthropic.listed(broken.as_bytes()),
            Err(ModelFault::Unreadable),
            "{broken}"
        );
    }
}

/// A small generator (SplitMix64): the same numbers for the same seed everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end.max(1) as u64).unwrap()
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}

/// Texts that stand where something else is expected.
const ODD: [&str; 16] = [
    "-1",
    "1.5",
    "2147483648",
    "18446744073709551616",
    "1e999",
    "NaN",
    "null",
    "true",
    "\"\"",
    "\"\\ud83d\"",
    "[]",
    "{}",
    "[[[[]]]]",
    "\"index\":4294967296,",
    "\n\n",
    "\0",
];

/// One of a fixture's bytes, tokens or lines is changed, doubled, moved or lost.
fn mutated(random: &mut Random, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(body.len());
        let end = (at + random.below(64)).min(body.len());
        match random.below(7) {
            0 => body[at] = u8::try_from(random.below(256)).unwrap(),
            1 => drop(body.drain(at..end)),
            2 => {
                let piece = body[at..end].to_vec();
                let to = random.below(body.len());
                body.splice(to..to, piece);
            }
            3 => {
                // The value behind a colon.
                let colon = body[at..].iter().position(|byte| *byte == b':').map_or(at, |next| at + next + 1);
                let end = body[colon..].iter().position(|byte| b",}\n".contains(byte));
                body.splice(colon..end.map_or(body.len(), |end| colon + end), random.pick(&ODD).bytes());
            }
            4 => body.truncate(at),
            5 => {
                let mut lines: Vec<Vec<u8>> =
                    body.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                let (one, other) = (random.below(lines.len()), random.below(lines.len()));
                lines.swap(one, other);
                body = lines.concat();
            }
            _ => drop(body.splice(at..at, random.pick(&ODD).bytes())),
        }
        if body.is_empty() {
            break;
        }
    }
    body
}

#[test]
fn ten_thousand_broken_replies_panic_nowhere_and_keep_to_the_limits() {
    let mut random = Random(20_261_122);
    for attempt in 0..10_000 {
        let (dialect, body) = *random.pick(&REPLIES);
        // Sometimes in a protocol that it is not of.
        let dialect = if random.below(8) == 0 { *random.pick(&ALL) } else { dialect };
        let body = mutated(&mut random, body.as_bytes());
        let (deltas, end) = decode_all(dialect, &body);
        let bytes: usize = deltas
            .iter()
            .map(|delta| match delta {
                Delta::Text(text) | Delta::Reasoning(text) => text.len(),
                Delta::Finished(_) => panic!("only `finish` gives the end"),
            })
            .sum();
        // Broken UTF-8 grows by the characters that stand for it.
        assert!(bytes <= body.len() * 3, "attempt {attempt}");
        if let Ok(finished) = end {
            assert!(finished.calls.len() <= bounds::CALLS && finished.parts.len() <= bounds::PARTS);
            assert!(finished.bytes <= bounds::RETAINED_BYTES, "attempt {attempt}");
            assert!(asked_again(dialect, &finished).is_object());
        }
    }
}
