//! What a hostile endpoint sends, and what must come of each.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use serde_json::json;

use super::endpoint::{Provider, Serve, drip, forever, head, hold, streaming};

/// What a turn comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// An error with this in its sentence.
    Fails(&'static str),
    /// An answer with this in it.
    Answers(&'static str),
    /// Nothing, until it is stopped.
    GoesOn,
}

/// One attack.
#[derive(Clone)]
pub struct Attack {
    pub name: String,
    pub outcome: Outcome,
    pub serve: Serve,
}

fn attack(
    name: &str,
    outcome: Outcome,
    serve: impl Fn(&mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
) -> Attack {
    Attack { name: name.to_owned(), outcome, serve: Arc::new(serve) }
}

/// A stream that is this text.
fn stream(name: &str, outcome: Outcome, body: impl Into<Vec<u8>>) -> Attack {
    let body = body.into();
    attack(name, outcome, move |stream| {
        streaming(stream)?;
        stream.write_all(&body)
    })
}

/// A stream that is this event, again and again.
fn endless(name: &str, outcome: Outcome, piece: impl Into<Vec<u8>>) -> Attack {
    let piece = piece.into();
    attack(name, outcome, move |stream| {
        streaming(stream)?;
        forever(stream, &piece)
    })
}

/// A stream of events, each made from its number.
fn counted(
    name: &str,
    outcome: Outcome,
    provider: Provider,
    make: impl Fn(usize) -> String + Send + Sync + 'static,
) -> Attack {
    attack(name, outcome, move |stream| {
        streaming(stream)?;
        for number in 0.. {
            stream.write_all(provider.event(&make(number)).as_bytes())?;
        }
        Ok(())
    })
}

/// A whole head and body as they are.
fn raw(name: &str, outcome: Outcome, bytes: impl Into<Vec<u8>>) -> Attack {
    let bytes = bytes.into();
    attack(name, outcome, move |stream| stream.write_all(&bytes))
}

/// A good reply that says `fine`.
fn fine(provider: Provider) -> String {
    provider.event(&provider.text("fine").to_string()) + &provider.end()
}

/// A gzip stream of as many letters `A`: one literal, then copies of 258 bytes from one byte before, in fixed codes.
fn gzip_bomb(bytes: usize) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let (mut held, mut count) = (0_u64, 0);
    let mut put = |value: u64, bits: u32| {
        held |= value << count;
        count += bits;
        while count >= 8 {
            out.push((held & 0xff) as u8);
            held >>= 8;
            count -= 8;
        }
    };
    // The last block, in fixed codes; the code of `A` is 0x71, of the length 258 is 0xc5, each from its highest bit on.
    put(0b011, 3);
    put(u64::from(0x71_u8.reverse_bits()), 8);
    for _ in 0..bytes / 258 {
        put(u64::from(0xc5_u8.reverse_bits()), 8);
        put(0, 5);
    }
    put(0, 7 + 7);
    out
}

pub fn tool_number(provider: Provider, number: &str) -> Attack {
    let name = format!("{} tool number {number}", provider.name());
    stream(&name, Outcome::Fails("numbered a tool call"), provider.event(&provider.call(number, "x", "{}")))
}

/// A line of so many MiB: a call with long arguments, and a field that means nothing. The tool is refused what it asks, and
/// the next reply is good.
pub fn long_line(provider: Provider, mib: usize) -> Attack {
    let length = (mib << 20) - 256;
    let arguments = json!({ "path": "a".repeat(length.min(3 << 20)) }).to_string();
    let call = provider.call("0", "read_file", &arguments);
    let rest = length.saturating_sub(call.len());
    let event = format!("{{\"padding\":\"{}\",{}", "p".repeat(rest), call.trim_start_matches('{'));
    let name = format!("{} line of {mib} MiB", provider.name());
    stream(&name, Outcome::Answers("fine"), provider.event(&event) + &provider.end())
}

/// So much of an event, and then nothing more. Says when it was written, or when the server closed the connection.
pub fn half_an_event(bytes: usize, written: Sender<()>) -> Serve {
    Arc::new(move |stream| {
        let write = |stream: &mut TcpStream| {
            streaming(stream)?;
            stream.write_all(b"data: ")?;
            stream.write_all(&b"a".repeat(bytes))
        };
        let outcome = write(stream);
        // The test may be over.
        let _ = written.send(());
        outcome?;
        hold(stream)
    })
}

pub fn of_the_transport() -> Vec<Attack> {
    let openai = Provider::OpenAi;
    let good = fine(openai);
    let mut attacks = Vec::new();
    for encoding in ["gzip", "deflate", "br", "zstd", "identity, gzip", "nonsense"] {
        attacks.push(attack(
            &format!("64 MiB in the encoding {encoding}"),
            Outcome::Fails("compressed its answer"),
            move |stream| {
                head(stream, "200 OK", &format!("content-encoding: {encoding}\r\n"))?;
                stream.write_all(&gzip_bomb(64 << 20))
            },
        ));
    }
    attacks.push(attack("compressed and not said", Outcome::Fails("could not be read"), |stream| {
        streaming(stream)?;
        stream.write_all(&gzip_bomb(1 << 20))
    }));
    for kind in ["image/png", "text/html; charset=utf-7", "\u{ff}\u{fe}", "application/json", ""] {
        let good = good.clone();
        attacks.push(attack(&format!("content type {kind:?}"), Outcome::Answers("fine"), move |stream| {
            head(stream, "200 OK", &format!("content-type: {kind}\r\n"))?;
            stream.write_all(good.as_bytes())
        }));
    }
    for (status, part) in [
        ("400 Bad Request", "HTTP 400"),
        ("401 Unauthorized", "wants a key"),
        ("404 Not Found", "HTTP 404"),
        ("429 Too Many Requests", "HTTP 429"),
        ("500 Oops", "HTTP 500"),
        ("999 What", "HTTP 999"),
    ] {
        attacks.push(attack(
            &format!("{status} with an endless body"),
            Outcome::Fails(part),
            move |stream| {
                head(stream, status, "content-type: application/json\r\n")?;
                forever(stream, b"{\"error\":{\"message\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
            },
        ));
    }
    attacks.push(attack("400 with a body of 300 MiB", Outcome::Fails("HTTP 400"), |stream| {
        head(stream, "400 Bad Request", &format!("content-length: {}\r\n", 300 << 20))?;
        forever(stream, b"a")
    }));
    attacks.push(attack("500 with a slow body", Outcome::Fails("HTTP 500"), |stream| {
        head(stream, "500 Oops", "")?;
        drip(stream, b"a")
    }));
    for (status, to) in
        [("301 Moved", "http://127.0.0.1:1/"), ("307 Moved", "/v1/chat/completions"), ("308 Moved", "//x/")]
    {
        let answer = format!("HTTP/1.1 {status}\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
        attacks.push(raw(&format!("redirect to {to}"), Outcome::Fails("redirect"), answer));
    }
    attacks.push(attack("endless headers", Outcome::Fails("broke"), |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        forever(stream, b"x-a: b\r\n")
    }));
    attacks.push(attack("an endless header", Outcome::Fails("broke"), |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nx-a: ")?;
        forever(stream, b"b")
    }));
    attacks.push(attack("an endless status line", Outcome::Fails("broke"), |stream| {
        stream.write_all(b"HTTP/1.1 200 ")?;
        forever(stream, b"b")
    }));
    attacks.push(attack("slow headers", Outcome::GoesOn, |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nx-a: ")?;
        drip(stream, b"b")
    }));
    let interim = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    attacks.push(attack("slow interim answers", Outcome::GoesOn, move |stream| drip(stream, interim)));
    let late = fine(openai);
    attacks.push(attack("20,000 interim answers", Outcome::Answers("fine"), move |stream| {
        stream.write_all(&interim.repeat(20_000))?;
        streaming(stream)?;
        stream.write_all(late.as_bytes())
    }));
    attacks.push(attack("no answer", Outcome::GoesOn, hold));
    attacks.push(attack("a head and nothing more", Outcome::GoesOn, |stream| {
        streaming(stream)?;
        hold(stream)
    }));
    attacks.push(raw("a closed connection", Outcome::Fails("broke"), ""));
    attacks.push(raw("half a head", Outcome::Fails("broke"), "HTTP/1.1 200 OK\r\ncontent-ty"));
    attacks.push(raw("no HTTP", Outcome::Fails("speaks no HTTP"), vec![0xff; 4096]));
    attacks.push(raw(
        "an empty body",
        Outcome::Fails("could not be read"),
        "HTTP/1.1 204 No Content\r\n\r\n",
    ));
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (name, chunk) in [
        ("a chunk of no number", "ZZZ\r\n"),
        ("a chunk of 2^64 bytes", "10000000000000000\r\n"),
        ("a negative chunk", "-1\r\n"),
        ("a chunk that is cut", "40\r\ndata: {"),
    ] {
        attacks.push(raw(name, Outcome::Fails("broke"), format!("{chunked}{chunk}")));
    }
    attacks.push(attack("an endless chunk extension", Outcome::Fails("broke"), move |stream| {
        stream.write_all(chunked.as_bytes())?;
        stream.write_all(b"5;")?;
        forever(stream, b"a")
    }));
    attacks.push(attack("endless trailers", Outcome::Fails("broke"), move |stream| {
        stream.write_all(format!("{chunked}6\r\n: hi\n\n\r\n0\r\n").as_bytes())?;
        forever(stream, b"x-a: b\r\n")
    }));
    let short = format!("HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{}", openai.event("{}"));
    attacks.push(raw("fewer bytes than said", Outcome::Fails("broke"), short));
    attacks
}

