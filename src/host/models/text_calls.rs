//! Calls of tools that a model writes as text, because its server does not turn them into calls.
//!
//! Owns the few notations that open models are trained on, and holds their text back while it streams, so that nobody reads it as the
//! answer. Only what ends a reply and names a tool that is offered is a call; everything else stays what it is, text.

use serde_json::{Map, Value};

use super::conversation::{Call, Finished, Part, SpokenCall};

/// Where a call may begin.
const MARKS: [&str; 5] = ["<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<function=", "<|tool_call|>"];

/// What each of them begins with.
const MARK_STARTS: [char; 2] = ['<', '['];

/// Bytes of text that are looked at.
const LIMIT: usize = 256 * 1024;

/// Calls in one reply.
const CALLS: usize = 16;

/// The text of one reply as it streams.
#[derive(Debug)]
pub(crate) struct TextCalls {
    names: Vec<String>,
    /// What was not passed on.
    held: String,
}

impl TextCalls {
    /// A reply of a model that was offered these tools.
    pub(crate) fn of(names: Vec<String>) -> Self {
        Self { names, held: String::new() }
    }

    /// A piece came; gives what can be shown.
    pub(crate) fn piece(&mut self, piece: String) -> String {
        // Nearly every piece: it is passed on as it is.
        if self.held.is_empty() && !piece.contains(MARK_STARTS) {
            return piece;
        }
        self.held.push_str(&piece);
        if self.names.is_empty() || self.held.len() > LIMIT {
            return std::mem::take(&mut self.held);
        }
        let from = MARKS.iter().filter_map(|mark| self.held.find(mark)).min().unwrap_or_else(|| {
            // A mark may have begun at the end.
            let begun =
                |mark: &str| (1..mark.len()).rev().find(|length| self.held.ends_with(&mark[..*length]));
            self.held.len() - MARKS.iter().filter_map(|mark| begun(mark)).max().unwrap_or(0)
        });
        let rest = self.held.split_off(from);
        std::mem::replace(&mut self.held, rest)
    }

    /// The reply is complete; gives what is to be shown of it yet, and the reply with what it wrote as calls.
    pub(crate) fn finish(self, reply: Finished) -> (String, Finished) {
        if self.held.is_empty() || !reply.calls.is_empty() {
            return (self.held, reply);
        }
        match calls_in(&self.held, &self.names) {
            Some(calls) => (String::new(), with_calls(reply, &self.held, calls)),
            None => (self.held, reply),
        }
    }
}

/// The reply with the calls in the place of their text.
fn with_calls(reply: Finished, text: &str, calls: Vec<Call>) -> Finished {
    let mut parts = reply.parts();
    if let Some(Part::Text { text: said, .. }) =
        parts.iter_mut().rev().find(|part| matches!(part, Part::Text { .. }))
        && let Some(before) = said.strip_suffix(text)
    {
        *said = before.to_owned();
    }
    parts.extend(
        calls.into_iter().map(|call| Part::Call(SpokenCall { call, provider_id: None, signature: None })),
    );
    Finished { tokens_used: reply.tokens_used, usage: reply.usage, ..Finished::again(parts) }
}

/// The calls that a text consists of; `None` where it is anything else.
fn calls_in(text: &str, names: &[String]) -> Option<Vec<Call>> {
    let mut rest = text.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
        let (calls, behind) = match mark {
            Some(&"<function=") => function(rest)?,
            Some(mark) => marked(&rest[mark.len()..], names)?,
            None => return None,
        };
        found.extend(calls);
        rest = behind.trim();
        if found.len() > CALLS {
            return None;
        }
    }
    let is_offered = |(name, _): &(String, Value)| names.iter().any(|known| known == name);
    if found.is_empty() || !found.iter().all(is_offered) {
        return None;
    }
    let call = |(number, (name, arguments)): (usize, (String, Value))| Call {
        call_id: format!("call_{number}"),
        name,
        arguments,
    };
    Some(found.into_iter().enumerate().map(call).collect())
}

type NamedCalls = Vec<(String, Value)>;

/// What stands behind a mark: JSON, or a function in tags.
fn marked<'a>(text: &'a str, names: &[String]) -> Option<(NamedCalls, &'a str)> {
    let text = text.trim_start();
    if text.starts_with("<function=") {
        let (calls, rest) = function(text)?;
        return Some((calls, rest.trim_start().strip_prefix("</tool_call>").unwrap_or(rest)));
    }
    // `[TOOL_CALLS]name{…}`, as newer models of Mistral write.
    if let Some(name) = names.iter().find(|name| text.starts_with(name.as_str()))
        && let Some(behind) = text[name.len()..].strip_prefix("[ARGS]").or(Some(&text[name.len()..]))
        && behind.trim_start().starts_with('{')
    {
        let (arguments, rest) = json(behind)?;
        return Some((vec![(name.clone(), arguments)], rest));
    }
    let (value, rest) = json(text)?;
    let calls = match value {
        Value::Array(calls) => calls.into_iter().map(named).collect::<Option<Vec<_>>>()?,
        call => vec![named(call)?],
    };
    let rest = rest.trim_start();
    let rest = ["</tool_call>", "<|/tool_call|>", "<|eom_id|>", "<|eot_id|>"]
        .iter()
        .find_map(|end| rest.strip_prefix(end))
        .unwrap_or(rest);
    Some((calls, rest))
}

