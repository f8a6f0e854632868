//! What most stories do with a session: begin one, ask, wait for an event, answer what is asked.

use serde_json::{Value, json};

use super::Server;

impl Server {
    /// Writes a file of the workspace.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.workspace.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// Bytes of a file of the workspace, as text.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.workspace.path().join(path)).expect("a text file")
    }

    /// URI of a file of the workspace.
    pub fn file(&self, path: &str) -> String {
        super::uri(&self.workspace.path().join(path))
    }

    /// Opens a buffer.
    pub fn open(&mut self, path: &str, text: &str) {
        let document =
            json!({ "uri": self.file(path), "languageId": "plaintext", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces the whole text of an open buffer.
    pub fn change(&mut self, path: &str, version: i64, text: &str) {
        let document = json!({ "uri": self.file(path), "version": version });
        self.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [{ "text": text }] }),
        );
    }

    /// A new session.
    pub fn session(&mut self) -> String {
        let made = self.ask("bb/createSession", json!({}));
        made["sessionId"].as_str().expect("an id").to_owned()
    }

    /// Sends a prompt; gives the answer.
    pub fn prompt(&mut self, session: &str, text: &str) -> Value {
        self.ask("bb/sendMessage", json!({ "sessionId": session, "text": text }))
    }

    /// Sends a prompt and waits for the end of its turn; gives the final event.
    pub fn turn(&mut self, session: &str, text: &str) -> Value {
        self.prompt(session, text);
        self.wait_end(session)
    }

    /// Waits for the next event of a session that fits, later than the last one that was given.
    pub fn wait_event(&self, session: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let last = self.seen.borrow().get(session).copied().unwrap_or(0);
        let mut from = 0;
        let event = self.wait_until(&format!("an event ({what})"), |received| {
            let found = events_of(&received[from..], session)
                .find(|event| event["seq"].as_u64().is_some_and(|seq| seq > last) && fits(event))
                .cloned();
            from = received.len();
            found
        });
        self.seen.borrow_mut().insert(session.to_owned(), event["seq"].as_u64().unwrap_or(0));
        event
    }

    /// Waits for the end of a turn.
    pub fn wait_end(&self, session: &str) -> Value {
        self.wait_event(session, "the end of a turn", |event| event["class"] == "run.finished")
    }

    /// Waits for a question to the user.
    pub fn wait_ask(&self, session: &str) -> Value {
        self.wait_event(session, "a permission", |event| event["class"] == "permission.request")
    }

    /// Waits for the end of a tool; gives its event.
    pub fn wait_tool(&self, session: &str, name: &str) -> Value {
        self.wait_event(session, &format!("the end of `{name}`"), |event| {
            event["class"] == "tool.result" && event["payload"]["tool_name"] == name
        })
    }

    /// Every event of a session that was sent, in the order of the wire.
    pub fn events(&self, session: &str) -> Vec<Value> {
        events_of(&self.received(), session).cloned().collect()
    }

    /// Params that answer a permission.
    pub fn decision(session: &str, ask: &Value, decision: &str) -> Value {
        json!({ "sessionId": session, "requestId": ask["permission"]["requestId"], "decision": decision,
                "digest": ask["permission"]["digest"] })
    }

    /// Answers a permission.
    pub fn decide(&mut self, session: &str, ask: &Value, decision: &str) -> Value {
        self.ask("bb/approvePermission", Self::decision(session, ask, decision))
    }
}

fn events_of<'a>(received: &'a [Value], session: &'a str) -> impl Iterator<Item = &'a Value> {
    received
        .iter()
        .filter(move |message| message["method"] == "bb/events" && message["params"]["sessionId"] == session)
        .flat_map(|message| message["params"]["events"].as_array().into_iter().flatten())
}