pub fn of_openai() -> Vec<Attack> {
    let openai = Provider::OpenAi;
    let event = |text: &str| openai.event(text);
    let delta = |delta: &str| event(&format!("{{\"choices\":[{{\"delta\":{delta}}}]}}"));
    let big = "x".repeat(32 * 1024);
    let finished = openai.end();
    let mut attacks = vec![
        attack("an endless line", Outcome::Fails("larger than 16 MiB"), |stream| {
            streaming(stream)?;
            stream.write_all(b"data: ")?;
            forever(stream, b"A")
        }),
        attack("an endless comment", Outcome::Fails("larger than 256 MiB"), |stream| {
            streaming(stream)?;
            stream.write_all(b":")?;
            forever(stream, b"A")
        }),
        attack("an endless event of many lines", Outcome::Fails("larger than 16 MiB"), |stream| {
            streaming(stream)?;
            forever(stream, b"data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n")
        }),
        attack("an endless id", Outcome::Fails("larger than 16 MiB"), |stream| {
            streaming(stream)?;
            stream.write_all(b"id: ")?;
            forever(stream, b"A")
        }),
        endless("endless blank lines", Outcome::GoesOn, "\n"),
        endless("endless empty events", Outcome::GoesOn, event("{}")),
        endless("endless events of no content", Outcome::GoesOn, delta("{\"content\":\"\"}")),
        endless("endless text", Outcome::Fails("grew past 1 MiB"), event(&openai.text(&big).to_string())),
        endless(
            "endless reasoning",
            Outcome::Fails("grew past 8 MiB"),
            delta(&json!({ "reasoning_content": big }).to_string()),
        ),
        endless(
            "endless arguments",
            Outcome::Fails("4 MiB of arguments"),
            event(&openai.call("0", "f", &big)),
        ),
        counted("endless calls", Outcome::Fails("more than 128 tools"), openai, move |number| {
            Provider::OpenAi
                .call(&number.min(128).to_string(), "f", "{}")
                .replace("\"index\":128,\"id\"", "\"id\"")
        }),
        endless(
            "endless calls without a number",
            Outcome::Fails("more than 128 tools"),
            event(&openai.call("null", "f", "{}")),
        ),
        attack("slow bytes", Outcome::GoesOn, |stream| {
            streaming(stream)?;
            drip(stream, b"d")
        }),
        attack("slow comments", Outcome::GoesOn, |stream| {
            streaming(stream)?;
            drip(stream, b": still here\n\n")
        }),
        attack("slow empty events", Outcome::GoesOn, |stream| {
            streaming(stream)?;
            drip(stream, b"data: {}\n\n")
        }),
        stream("deep JSON", Outcome::Fails("could not be read"), event(&"[".repeat(1 << 20))),
        stream("deep objects", Outcome::Fails("could not be read"), event(&"{\"a\":".repeat(1 << 20))),
        stream("deep arguments", Outcome::Answers("fine"), {
            let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
            event(&openai.call("0", "read_file", &deep)) + &finished
        }),
        stream("arguments of a million values", Outcome::Fails("100000 values"), {
            event(&openai.call("0", "f", &format!("[{}0]", "0,".repeat(1_000_000)))) + &finished
        }),
        stream(
            "a million choices",
            Outcome::Fails("parts"),
            event(&format!("{{\"choices\":[{}{{}}]}}", "{},".repeat(1_000_000))),
        ),
        stream(
            "a million calls in one event",
            Outcome::Fails("128 tools"),
            delta(&format!("{{\"tool_calls\":[{}{{}}]}}", "{},".repeat(1_000_000))),
        ),
        stream(
            "a name of a MiB",
            Outcome::Fails("too long to be a name"),
            event(&openai.call("0", &"n".repeat(1 << 20), "{}")),
        ),
        stream("numbers that are none", Outcome::Answers("fine"), {
            let usage = "{\"choices\":[],\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":1e300,\"total_tokens\":NaN}}";
            event(&openai.text("fine").to_string()) + &event(usage) + &finished
        }),
        stream("types that are others", Outcome::Answers("fine"), {
            let odd = "{\"choices\":[{\"delta\":{\"content\":{\"a\":1},\"tool_calls\":\"x\",\"reasoning\":[[]]},\"finish_reason\":7}],\"usage\":[]}";
            event(odd) + &fine(openai)
        }),
        stream(
            "an error in the stream",
            Outcome::Fails("broke off: no more"),
            event("{\"error\":{\"message\":\"no more\"}}"),
        ),
        stream("an end at once", Outcome::Answers("empty answer"), event("[DONE]")),
        stream("a cut stream", Outcome::Fails("cut off"), event(&openai.text("a").to_string())),
        stream("a cut event", Outcome::Fails("could not be read"), "data: {\"choices\":[{\"delta\""),
        stream("a page", Outcome::Fails("could not be read"), "<html><body>Sign in</body></html>\n\n"),
        stream(
            "another protocol",
            Outcome::Fails("could not be read"),
            "{\"message\":{\"content\":\"hi\"},\"done\":true}\n",
        ),
        stream("a text that is no JSON", Outcome::Fails("could not be read"), event("hello")),
        stream("a list", Outcome::Fails("could not be read"), event("[1,2,3]")),
        stream(
            "a byte order mark and other line ends",
            Outcome::Answers("fine"),
            format!("\u{feff}{}", fine(openai).replace('\n', "\r")),
        ),
    ];
    let mut broken =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"f\xff\xfe fine \\ud83d\"}}]}\n\n".to_vec();
    broken.extend(finished.as_bytes());
    attacks.push(stream("broken text", Outcome::Answers("fine"), broken));
    attacks
}

