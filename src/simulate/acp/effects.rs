//! What a request does when the script says nothing about it: the plain answers of an agent that keeps to the protocol.
//!
//! Owns the state behind those answers (sessions, modes, options, sign-in). Writes nothing: it says what is to be written.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::script::Profile;
use super::sessions::KeptSessions;

/// What is to be written for a request.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RequestEffect {
    /// Notifications before the answer: params of `session/update`.
    pub before: Vec<Value>,
    /// The answer.
    pub answer: Option<Result<Value, Value>>,
    /// Notifications after it.
    pub after: Vec<Value>,
    /// The session it is about, also one that the answer has yet to name.
    pub session: Option<String>,
}

/// What an agent remembers beside the turns.
pub(super) struct SimulatedState {
    /// Who it is.
    pub profile: Profile,
    /// Its sessions.
    pub sessions: KeptSessions,
    /// Folders of the sessions that are open in this process.
    pub open: HashMap<String, String>,
    signed_in: bool,
    modes: HashMap<String, Value>,
    options: HashMap<String, Value>,
}

/// An error of the protocol.
pub(super) fn fault(code: i64, message: &str) -> Value {
    json!({"code": code, "message": message})
}

/// "Method not found".
pub(super) fn unknown(method: &str) -> Value {
    json!({"code": -32601, "message": "Method not found", "data": {"method": method}})
}

impl SimulatedState {
    /// An agent that has done nothing yet.
    pub(super) fn new(profile: Profile, sessions: KeptSessions) -> Self {
        Self {
            profile,
            sessions,
            open: HashMap::new(),
            signed_in: false,
            modes: HashMap::new(),
            options: HashMap::new(),
        }
    }

