//! A scripted LSP editor: documents, edits, questions. It has no idea of `bb/*`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Options, Server};

/// How an editor treats `workspace/applyEdit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edits {
    /// Made, then answered yes.
    Made,
    /// Answered yes first, and made when the test says so.
    YesFirst,
    /// Answered no, as the user is asked first; made when the test says so.
    NoFirst,
    /// Made only while a command of the user's is under way, and within its time.
    WithinCommand,
    /// Made only for the version that it has; it types once before each.
    Versioned,
    /// Made of chat documents only; of anything else answered no, and dropped.
    Refused,
}

/// What an editor can do, and how.
#[derive(Debug, Clone)]
pub struct Manner {
    pub capabilities: Value,
    pub edits: Edits,
    /// Whether it opens what it is asked to show.
    pub shows: bool,
}

fn literals() -> Value {
    json!({ "codeActionLiteralSupport": { "codeActionKind": { "valueSet": ["quickfix", "refactor"] } } })
}

impl Manner {
    /// Helix, not released: versioned edits, questions, no lenses.
    pub fn helix() -> Self {
        let capabilities = json!({
            "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true, "failureHandling": "abort" },
                           "inlayHint": { "refreshSupport": false } },
            "window": { "workDoneProgress": true, "showDocument": { "support": true } },
            "textDocument": { "codeAction": literals() },
            "general": { "positionEncodings": ["utf-8", "utf-32", "utf-16"] },
        });
        Self { capabilities, edits: Edits::Made, shows: true }
    }

    /// Kate: nothing announced; edits within two seconds of a command.
    pub fn kate() -> Self {
        let capabilities = json!({ "textDocument": { "codeAction": literals() },
                                   "window": { "workDoneProgress": true } });
        Self { capabilities, edits: Edits::WithinCommand, shows: false }
    }

    /// Kakoune: yes before the edit, no documents shown, annotations announced.
    pub fn kakoune() -> Self {
        let capabilities = json!({
            "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
            "window": { "workDoneProgress": true },
            "textDocument": { "codeAction": literals() },
        });
        Self { capabilities, edits: Edits::YesFirst, shows: false }
    }

    /// Emacs with Eglot, which asks its user about each edit.
    pub fn eglot() -> Self {
        let capabilities = json!({
            "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
            "window": { "workDoneProgress": true, "showDocument": { "support": true } },
            "textDocument": { "codeAction": literals() },
        });
        Self { capabilities, edits: Edits::NoFirst, shows: true }
    }
}

/// One.
pub struct Editor {
    pub server: Server,
    pub manner: Manner,
    /// By URI: version and text.
    docs: BTreeMap<String, (i64, String)>,
    /// Edits that were asked for, in order.
    pub edits: Vec<Value>,
    /// Edits that wait until the test says so.
    late: Vec<Value>,
    /// Questions that nobody answered, in order.
    pub questions: Vec<Value>,
    /// What was said.
    pub said: Vec<String>,
    /// By URI.
    pub marks: BTreeMap<String, Vec<Value>>,
    /// Everything else that was asked.
    pub others: Vec<String>,
    cursor: usize,
    in_command: bool,
}

impl Editor {
    pub fn start(manner: Manner) -> Self {
        Self::with(manner, json!({ "workspaceTrusted": true }))
    }

    pub fn with(manner: Manner, options: Value) -> Self {
        let capabilities = manner.capabilities.clone();
        let server = Server::ready(Options { options, capabilities, ..Options::default() });
        Self {
            server,
            manner,
            docs: BTreeMap::new(),
            edits: Vec::new(),
            late: Vec::new(),
            questions: Vec::new(),
            said: Vec::new(),
            marks: BTreeMap::new(),
            others: Vec::new(),
            cursor: 0,
            in_command: false,
        }
    }

    /// Opens a file, which is written first where it has a text on disk.
    pub fn open(&mut self, path: &str, text: &str) -> String {
        let uri = self.server.file(path);
        self.open_uri(&uri, text);
        uri
    }