pub fn of_anthropic() -> Vec<Attack> {
    let anthropic = Provider::Anthropic;
    let big = "x".repeat(32 * 1024);
    let delta = |kind: &str, field: &str| {
        let delta = json!({ "type": kind, field: big });
        anthropic.event(&json!({ "type": "content_block_delta", "index": 0, "delta": delta }).to_string())
    };
    let thinking = "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}";
    let after = |first: String, then: String| {
        move |stream: &mut TcpStream| {
            streaming(stream)?;
            stream.write_all(first.as_bytes())?;
            forever(stream, then.as_bytes())
        }
    };
    vec![
        stream("a good answer", Outcome::Answers("fine"), fine(anthropic)),
        endless("endless pings", Outcome::GoesOn, anthropic.event("{\"type\":\"ping\"}")),
        endless("endless text", Outcome::Fails("grew past 1 MiB"), delta("text_delta", "text")),
        endless("endless thinking", Outcome::Fails("grew past 8 MiB"), delta("thinking_delta", "thinking")),
        attack(
            "an endless signature",
            Outcome::Fails("grew past 8 MiB"),
            after(anthropic.event(thinking), delta("signature_delta", "signature")),
        ),
        endless("endless thinking blocks", Outcome::Fails("more than 512 parts"), anthropic.event(thinking)),
        attack(
            "endless arguments",
            Outcome::Fails("4 MiB of arguments"),
            after(
                anthropic.event(&anthropic.call("0", "f", "{}")),
                delta("input_json_delta", "partial_json"),
            ),
        ),
        endless(
            "endless arguments of no call",
            Outcome::Fails("grew past 8 MiB"),
            delta("input_json_delta", "partial_json"),
        ),
        counted("endless calls", Outcome::Fails("more than 128 tools"), anthropic, |number| {
            Provider::Anthropic.call(&number.to_string(), "f", "{}")
        }),
        stream("an endless error", Outcome::Fails("broke off"), {
            let error = json!({ "type": "error", "error": { "type": "x", "message": "m".repeat(1 << 20) } });
            anthropic.event(&error.to_string())
        }),
        stream(
            "an end at once",
            Outcome::Answers("empty answer"),
            anthropic.event("{\"type\":\"message_stop\"}"),
        ),
        stream("an event of no type", Outcome::Fails("could not be read"), anthropic.event("{\"a\":1}")),
        stream("a cut stream", Outcome::Fails("cut off"), anthropic.event(&anthropic.text("a").to_string())),
        stream("numbers that are none", Outcome::Answers("fine"), {
            let usage = "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":-1,\"output_tokens\":1e400}}}";
            anthropic.event(usage) + &fine(anthropic)
        }),
    ]
}

