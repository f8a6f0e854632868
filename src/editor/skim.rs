//! A scanner for messages that are too large to keep: what were its `method`, its `id` and its document?
//!
//! Owns a streaming walk over JSON with constant memory. Never keeps a text of a file, and is never fooled by one: only
//! keys at their place in the structure count. What it reads may be cut, or no JSON at all; then it finds less.

use serde_json::Value;

use super::frame::RequestId;

/// Longest key, scalar or string that is kept, raw. URIs are the longest of them.
const KEPT: usize = 8 << 10;

/// What could be told of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Skimmed {
    /// Top-level `method`.
    pub method: Option<String>,
    /// Top-level `id`.
    pub id: Option<RequestId>,
    /// `params.textDocument.uri`.
    pub uri: Option<String>,
}

/// The place a value would be put, if it is one we want.
#[derive(Debug, Clone, Copy, PartialEq)]
enum WantedFields {
    Method,
    Id,
    Uri,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    /// Between tokens.
    Structure,
    /// In a string; whether the last byte was a backslash.
    Text { escaped: bool },
    /// In a number or a word.
    Scalar,
}

/// The scanner. Feed it every byte of a body, then take what it found.
#[derive(Debug)]
pub struct Skimmer {
    mode: Mode,
    /// Open containers.
    depth: u64,
    /// How many of the outermost containers are objects that lead to `params.textDocument`: the innermost open container
    /// is one of them when this equals `depth`.
    on_path: u64,
    /// In a container on the path: the next string is a key.
    expects_key: bool,
    /// The key whose value comes next, in a container on the path.
    key: Option<Vec<u8>>,
    /// Bytes of the token that is read, without quotes; `None` when it is not wanted or too long.
    kept: Option<Vec<u8>>,
    found: Skimmed,
}

impl Default for Skimmer {
    fn default() -> Self {
        Self {
            mode: Mode::Structure,
            depth: 0,
            on_path: 0,
            expects_key: false,
            key: None,
            kept: None,
            found: Skimmed::default(),
        }
    }
}

impl Skimmer {
    /// Reads on.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(&byte) = bytes.first() {
            match self.mode {
                Mode::Text { escaped: false } if self.kept.is_none() => {
                    // The texts of files: skipped at the speed of memchr.
                    let Some(at) = memchr::memchr2(b'"', b'\\', bytes) else { return };
                    if bytes[at] == b'"' {
                        self.end_text();
                    } else {
                        self.mode = Mode::Text { escaped: true };
                    }
                    bytes = &bytes[at + 1..];
                    continue;
                }
                Mode::Text { escaped } => {
                    if byte == b'"' && !escaped {
                        self.end_text();
                    } else {
                        self.keep(byte);
                        self.mode = Mode::Text { escaped: byte == b'\\' && !escaped };
                    }
                }
                Mode::Scalar => {
                    if matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n') {
                        self.end_scalar();
                        self.structure(byte);
                    } else {
                        self.keep(byte);
                    }
                }
                Mode::Structure => self.structure(byte),
            }
            bytes = &bytes[1..];
        }
    }

    /// What was found.
    pub fn finish(self) -> Skimmed {
        self.found
    }

    fn structure(&mut self, byte: u8) {
        match byte {
            b'{' => self.open(true),
            b'[' => self.open(false),
            b'}' | b']' => self.close(),
            b',' => {
                if self.is_on_path() {
                    self.expects_key = true;
                    self.key = None;
                }
            }
            b':' => self.expects_key = false,
            b'"' => {
                self.mode = Mode::Text { escaped: false };
                let wanted = self.is_on_path() && (self.expects_key || self.wanted().is_some());
                self.kept = wanted.then(Vec::new);
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                self.mode = Mode::Scalar;
                self.kept = (self.wanted() == Some(WantedFields::Id)).then(|| vec![byte]);
            }
        }
    }

    fn open(&mut self, object: bool) {
        let leads_on = object
            && self.is_on_path()
            && match self.depth {
                0 => true,
                1 => self.key.as_deref() == Some(b"params"),
                2 => self.key.as_deref() == Some(b"textDocument"),
                _ => false,
            };
        self.depth += 1;
        if leads_on {
            self.on_path = self.depth;
            self.expects_key = true;
            self.key = None;
        }
    }

    fn close(&mut self) {
        if self.is_on_path() {
            self.on_path = self.on_path.saturating_sub(1);
        }
        self.depth = self.depth.saturating_sub(1);
        self.key = None;
        self.expects_key = false;
    }

    fn end_text(&mut self) {
        self.mode = Mode::Structure;
        let kept = self.kept.take();
        if !self.is_on_path() {
            return;
        }
        if self.expects_key {
            self.key = kept.and_then(|raw| unescape(&raw)).map(String::into_bytes);
            self.expects_key = false;
            return;
        }
        let text = kept.and_then(|raw| unescape(&raw));
        match self.wanted() {
            Some(WantedFields::Method) => self.found.method = text,
            Some(WantedFields::Id) => self.found.id = text.map(RequestId::Text),
            Some(WantedFields::Uri) => self.found.uri = text,
            None => {}
        }
        self.key = None;
    }

    fn end_scalar(&mut self) {
        self.mode = Mode::Structure;
        if let Some(raw) = self.kept.take() {
            self.found.id =
                serde_json::from_slice::<Value>(&raw).ok().and_then(|value| RequestId::read(&value));
        }
    }

    fn keep(&mut self, byte: u8) {
        if let Some(kept) = &mut self.kept {
            kept.push(byte);
            if kept.len() > KEPT {
                self.kept = None;
            }
        }
    }

    fn is_on_path(&self) -> bool {
        self.on_path == self.depth
    }

    fn wanted(&self) -> Option<WantedFields> {
        if !self.is_on_path() {
            return None;
        }
        match (self.depth, self.key.as_deref()?) {
            (1, b"method") => Some(WantedFields::Method),
            (1, b"id") => Some(WantedFields::Id),
            (3, b"uri") => Some(WantedFields::Uri),
            _ => None,
        }
    }
}

