//! Inputs that no fixture has: the odd corners of each format, written by hand.

/// The inputs of a target that are written by hand.
pub fn inputs(target: &str) -> &'static [&'static [u8]] {
    match target {
        "acp" => ACP,
        "agent_lines" => &[b"one\r\n\n  \ntwo\nhalf", b"\n\n\n", b"no end"],
        "breadboard" => BREADBOARD,
        "desktop" => DESKTOP,
        "diff" => DIFF,
        "editor" => EDITOR,
        "frames" => FRAMES,
        "front" => &[b"a\nbb\nccc\n\n\xFF", b""],
        "imports" => IMPORTS,
        "lenient_json" => LENIENT_JSON,
        "redact" => REDACT,
        "sse" => SSE,
        _ => &[],
    }
}

const ACP: &[&[u8]] = &[
    br#"{"jsonrpc":"2.0","id":"x","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","title":"t","kind":"edit","content":[{"type":"diff","path":"/a","oldText":null,"newText":"b"}]},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"}]}}"#,
    br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"pending"}]}}}"#,
    b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}\n{\"id\":3,\"result\":null}\n{\"id\":4}\n[]\n{\"method\":7}",
    b"{\"id\":1.50,\"method\":\"a/b\",\"params\":[1,NaN,\"\\ud83d\"]}\nnot json\n\xFF\xFE",
];

const BREADBOARD: &[&[u8]] = &[
    b"id: 4\nevent: message\ndata: {\"type\":\"tool_call\",\"seq\":4,\ndata: \"payload\":{\"call_id\":\"c\"}}\n\n",
    b"data: {\"id\":\"u\",\"type\":\"stream.gap\",\"seq\":null,\"payload\":{\"from\":3}}\n\n",
    b"data: {\"type\":\"reward_update\",\"seq\":1e0,\"payload\":{\"total\":NaN,\"half\":\"\\ud83d\"}}\n\n",
    b"data: {\"type\":\"a\",\"type\":\"b\",\"seq\":18446744073709551615,\"turn\":-1,\"timestamp\":1.5,\"payload\":[]}\n\n",
    b"data: no json\n\ndata: [1]\n\ndata: \xFF\xFE{}\n\n",
    br#"{"type":"permission_request","seq":9,"payload":{"request_id":"r","tool":"run_shell","items":[{"category":"shell","pattern":"echo *","metadata":{"command":"echo a"}}],"rule_suggestion":"echo *","default_scope":"project"}}"#,
    br#"{"type":"task_event","seq":2,"payload":{"kind":"subagent.permission_request","task_id":"t","request":{"id":"r"}}}"#,
];

const DESKTOP: &[&[u8]] = &[
    br#"{"type":"tool.execute","call_id":"c","tool_name":"read_file","args":{"path":"a"},"status":"completed","result":{"summary":"x"}}"#,
    br#"{"type":"command.request_approval","request_id":"r","command_id":"c","command":"ls","working_directory":".","environment":{},"requires_approval":true,"reason":""}"#,
    b"{\"type\":\"assistant.token\",\"token\":\"a\",\"cumulative_text\":\"a\"}\n{\"type\":\"server.error\",\"error\":{\"code\":\"MODEL_ERROR\",\"message\":\"m\",\"details\":{},\"recoverable\":true}}\n",
    b"{\"type\":7}\n{\"type\":\"local.prompt\",\"text\":\"x\"}\n{\"type\":\"session.state\",\"state\":{\"pending_patches\":[],\"applied_patches\":[],\"pending_approvals\":[],\"current_step\":1,\"total_steps\":2}}",
];

const DIFF: &[&[u8]] = &[
    b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\ndiff --git a/y b/y\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+n\n",
    b"--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\nfn a() {\n\n-b\n+c\n }\n",
    b"--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n--- old\n+++ new\n@@ -9,1 +9,1 @@\n-p\n+q\n",
    b"```diff\n@@ -3,9 +3,9 @@ fn x\n a\n-b\n+c\n```\n",
    b"a\nb\nc\nd\ne\nf\ng\nh\0a\nb\nC\nd\ne\nf\ng\nh\n",
    b"a\r\nb\nc\r\nd\n\0a\nB\nc\nd",
    b"x\ny\nx\ny\n\0@@ -9,1 +9,1 @@\n-x\n+z\n",
    b"\xC3\xA9\xF0\x9D\x84\x9E\r\n\r\0\r\n\xF0\x9D\x84\x9E",
];