pub fn of_gemini() -> Vec<Attack> {
    let gemini = Provider::Gemini;
    let big = "x".repeat(32 * 1024);
    let part = |part: serde_json::Value| {
        gemini.event(&json!({ "candidates": [{ "content": { "parts": [part] } }] }).to_string())
    };
    vec![
        stream("a good answer", Outcome::Answers("fine"), fine(gemini)),
        endless("endless events of usage", Outcome::GoesOn, gemini.event("{\"usageMetadata\":{}}")),
        endless("endless text", Outcome::Fails("grew past 1 MiB"), part(json!({ "text": big }))),
        endless(
            "endless thoughts",
            Outcome::Fails("grew past 8 MiB"),
            part(json!({ "text": big, "thought": true })),
        ),
        endless(
            "endless signatures",
            Outcome::Fails("grew past 8 MiB"),
            part(json!({ "text": "", "thoughtSignature": big })),
        ),
        endless("endless calls", Outcome::Fails("128 tools"), gemini.event(&gemini.call("0", "f", "{}"))),
        endless(
            "endless large calls",
            Outcome::Fails("grew past 8 MiB"),
            gemini.event(&gemini.call("0", "f", &json!({ "a": "x".repeat(1 << 20) }).to_string())),
        ),
        stream(
            "a call of 8 MiB",
            Outcome::Fails("4 MiB of arguments"),
            gemini.event(&gemini.call("0", "f", &json!({ "a": "x".repeat(8 << 20) }).to_string())),
        ),
        stream(
            "a million parts",
            Outcome::Fails("parts"),
            gemini.event(&format!(
                "{{\"candidates\":[{{\"content\":{{\"parts\":[{}{{}}]}}}}]}}",
                "{},".repeat(1_000_000)
            )),
        ),
        stream(
            "deep arguments",
            Outcome::Fails("could not be read"),
            gemini.event(&gemini.call("0", "f", &format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)))),
        ),
        stream(
            "a question that is blocked",
            Outcome::Fails("SAFETY"),
            gemini.event("{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}"),
        ),
        stream(
            "a list and no stream",
            Outcome::Fails("could not be read"),
            format!("[{}]", gemini.text("hi")),
        ),
        stream("a cut stream", Outcome::Fails("cut off"), gemini.event(&gemini.text("a").to_string())),
        stream("numbers that are none", Outcome::Answers("fine"), {
            gemini.event("{\"usageMetadata\":{\"totalTokenCount\":-5,\"promptTokenCount\":1.5}}")
                + &fine(gemini)
        }),
    ]
}