fn unescape(raw: &[u8]) -> Option<String> {
    let mut quoted = Vec::with_capacity(raw.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(raw);
    quoted.push(b'"');
    serde_json::from_slice(&quoted).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn skim(text: &str, chunk: usize) -> Skimmed {
        let mut skimmer = Skimmer::default();
        text.as_bytes().chunks(chunk).for_each(|chunk| skimmer.feed(chunk));
        skimmer.finish()
    }

    #[test]
    fn only_keys_at_their_place_count() {
        let fooling =
            r#"","method":"fake","id":9,"params":{"textDocument":{"uri":"file:///fake"}}} \ "method": "x""#;
        let message = json!({
            "jsonrpc": "2.0",
            "params": {
                "other": { "uri": "file:///no", "method": "no", "id": 1, "textDocument": { "uri": "file:///no" } },
                "textDocument": {
                    "text": fooling,
                    "nested": [{ "uri": "file:///no" }, ["uri", "file:///no"]],
                    "uri": "file:///päth \"x\"",
                    "languageId": fooling,
                },
                "uri": "file:///no",
                "list": ["textDocument", { "uri": "file:///no" }],
            },
            "list": [{ "method": "no", "id": 3 }, "method", "no"],
            "method": "textDocument/didOpen",
        });
        for text in [message.to_string(), serde_json::to_string_pretty(&message).unwrap()] {
            for chunk in [1, 2, 7, 10_000] {
                assert_eq!(
                    skim(&text, chunk),
                    Skimmed {
                        method: Some("textDocument/didOpen".to_owned()),
                        id: None,
                        uri: Some("file:///päth \"x\"".to_owned())
                    }
                );
            }
        }
    }

    #[test]
    fn ids_are_numbers_or_strings() {
        assert_eq!(skim(r#"{"id":12,"m\u0065thod":"a"}"#, 3).method.as_deref(), Some("a"));
        assert_eq!(skim(r#"{"id":12}"#, 1).id, Some(RequestId::Number(12)));
        assert_eq!(skim(r#"{"id" : "x\n" }"#, 1).id, Some(RequestId::Text("x\n".to_owned())));
        assert_eq!(skim(r#"{"id":null}"#, 1).id, None);
        assert_eq!(skim(r#"[{"id":1}]"#, 1), Skimmed::default());
    }

    #[test]
    fn what_is_too_long_to_keep_is_not_known() {
        let long = "x".repeat(KEPT + 1);
        assert_eq!(skim(&format!(r#"{{"method":"{long}","id":1}}"#), 5).method, None);
        assert_eq!(skim(&format!(r#"{{"{long}":1,"id":1}}"#), 5).id, Some(RequestId::Number(1)));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let words = prop_oneof![
            Just("method".to_owned()),
            Just("id".to_owned()),
            Just("params".to_owned()),
            Just("textDocument".to_owned()),
            Just("uri".to_owned()),
            "[a\"\\\\{}:,\\n é]{0,6}",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            words.clone().prop_map(Value::from)
        ];
        leaf.prop_recursive(6, 48, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(words.clone(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_finds_what_a_parser_finds(value in any_json(), chunk in 1_usize..40) {
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            let expected = match &value {
                Value::Object(message) => Skimmed {
                    method: text(message.get("method")),
                    id: message.get("id").and_then(RequestId::read),
                    uri: text(value.pointer("/params/textDocument/uri").filter(|_| {
                        value["params"].is_object() && value["params"]["textDocument"].is_object()
                    })),
                },
                _ => Skimmed::default(),
            };
            prop_assert_eq!(skim(&value.to_string(), chunk), expected);
        }

        #[test]
        fn nothing_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut skimmer = Skimmer::default();
            skimmer.feed(&bytes);
            skimmer.finish();
        }
    }
}