    /// What a request does.
    pub(super) fn effect(&mut self, method: &str, params: &Value) -> RequestEffect {
        if !self.offers(method) {
            return RequestEffect::failed(unknown(method));
        }
        if self.profile.auth_required && !self.signed_in && method.starts_with("session/") {
            return RequestEffect::failed(fault(-32000, "Authentication required"));
        }
        if self.profile.refuses.iter().any(|refused| refused == method) {
            return RequestEffect::failed(fault(-32603, "not now"));
        }
        let id = params.get("sessionId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let cwd = params.get("cwd").and_then(Value::as_str).unwrap_or_default().to_owned();
        match method {
            "initialize" => RequestEffect::done(json!({
                "protocolVersion": match &self.profile.protocol_version {
                    None => json!(1),
                    Some(Value::String(word)) if word == "echo" => params["protocolVersion"].clone(),
                    Some(other) => other.clone(),
                },
                "agentCapabilities": self.profile.capabilities,
                "authMethods": self.profile.auth_methods,
                "agentInfo": self.profile.info,
            })),
            "authenticate" => {
                self.signed_in = true;
                RequestEffect::done(json!({}))
            }
            "logout" => {
                self.signed_in = false;
                RequestEffect::done(json!({}))
            }
            "session/new" if cwd.is_empty() => RequestEffect::failed(fault(-32602, "cwd is missing")),
            "session/new" => {
                let session = self.sessions.add(&self.profile.id_prefix, &cwd, Vec::new());
                self.opened(&session.id, &cwd, true)
            }
            "session/list" => self.list(params),
            "session/load" | "session/resume" | "session/fork" => self.taken_up(method, &id, &cwd),
            "session/close" | "session/delete" => {
                let was_open = self.open.remove(&id).is_some();
                let known = if method == "session/delete" { self.sessions.remove(&id) } else { was_open };
                if known { RequestEffect::done(json!({})) } else { RequestEffect::failed(no_session(&id)) }
            }
            "session/set_mode" | "session/set_config_option" if !self.open.contains_key(&id) => {
                RequestEffect::failed(no_session(&id))
            }
            "session/set_mode" => {
                self.modes.insert(id.clone(), params["modeId"].clone());
                RequestEffect::done(json!({})).about(id)
            }
            "session/set_config_option" => self.set_option(&id, params),
            _ => RequestEffect::failed(unknown(method)),
        }
    }

    /// Whether the capabilities have this method.
    fn offers(&self, method: &str) -> bool {
        let capability =
            |at: &str| self.profile.capabilities.pointer(at).is_some_and(|value| value != &json!(false));
        match method {
            "session/load" => self.profile.capabilities.get("loadSession") == Some(&json!(true)),
            "session/list" | "session/resume" | "session/close" | "session/delete" | "session/fork" => {
                capability(&format!("/sessionCapabilities/{}", &method["session/".len()..]))
            }
            "logout" => capability("/auth/logout"),
            "session/set_mode" => self.profile.modes.is_some(),
            "session/set_config_option" => self.profile.config_options.is_some(),
            _ => true,
        }
    }

    /// The answer that opens a session.
    fn opened(&mut self, id: &str, cwd: &str, names_it: bool) -> RequestEffect {
        self.open.insert(id.to_owned(), cwd.to_owned());
        let mut result = Map::new();
        if names_it {
            result.insert("sessionId".to_owned(), json!(id));
        }
        if let Some(modes) = &self.profile.modes {
            let mut modes = modes.clone();
            if let (Some(mode), Some(modes)) = (self.modes.get(id), modes.as_object_mut()) {
                modes.insert("currentModeId".to_owned(), mode.clone());
            }
            result.insert("modes".to_owned(), modes);
        }
        if let Some(options) = self.options.get(id).or(self.profile.config_options.as_ref()) {
            result.insert("configOptions".to_owned(), options.clone());
        }
        let commands = self.profile.commands.iter().map(|commands| {
            update(id, &json!({"sessionUpdate": "available_commands_update", "availableCommands": commands}))
        });
        RequestEffect { after: commands.collect(), ..RequestEffect::done(result.into()) }.about(id.to_owned())
    }

    fn taken_up(&mut self, method: &str, id: &str, cwd: &str) -> RequestEffect {
        let Some(kept) = self.sessions.get(id) else { return RequestEffect::failed(no_session(id)) };
        let folder = if cwd.is_empty() { kept.cwd.clone() } else { cwd.to_owned() };
        let forks = method == "session/fork";
        let id = if forks {
            self.sessions.add(&self.profile.id_prefix, &folder, kept.history.clone()).id
        } else {
            kept.id
        };
        let before = if method == "session/resume" { Vec::new() } else { kept.history };
        let before = before.iter().map(|one| update(&id, one)).collect();
        RequestEffect { before, ..self.opened(&id, &folder, forks) }
    }

    fn list(&mut self, params: &Value) -> RequestEffect {
        let begin = match params.get("cursor").and_then(Value::as_str) {
            None => 0,
            Some(cursor) => match cursor.parse::<usize>() {
                Ok(begin) => begin,
                Err(_) => return RequestEffect::failed(fault(-32602, "cursor is unknown")),
            },
        };
        let cwd = params.get("cwd").and_then(Value::as_str);
        let page = self.profile.page.max(1);
        let fitting: Vec<_> =
            self.sessions.all().iter().filter(|one| cwd.is_none_or(|cwd| cwd == one.cwd)).collect();
        let rows: Vec<Value> = fitting
            .iter()
            .skip(begin)
            .take(page)
            .map(|one| json!({"sessionId": one.id, "cwd": one.cwd, "title": one.title}))
            .collect();
        let mut result = json!({ "sessions": rows });
        if begin.saturating_add(page) < fitting.len() {
            result["nextCursor"] = json!((begin + page).to_string());
        }
        RequestEffect::done(result)
    }

    fn set_option(&mut self, id: &str, params: &Value) -> RequestEffect {
        let mut options =
            self.options.get(id).or(self.profile.config_options.as_ref()).cloned().unwrap_or_default();
        let found = options
            .as_array_mut()
            .and_then(|all| all.iter_mut().find(|option| option.get("id") == params.get("configId")));
        let Some(option) = found else { return RequestEffect::failed(fault(-32602, "configId is unknown")) };
        option["currentValue"] = params["value"].clone();
        self.options.insert(id.to_owned(), options.clone());
        RequestEffect::done(json!({ "configOptions": options })).about(id.to_owned())
    }
}

impl RequestEffect {
    fn done(result: Value) -> Self {
        Self { answer: Some(Ok(result)), ..Self::default() }
    }