pub fn of_ollama() -> Vec<Attack> {
    let ollama = Provider::Ollama;
    let big = "x".repeat(32 * 1024);
    vec![
        stream("a good answer", Outcome::Answers("fine"), fine(ollama)),
        stream(
            "other line ends and blank lines",
            Outcome::Answers("fine"),
            fine(ollama).replace('\n', "\r\n\r\n \n"),
        ),
        stream("a last line without its end", Outcome::Answers("fine"), fine(ollama).trim_end().to_owned()),
        attack("an endless line", Outcome::Fails("larger than 16 MiB"), |stream| {
            streaming(stream)?;
            forever(stream, b"A")
        }),
        endless("endless blank lines", Outcome::GoesOn, "\n"),
        endless("endless empty objects", Outcome::GoesOn, "{}\n"),
        endless(
            "endless text",
            Outcome::Fails("grew past 1 MiB"),
            ollama.event(&ollama.text(&big).to_string()),
        ),
        endless(
            "endless thinking",
            Outcome::Fails("grew past 8 MiB"),
            ollama.event(&json!({ "message": { "thinking": big } }).to_string()),
        ),
        endless("endless calls", Outcome::Fails("128 tools"), ollama.event(&ollama.call("0", "f", "{}"))),
        stream(
            "a million calls in one line",
            Outcome::Fails("128 tools"),
            ollama.event(&format!("{{\"message\":{{\"tool_calls\":[{}{{}}]}}}}", "{},".repeat(1_000_000))),
        ),
        stream(
            "arguments of a million values",
            Outcome::Fails("100000 values"),
            ollama.event(&ollama.call("0", "f", &format!("[{}0]", "0,".repeat(1_000_000)))) + &ollama.end(),
        ),
        stream("no end", Outcome::Fails("cut off"), ollama.event(&ollama.text("a").to_string())),
        stream("Server-Sent Events", Outcome::Fails("could not be read"), "data: {\"done\":true}\n\n"),
        stream("lines that are no objects", Outcome::Fails("could not be read"), "[1]\n"),
        stream("an error", Outcome::Fails("broke off: no memory"), "{\"error\":\"no memory\"}\n"),
        stream("deep JSON", Outcome::Fails("could not be read"), "[".repeat(8 << 20)),
        stream("numbers that are none", Outcome::Answers("fine"), {
            ollama.event(&ollama.text("fine").to_string())
                + "{\"done\":true,\"eval_count\":-1,\"prompt_eval_count\":1e400}\n"
        }),
    ]
}

