//! The sessions of the agent with their history, kept in a file so that the next process can load them.
//!
//! Owns that file. As real agents do, it learns of an answer only when the turn ends: a process that dies in mid-turn has
//! kept the prompt and lost what it streamed.

use std::path::PathBuf;

use serde_json::{Value, json};

/// One session.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeptSession {
    /// Its id.
    pub id: String,
    /// Its folder.
    pub cwd: String,
    /// The first words of its first prompt.
    pub title: Option<String>,
    /// Updates that a load replays.
    pub history: Vec<Value>,
}

/// All sessions that are known.
#[derive(Debug, Default)]
pub(super) struct KeptSessions {
    file: Option<PathBuf>,
    all: Vec<KeptSession>,
}

impl KeptSessions {
    /// Sessions in a file that may not be there yet; nothing: in memory.
    ///
    /// # Errors
    /// One sentence when the file cannot be used.
    pub(super) fn open(file: Option<PathBuf>) -> Result<Self, String> {
        let mut sessions = Self { file, all: Vec::new() };
        sessions.read()?;
        Ok(sessions)
    }

    fn read(&mut self) -> Result<(), String> {
        let Some(path) = &self.file else { return Ok(()) };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                return Err(format!("{} cannot be read: {error}; check --sessions.", path.display()));
            }
        };
        let kept: Vec<Value> = serde_json::from_str(&text)
            .map_err(|error| format!("{} holds no sessions: {error}; check --sessions.", path.display()))?;
        self.all = kept.iter().filter_map(session).collect();
        Ok(())
    }

    /// The sessions, oldest first; another process may have changed the file.
    pub(super) fn all(&mut self) -> &[KeptSession] {
        // What cannot be read now was readable at the start: the last known state stands.
        let _ = self.read();
        &self.all
    }

    /// The session with this id.
    pub(super) fn get(&mut self, id: &str) -> Option<KeptSession> {
        self.all().iter().find(|session| session.id == id).cloned()
    }

    /// A new session; its id is the prefix and the first free number.
    pub(super) fn add(&mut self, prefix: &str, cwd: &str, history: Vec<Value>) -> KeptSession {
        let _ = self.read();
        let taken = |id: &String| self.all.iter().any(|session| session.id == *id);
        let id = (1_u64..).map(|n| format!("{prefix}{n}")).find(|id| !taken(id)).unwrap_or_default();
        let session = KeptSession { id, cwd: cwd.to_owned(), title: None, history };
        self.all.push(session.clone());
        self.write();
        session
    }

    /// Adds to the history of a session; the first prompt gives it its title.
    pub(super) fn remember(&mut self, id: &str, title: Option<&str>, updates: Vec<Value>) {
        let _ = self.read();
        if let Some(session) = self.all.iter_mut().find(|session| session.id == id) {
            if session.title.is_none() {
                session.title = title.map(|title| title.chars().take(60).collect());
            }
            session.history.extend(updates);
            self.write();
        }
    }

    /// Forgets a session.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let _ = self.read();
        let before = self.all.len();
        self.all.retain(|session| session.id != id);
        self.write();
        self.all.len() < before
    }

    fn write(&self) {
        let Some(path) = &self.file else { return };
        let kept: Vec<Value> = self.all.iter().map(kept).collect();
        // Whole or not at all: a reader never sees half of it.
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let written = std::fs::write(&beside, Value::from(kept).to_string())
            .and_then(|()| std::fs::rename(&beside, path));
        if let Err(error) = written {
            super::complain(&format!("{} cannot be written: {error}; check --sessions.", path.display()));
        }
    }
}

fn kept(session: &KeptSession) -> Value {
    json!({
        "sessionId": session.id, "cwd": session.cwd, "title": session.title, "history": session.history,
    })
}

fn session(value: &Value) -> Option<KeptSession> {
    Some(KeptSession {
        id: value.get("sessionId")?.as_str()?.to_owned(),
        cwd: value.get("cwd")?.as_str()?.to_owned(),
        title: value.get("title").and_then(Value::as_str).map(str::to_owned),
        history: value.get("history")?.as_array()?.clone(),
    })
}

/// The updates of a turn as a load tells them: pieces of one message are one piece.
pub(super) fn whole(updates: Vec<Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for update in updates {
        let joined = out.last_mut().is_some_and(|last| joins(last, &update));
        if !joined {
            out.push(update);
        }
    }
    out
}

/// Adds a piece to the message before it, if it goes on with it.
fn joins(last: &mut Value, next: &Value) -> bool {
    let same = |key: &str| last.get(key) == next.get(key);
    let is_chunk = next
        .get("sessionUpdate")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind.ends_with("_chunk") && kind != "user_message_chunk");
    if !is_chunk || !same("sessionUpdate") || !same("messageId") {
        return false;
    }
    let Some(more) = next.pointer("/content/text").and_then(Value::as_str) else { return false };
    match last.pointer_mut("/content/text") {
        Some(Value::String(text)) => {
            text.push_str(more);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &str, message: &str, text: &str) -> Value {
        json!({"sessionUpdate": kind, "messageId": message, "content": {"type": "text", "text": text}})
    }

    #[test]
    fn pieces_of_one_message_are_kept_as_one() {
        let tool = json!({"sessionUpdate": "tool_call", "toolCallId": "c"});
        let told = vec![
            chunk("agent_message_chunk", "m1", "a "),
            chunk("agent_message_chunk", "m1", "b"),
            chunk("agent_message_chunk", "m2", "c"),
            tool.clone(),
            chunk("agent_message_chunk", "m2", "d"),
        ];
        assert_eq!(
            whole(told),
            [
                chunk("agent_message_chunk", "m1", "a b"),
                chunk("agent_message_chunk", "m2", "c"),
                tool,
                chunk("agent_message_chunk", "m2", "d"),
            ]
        );
    }

    #[test]
    fn the_next_process_finds_the_sessions_of_the_last_and_takes_no_id_twice() {
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join("s.json");
        let mut first = KeptSessions::open(Some(file.clone())).expect("opens");
        let made = first.add("s-", "/w", Vec::new());
        first.remember(&made.id, Some("hello"), vec![chunk("user_message_chunk", "u", "hello")]);

        let mut second = KeptSessions::open(Some(file.clone())).expect("opens");
        let next = second.add("s-", "/w", Vec::new());

        assert_eq!(
            first.all(),
            [
                KeptSession {
                    id: "s-1".to_owned(),
                    cwd: "/w".to_owned(),
                    title: Some("hello".to_owned()),
                    history: vec![chunk("user_message_chunk", "u", "hello")],
                },
                KeptSession { id: "s-2".to_owned(), ..next }
            ]
        );
        std::fs::write(&file, "no").expect("is written");
        assert!(KeptSessions::open(Some(file)).is_err_and(|sentence| sentence.contains("holds no sessions")));
    }
}