    fn open_uri(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "markdown", "version": 1, "text": text });
        self.server.notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.docs.insert(uri.to_owned(), (1, text.to_owned()));
    }

    /// The text of a document.
    pub fn text(&self, uri: &str) -> &str {
        self.docs.get(uri).map_or("", |(_, text)| text)
    }

    /// The user replaces the text of a document.
    pub fn types(&mut self, uri: &str, text: &str) {
        let (version, old) = self.docs.get_mut(uri).expect("an open document");
        (*version, *old) = (*version + 1, text.to_owned());
        let document = json!({ "uri": uri, "version": version });
        let changes = json!([{ "text": text }]);
        self.server
            .notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// Code actions of the line that has this, or of the first; in short: titles without whose they are.
    pub fn actions(&mut self, uri: &str, on: &str) -> Vec<Value> {
        let text = self.text(uri);
        let line = text.lines().position(|line| line.contains(on)).unwrap_or(0);
        let at = json!({ "line": line, "character": 0 });
        let params = json!({ "textDocument": { "uri": uri }, "range": { "start": at, "end": at },
                             "context": { "diagnostics": [] } });
        self.ask("textDocument/codeAction", params).as_array().expect("actions").clone()
    }

    pub fn titles(&mut self, uri: &str, on: &str) -> Vec<String> {
        let actions = self.actions(uri, on);
        let title = |action: &Value| action["title"].as_str().expect("a title").to_owned();
        actions.iter().map(title).map(|title| title.trim_start_matches("BreadBoard: ").to_owned()).collect()
    }

    /// Runs the code action with this title; gives what the command was answered.
    pub fn runs(&mut self, uri: &str, on: &str, title: &str) -> Value {
        let actions = self.actions(uri, on);
        let action =
            actions.iter().find(|action| action["title"].as_str().is_some_and(|known| known.contains(title)));
        let action =
            action.unwrap_or_else(|| panic!("no action {title:?}: {actions:#?}\n{}", self.text(uri))).clone();
        self.command(&action["command"])
    }

    /// Runs a command; edits are made before its answer is there.
    pub fn command(&mut self, command: &Value) -> Value {
        let params = json!({ "command": command["command"], "arguments": command["arguments"] });
        self.in_command = true;
        let id = self.server.request("workspace/executeCommand", params);
        let answer = self.until("an answer to the command", |editor| {
            let received = editor.server.received();
            received
                .into_iter()
                .find(|message| message.get("method").is_none() && message.get("id") == Some(&id))
        });
        // What it leads to comes within its time.
        if self.manner.edits == Edits::WithinCommand {
            self.until("an edit", |editor| (!editor.edits.is_empty()).then_some(()));
            self.in_command = false;
        }
        answer
    }

    /// A request, while everything that the server asks meanwhile is answered.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.server.request(method, params);
        let answer = self.until("an answer", |editor| {
            let received = editor.server.received();
            received
                .into_iter()
                .find(|message| message.get("method").is_none() && message.get("id") == Some(&id))
        });
        answer.get("result").unwrap_or_else(|| panic!("{method}: {answer}")).clone()
    }

    /// Works until something is so.
    pub fn until<T>(&mut self, what: &str, mut look: impl FnMut(&mut Self) -> Option<T>) -> T {
        loop {
            self.work();
            if let Some(found) = look(self) {
                return found;
            }
            let seen = self.cursor;
            let documents = format!("{what}; the documents: {:#?}", self.docs);
            self.server.wait_until(&documents, |received| (received.len() > seen).then_some(()));
        }
    }

    /// Works until a document has this.
    pub fn sees(&mut self, uri: &str, text: &str) {
        self.until(&format!("{text:?} in the document"), |editor| {
            editor.text(uri).contains(text).then_some(())
        });
    }

    /// Takes what the server sent.
    pub fn work(&mut self) {
        let received = self.server.received();
        for message in &received[self.cursor..] {
            self.cursor += 1;
            let Some(method) = message["method"].as_str() else { continue };
            match (method, message.get("id")) {
                ("workspace/applyEdit", Some(id)) => self.edit(id, &message["params"]),
                ("window/showMessageRequest", Some(_)) => self.questions.push(message.clone()),
                ("window/showDocument", Some(_)) => {
                    let uri = message["params"]["uri"].as_str().expect("a document").to_owned();
                    // It never answers; what it opens it says by opening it.
                    if self.manner.shows && !self.docs.contains_key(&uri) {
                        self.open_uri(&uri, "");
                    }
                    self.others.push(method.to_owned());
                }
                ("window/showMessage", None) => {
                    self.said.push(message["params"]["message"].as_str().unwrap_or_default().to_owned());
                }
                ("textDocument/publishDiagnostics", None) => {
                    let marks = message["params"]["diagnostics"].as_array().expect("marks").clone();
                    self.marks
                        .insert(message["params"]["uri"].as_str().expect("a document").to_owned(), marks);
                }
                (_, Some(id)) => {
                    self.others.push(method.to_owned());
                    self.server.answer(id, json!(null));
                }
                (_, None) => self.others.push(method.to_owned()),
            }
        }
    }

    fn edit(&mut self, id: &Value, params: &Value) {
        self.edits.push(params["edit"].clone());
        let edit = params["edit"].clone();
        match self.manner.edits {
            Edits::Made => {
                let made = self.make(&edit);
                self.server.answer(id, json!({ "applied": made }));
            }
            Edits::YesFirst => {
                self.server.answer(id, json!({ "applied": true }));
                self.late.push(edit);
            }
            Edits::NoFirst => {
                self.server
                    .answer(id, json!({ "applied": false, "failureReason": "decision to apply manually" }));
                self.late.push(edit);
            }
            Edits::WithinCommand => {
                let made = self.in_command && self.make(&edit);
                self.server.answer(id, json!({ "applied": made }));
            }
            Edits::Refused => {
                let made = document_of(&edit).ends_with(".bb.md") && self.make(&edit);
                self.server.answer(id, json!({ "applied": made }));
            }
            Edits::Versioned => {
                let uri = document_of(&edit).to_owned();
                // The user types when the edit comes: once only.
                if !self.text(&uri).contains("typed") {
                    let typed = format!("{}typed", self.text(&uri));
                    self.types(&uri, &typed);
                }
                let made = self.make(&edit);
                self.server
                    .answer(id, json!({ "applied": made, "failureReason": "outdated workspace edit" }));
            }
        }
    }

    /// Makes the edits that waited.
    pub fn makes_late_edits(&mut self) {
        for edit in std::mem::take(&mut self.late) {
            assert!(self.make(&edit), "a late edit fits");
        }
    }

    pub fn has_late_edits(&self) -> bool {
        !self.late.is_empty()
    }

    /// Makes an edit, where its version is that of the document; whether it was made.
    fn make(&mut self, edit: &Value) -> bool {
        let uri = document_of(edit).to_owned();
        let (edits, version) = match edit.get("documentChanges") {
            Some(changes) => (changes[0]["edits"].clone(), changes[0]["textDocument"]["version"].as_i64()),
            None => (edit["changes"][&uri].clone(), None),
        };
        if !self.docs.contains_key(&uri) {
            let path = uri.rsplit('/').next().expect("a name").to_owned();
            let text = self.server.read(&path);
            self.open_uri(&uri, &text);
        }
        let Some((known, text)) = self.docs.get(&uri).cloned() else { return false };
        if version.is_some_and(|version| version != known) {
            return false;
        }
        let mut text = text;
        for edit in edits.as_array().expect("edits") {
            let at = |end: &str| offset(&text, &edit["range"][end]);
            let (start, end) = (at("start"), at("end"));
            text.replace_range(start..end, edit["newText"].as_str().expect("a text"));
        }
        self.types(&uri, &text);
        true
    }
}

/// The one document of an edit.
pub fn document_of(edit: &Value) -> &str {
    match edit.get("documentChanges") {
        Some(changes) => changes[0]["textDocument"]["uri"].as_str().expect("a document"),
        None => edit["changes"].as_object().and_then(|changes| changes.keys().next()).expect("a document"),
    }
}

/// Texts of these tests are ASCII, so that all encodings agree.
fn offset(text: &str, at: &Value) -> usize {
    let line = at["line"].as_u64().expect("a line") as usize;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    start + at["character"].as_u64().expect("a character") as usize
}