/// Lists of models: what is sent, and the first model of the answer or what its refusal says.
pub fn of_lists() -> Vec<(&'static str, Serve, Result<&'static str, &'static str>)> {
    fn list(headers: &'static str, body: impl Into<Vec<u8>>) -> Serve {
        let body = body.into();
        Arc::new(move |stream: &mut TcpStream| {
            head(stream, "200 OK", headers)?;
            stream.write_all(&body)
        })
    }
    let endless =
        |status: &'static str, headers: &'static str, first: &'static [u8], piece: &'static [u8]| -> Serve {
            Arc::new(move |stream: &mut TcpStream| {
                head(stream, status, headers)?;
                stream.write_all(first)?;
                forever(stream, piece)
            })
        };
    let endless_headers: Serve = Arc::new(|stream: &mut TcpStream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        forever(stream, b"x-a: b\r\n")
    });
    let three_mib =
        format!("{{\"data\":[{{\"id\":\"a\"}}{}]}}", ",{\"id\":\"model-of-some-length\"}".repeat(100_000));
    vec![
        (
            "a list of 500 MiB",
            endless("200 OK", "content-length: 524288000\r\n", b"{\"data\":[", b"{\"id\":\"a\"},"),
            Err("larger than 4 MiB"),
        ),
        (
            "an endless list",
            endless("200 OK", "", b"{\"data\":[", b"{\"id\":\"a\"},"),
            Err("larger than 4 MiB"),
        ),
        (
            "a list in gzip",
            list("content-encoding: gzip\r\n", gzip_bomb(64 << 20)),
            Err("compressed its answer"),
        ),
        ("a refusal of 300 MiB", endless("400 Bad Request", "", b"", b"a"), Err("HTTP 400")),
        ("endless headers", endless_headers, Err("broke")),
        ("a deep list", list("", "[".repeat(2 << 20)), Err("could not be read")),
        ("a page", list("", "<html>"), Err("could not be read")),
        ("a cut list", list("content-length: 5000\r\n", "{\"data\":["), Err("broke")),
        ("odd entries", list("", "{\"data\":[1,null,{\"id\":7},{\"id\":\"a\"},[]]}"), Ok("a")),
        ("a list of 3 MiB", list("", three_mib), Ok("a")),
    ]
}