const EDITOR: &[&[u8]] = &[
    br#"{"rootUri":"file:///w","capabilities":{"general":{"positionEncodings":["utf-8","utf-16"]},"window":{"workDoneProgress":true}},"workspaceFolders":[{"uri":"file:///w%20x","name":""}],"trace":"verbose","initializationOptions":{"workspaceTrusted":true,"stateDir":"/s"}}"#,
    br#"{"engine":{"kind":"breadboard","url":"http://127.0.0.1:9","caFile":"f"},"agents":{"a":{"command":"x","args":["--y"],"env":{"K":"v"},"terminals":true},"b":7},"model":{"name":"m"},"delivery":{"maxLatencyMs":9999999,"maxEvents":0,"maxBytes":1},"retention":{"maxBytes":1},"approvals":{"expireAfterSeconds":18446744073709551615},"workspaceTrusted":"yes"}"#,
    b"[]",
    b"bb/attachment/put\n{\"sessionId\":\"s\",\"name\":\"a.png\",\"mime\":\"image/png\",\"data\":\"AAAA\"}",
    b"bb/openDiff\n{\"sessionId\":\"s\",\"path\":\"a\",\"left\":\"git:HEAD\",\"right\":\"buffer\"}",
    b"bb/readFileSnippet\n{\"path\":\"a\",\"headLines\":3,\"tailLines\":-1,\"maxBytes\":1e9}",
    b"bb/nothing\n{}",
];

const FRAMES: &[&[u8]] = &[
    b"Content-Length: 33\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}Content-Length: 44\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"shutdown\"}",
    b"Content-Type: x\nCONTENT-length:  2 \n\n{}warning: loaded\nContent-Length: many\r\n\r\n{}",
    b"Content-Length: 68719476736\r\n\r\nContent-Length: 3\r\n\r\n[1]",
    b"Content-Length: 2100\r\n\r\n{\"params\":{\"textDocument\":{\"text\":\"Content-Length: 3\\r\\n\",\"uri\":\"file:///a\"}},\"method\":\"textDocument/didOpen\",\"id\":1}",
    br#"{"params":{"textDocument":{"text":"\"method\":\"x\"","uri":"file:///\u0061"},"uri":"no"},"id":"x\n","method":"textDocument/didOpen"}"#,
];

const IMPORTS: &[&[u8]] = &[
    b"# Title\n\ntext \xC3\xA9\n",
    b"\xEF\xBB\xBF# Title\r\n",
    b"\xFF\xFE#\0 \0a\0\n\0",
    b"Le caf\xE9 est tr\xE8s agr\xE9able",
    b"\x82\xB1\x82\xEA\x82\xCD\x93\xFA\x96\x7B\x8C\xEA",
    b"\x1B$B$3$l$O\x1B(B",
    b"src/a.rs",
    b"./a//b/../c",
    b"C:\\x\\..\\y",
    b"file:///etc/passwd",
    b"git:HEAD~3",
    b"checkpoint:ck-1",
    b"artifact:.breadboard/out.txt",
    b"bb-diff:///s%2F1/~/git%3AHEAD/src/a%20b.rs",
    b"bb-diff:/s/root/patch%3Ap1/a",
];

const LENIENT_JSON: &[&[u8]] = &[
    br#"{"a":NaN,"b":-Infinity,"c":[Infinity,1e999,-0,1E+2],"d":"\ud83d","e":"\ud83d\ude00","f":null}"#,
    b"{\"broken\":\"\xFF\xC3\",\"nan\":\"NaN\"}",
    br#"[[[[[[[[[["\u0041\n\"\\\/"]]]]]]]]]]"#,
    b"{\"a\":1,}",
    b"123456789012345678901234567890.5",
];

const REDACT: &[&[u8]] = &[
    b"sk-secret-1\nthe key is sk-secret-1, and sk-secret-sk-secret-1",
    b"pass\"word\\1\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":\"pass\\\"word\\\\1\",\"b\":\"{\\\"k\\\":\\\"pass\\\\\\\"word\\\\\\\\1\\\"}\"}}",
    b"aaaaaa\naaaaaaaaaaaaaa",
    b"t\xC3\xB6k\xC3\xA9n-\xF0\x9F\x98\x80\n{\"a\":\"t\\u00f6k\\u00e9n-\\ud83d\\ude00\"}",
    b"a/b+c=d\nAuthorization: Bearer a/b+c=d\r\n",
];

const SSE: &[&[u8]] = &[
    b"\xEF\xBB\xBF: comment\n\nevent: add\ndata: one\ndata: two\nid: 7\nretry: 250\n\n",
    b"data\r\rdata:\r\n\r\ndata:  two spaces\r\n\n",
    b"id: 1\ndata: a\n\nid\ndata: b\n\nid: x\0y\ndata: c\n\nretry: 1x\nretry: 99999999999999999999\n\n",
    b"data: a line that is longer than the small bound of the target\nid: 9\n\ndata: short\n\n",
    b"dat\xC3a: x\ndataa: y\n:data: z\nevent: \xFF\ndata: \xFF\n\nunfinished",
];