/// The first JSON value, and what stands behind it.
fn json(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let at = values.byte_offset();
    Some((value, text.get(at..)?))
}

fn named(call: Value) -> Option<(String, Value)> {
    let Value::Object(mut call) = call else { return None };
    let name = call.get("name").or_else(|| call.get("function"))?.as_str()?.to_owned();
    let arguments = call.remove("arguments").or_else(|| call.remove("parameters")).unwrap_or_default();
    // Some write them as text once more.
    let arguments = match &arguments {
        Value::String(text) => serde_json::from_str(text).unwrap_or(arguments),
        _ => arguments,
    };
    Some((name, arguments))
}

/// `<function=name><parameter=key>value</parameter>…</function>`.
fn function(text: &str) -> Option<(NamedCalls, &str)> {
    let (name, mut rest) = text.strip_prefix("<function=")?.split_once('>')?;
    if rest.trim_start().starts_with('{') {
        let (arguments, rest) = json(rest)?;
        return Some((
            vec![(name.to_owned(), arguments)],
            rest.trim_start().strip_prefix("</function>").unwrap_or(rest),
        ));
    }
    let mut arguments = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix("</function>") {
            return Some((vec![(name.to_owned(), Value::Object(arguments))], behind));
        }
        let (key, behind) = rest.strip_prefix("<parameter=")?.split_once('>')?;
        let (value, behind) = behind.split_once("</parameter>")?;
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        // Numbers, switches and lists are written as JSON, texts as they are.
        let value = match serde_json::from_str::<Value>(value) {
            Ok(read @ (Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_))) => read,
            Ok(Value::Null | Value::String(_)) | Err(_) => Value::String(value.to_owned()),
        };
        arguments.insert(key.to_owned(), value);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> (String, Vec<(String, Value)>) {
        let mut stream = TextCalls::of(vec!["read_file".to_owned(), "plan".to_owned()]);
        let mut shown = String::new();
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(3) {
            shown.push_str(&stream.piece(piece.iter().collect::<String>()));
        }
        let parts = vec![Part::Text { text: text.to_owned(), signature: None }];
        let (rest, reply) = stream.finish(Finished::again(parts));
        shown.push_str(&rest);
        (shown, reply.calls.into_iter().map(|call| (call.name, call.arguments)).collect())
    }

    #[test]
    fn calls_in_the_notations_of_open_models_are_calls_and_are_not_shown() {
        let wanted = vec![("read_file".to_owned(), json!({ "path": "a.rs" }))];
        for text in [
            r#"Let me look.<tool_call>
{"name": "read_file", "arguments": {"path": "a.rs"}}
</tool_call>"#,
            r#"Let me look.[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.rs"}}]"#,
            r#"Let me look.[TOOL_CALLS]read_file[ARGS]{"path": "a.rs"}"#,
            r#"Let me look.<|python_tag|>{"name": "read_file", "parameters": {"path": "a.rs"}}<|eom_id|>"#,
            "Let me look.<tool_call>\n<function=read_file>\n<parameter=path>\na.rs\n</parameter>\n</function>\n</tool_call>",
            r#"Let me look.<function=read_file>{"path": "a.rs"}</function>"#,
        ] {
            assert_eq!(read(text), ("Let me look.".to_owned(), wanted.clone()), "{text}");
        }
    }

    #[test]
    fn anything_else_stays_text() {
        for text in [
            "An answer with a < b and [TOOL",
            r#"One writes <tool_call>{"name": "read_file", "arguments": {}}</tool_call> so."#,
            r#"<tool_call>{"name": "unknown", "arguments": {}}</tool_call>"#,
            "<tool_call>not json",
        ] {
            assert_eq!(read(text), (text.to_owned(), Vec::new()), "{text}");
        }
    }

    #[test]
    fn several_calls_have_ids_of_their_own() {
        let two = r#"<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call><tool_call>{"name":"plan","arguments":{"steps":[]}}</tool_call>"#;
        let (shown, calls) = read(two);
        assert_eq!((shown.as_str(), calls.len()), ("", 2));
    }
}