    fn failed(error: Value) -> Self {
        Self { answer: Some(Err(error)), ..Self::default() }
    }

    fn about(self, session: String) -> Self {
        Self { session: Some(session), ..self }
    }
}

/// "There is no such session".
pub(super) fn no_session(id: &str) -> Value {
    json!({"code": -32002, "message": "Resource not found", "data": {"sessionId": id}})
}

/// Params of a `session/update`.
pub(super) fn update(session: &str, update: &Value) -> Value {
    json!({"sessionId": session, "update": update})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(profile: Profile) -> SimulatedState {
        SimulatedState::new(profile, KeptSessions::default())
    }

    fn answer(state: &mut SimulatedState, method: &str, params: Value) -> Result<Value, Value> {
        state.effect(method, &params).answer.expect("answers")
    }

    #[test]
    fn what_is_not_offered_is_not_found() {
        let mut state = state(Profile { capabilities: json!({}), ..Profile::default() });
        for method in ["session/load", "session/list", "session/fork", "session/set_mode", "logout", "x/y"] {
            assert_eq!(answer(&mut state, method, json!({})), Err(unknown(method)));
        }
    }

    #[test]
    fn a_session_needs_the_sign_in_where_it_is_required() {
        let mut state = state(Profile { auth_required: true, ..Profile::default() });
        let new = json!({"cwd": "/w", "mcpServers": []});
        assert_eq!(
            answer(&mut state, "session/new", new.clone()),
            Err(json!({"code": -32000, "message": "Authentication required"}))
        );
        assert_eq!(answer(&mut state, "authenticate", json!({"methodId": "m"})), Ok(json!({})));
        assert_eq!(answer(&mut state, "session/new", new), Ok(json!({"sessionId": "sim-1"})));
    }

    #[test]
    fn a_load_replays_a_resume_does_not_and_a_fork_replays_under_its_own_id() {
        let profile = Profile {
            capabilities: json!({"loadSession": true, "sessionCapabilities": {"resume": {}, "fork": {}}}),
            ..Profile::default()
        };
        let mut state = state(profile);
        let told = json!({"sessionUpdate": "user_message_chunk"});
        state.sessions.add("sim-", "/w", vec![told.clone()]);

        let params = json!({"sessionId": "sim-1", "cwd": "/w", "mcpServers": []});
        let before = |state: &mut SimulatedState, method: &str| state.effect(method, &params).before;
        assert_eq!(before(&mut state, "session/load"), [update("sim-1", &told)]);
        assert_eq!(before(&mut state, "session/resume"), [] as [Value; 0]);
        assert_eq!(before(&mut state, "session/fork"), [update("sim-2", &told)]);
    }

    #[test]
    fn sessions_are_listed_by_folder_and_by_page() {
        let mut state = state(Profile { page: 2, ..Profile::default() });
        for cwd in ["/a", "/b", "/a", "/a"] {
            state.sessions.add("s", cwd, Vec::new());
        }
        let row = |id: &str| json!({"sessionId": id, "cwd": "/a", "title": null});
        assert_eq!(
            answer(&mut state, "session/list", json!({"cwd": "/a"})),
            Ok(json!({"sessions": [row("s1"), row("s3")], "nextCursor": "2"}))
        );
        assert_eq!(
            answer(&mut state, "session/list", json!({"cwd": "/a", "cursor": "2"})),
            Ok(json!({"sessions": [row("s4")]}))
        );
    }

    #[test]
    fn an_option_that_is_set_comes_back_in_the_whole_list() {
        let options = json!([{"id": "model", "currentValue": "a"}, {"id": "mode", "currentValue": "x"}]);
        let mut state = state(Profile { config_options: Some(options), ..Profile::default() });
        answer(&mut state, "session/new", json!({"cwd": "/w"})).expect("a session");
        let set = json!({"sessionId": "sim-1", "configId": "model", "value": "b"});
        assert_eq!(
            answer(&mut state, "session/set_config_option", set),
            Ok(
                json!({"configOptions": [{"id": "model", "currentValue": "b"}, {"id": "mode", "currentValue": "x"}]})
            )
        );
    }
}
