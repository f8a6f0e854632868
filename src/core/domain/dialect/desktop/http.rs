//! The bodies of a desktop host's routes, in the shapes of the seed and of its public source.
//!
//! Owns their field names. Reads leniently: a list may stand alone or under its name, an id may be called `id`.

use serde_json::{Map, Value, json};

use crate::domain::dialect::loose::Members;

/// A workspace that a host knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostWorkspace {
    /// Its id.
    pub id: String,
    /// Where it lies, as the host says.
    pub path: String,
}

/// A session that a host holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSession {
    /// Its id.
    pub id: String,
    /// The host's word.
    pub status: Option<String>,
    /// One line.
    pub title: Option<String>,
    /// When it was made, as the host writes times.
    pub created_at: Option<String>,
    /// When it was used last.
    pub updated_at: Option<String>,
    /// Its model.
    pub model: Option<String>,
}

/// A model that a host lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostModel {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Who provides it.
    pub provider: Option<String>,
    /// Where it is.
    pub url: Option<String>,
}

/// How far an index is.
#[derive(Debug, Clone, PartialEq)]
pub struct HostIndex {
    /// The host's word.
    pub status: String,
    /// From 0 to 1.
    pub progress: Option<f64>,
    /// Whether the host says that its searches find everything, however the index stands.
    pub searches_are_complete: bool,
}

/// The items of a list, which may stand alone or under this name.
fn items<'v>(body: &'v Value, name: &str) -> impl Iterator<Item = &'v Map<String, Value>> {
    let list = body.as_array().or_else(|| body.get(name).and_then(Value::as_array));
    list.into_iter().flatten().filter_map(Value::as_object)
}

fn text(map: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| map.string(name)).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Whether a body speaks of its health as a desktop host does.
pub fn is_healthy(body: &Value) -> bool {
    body.as_object().is_some_and(|body| body.contains_key("status"))
}

/// Workspaces.
pub fn workspaces(body: &Value) -> Vec<HostWorkspace> {
    items(body, "workspaces").filter_map(workspace_of).collect()
}

/// One workspace.
pub fn workspace(body: &Value) -> Option<HostWorkspace> {
    let body = body.get("workspace").unwrap_or(body);
    workspace_of(body.as_object()?)
}

fn workspace_of(map: &Map<String, Value>) -> Option<HostWorkspace> {
    let id = text(map, &["id", "workspace_id"])?;
    Some(HostWorkspace { id, path: text(map, &["path", "root"]).unwrap_or_default() })
}

/// What registers a folder.
pub fn register(path: &str, name: &str) -> Value {
    json!({ "path": path, "name": name })
}

/// Sessions.
pub fn sessions(body: &Value) -> Vec<HostSession> {
    items(body, "sessions").filter_map(session_of).collect()
}

/// One session.
pub fn session(body: &Value) -> Option<HostSession> {
    let body = body.get("session").unwrap_or(body);
    session_of(body.as_object()?)
}

fn session_of(map: &Map<String, Value>) -> Option<HostSession> {
    Some(HostSession {
        id: text(map, &["id", "session_id"])?,
        status: text(map, &["status"]),
        title: text(map, &["title"]),
        created_at: text(map, &["created_at"]),
        updated_at: text(map, &["updated_at", "created_at"]),
        model: text(map, &["model_name"]),
    })
}

/// What makes a session.
pub fn new_session(workspace_id: &str, title: Option<&str>, model: Option<&str>) -> Value {
    let mut body = json!({ "workspace_id": workspace_id });
    if let Some(title) = title {
        body["title"] = title.into();
    }
    if let Some(model) = model {
        body["model_name"] = model.into();
    }
    body
}

/// Models.
pub fn models(body: &Value) -> Vec<HostModel> {
    let model = |map: &Map<String, Value>| {
        let id = text(map, &["id", "model_name", "name"])?;
        let name = text(map, &["display_name", "name"]).unwrap_or_else(|| id.clone());
        Some(HostModel { id, name, provider: text(map, &["provider"]), url: text(map, &["url"]) })
    };
    items(body, "models").filter_map(model).collect()
}

/// The model in use.
pub fn current_model(body: &Value) -> Option<String> {
    let body = body.get("model").filter(|model| model.is_object()).unwrap_or(body);
    text(body.as_object()?, &["model_name", "id", "name"])
}

/// Whether the model in use is this one, as far as it is named.
pub fn is_current(body: &Value, provider: Option<&str>, name: &str, url: Option<&str>) -> bool {
    let current = body.get("model").filter(|model| model.is_object()).unwrap_or(body);
    let says = |field: &str, wanted: Option<&str>| {
        wanted.is_none_or(|wanted| current.get(field).and_then(Value::as_str) == Some(wanted))
    };
    current_model(body).as_deref() == Some(name) && says("provider", provider) && says("url", url)
}

/// What sets the model.
pub fn set_model(provider: Option<&str>, name: &str, url: Option<&str>) -> Value {
    let mut body = json!({ "provider": provider.unwrap_or_default(), "model_name": name });
    if let Some(url) = url {
        body["url"] = url.into();
    }
    body
}

/// How far an index is.
pub fn index(body: &Value) -> Option<HostIndex> {
    let map = body.get("index").unwrap_or(body).as_object()?;
    Some(HostIndex {
        status: text(map, &["index_status", "status"])?,
        progress: ["index_progress", "progress"].iter().find_map(|name| map.get(*name)?.as_f64()),
        searches_are_complete: map.get("searches_are_complete").and_then(Value::as_bool) == Some(true),
    })
}

/// What a refusal says: in the public source's body or in one of ours.
pub fn refusal(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let said = body.get("detail").or_else(|| body.get("error")).or_else(|| body.get("message"))?;
    let said = match said {
        Value::String(text) => text.clone(),
        // A list of what is wrong with the request.
        Value::Array(faults) => faults.first()?.string("msg")?.to_owned(),
        Value::Object(error) => error.string("message")?.to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    Some(said).filter(|said| !said.trim().is_empty())
}

/// The token that a pairing code was traded for.
pub fn paired_token(answer: &Value) -> Option<&str> {
    answer.get("token").and_then(Value::as_str).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r002_11_21_24_lists_are_read_alone_and_under_their_names() {
        let workspace = HostWorkspace { id: "w1".to_owned(), path: "/w".to_owned() };
        for body in [
            json!([{ "id": "w1", "path": "/w", "index_status": "pending" }, { "path": "no id" }, 7]),
            json!({ "workspaces": [{ "workspace_id": "w1", "path": "/w" }] }),
        ] {
            assert_eq!(workspaces(&body), std::slice::from_ref(&workspace), "{body}");
        }
        let listed = sessions(&json!([{ "id": "s1", "title": null, "created_at": "c", "status": "active" }]));
        assert_eq!(listed[0].updated_at.as_deref(), Some("c"));
        let listed = models(&json!({ "models": [{ "id": "a", "provider": "ollama", "display_name": "A" }] }));
        assert_eq!((listed[0].name.as_str(), listed[0].provider.as_deref()), ("A", Some("ollama")));
    }

    #[test]
    fn a_refusal_is_read_in_every_body_that_there_is() {
        for (body, wanted) in [
            (json!({ "detail": "Workspace not found" }), Some("Workspace not found")),
            (
                json!({ "detail": [{ "msg": "Field required", "loc": ["body", "path"] }] }),
                Some("Field required"),
            ),
            (json!({ "error": { "code": "NOT_FOUND", "message": "None." } }), Some("None.")),
            (json!({ "detail": "" }), None),
            (json!([]), None),
        ] {
            assert_eq!(refusal(body.to_string().as_bytes()).as_deref(), wanted, "{body}");
        }
        assert_eq!(refusal(b"<html>"), None);
    }

    #[test]
    fn r002_19_how_far_an_index_is_is_read_of_both() {
        let index = |body: Value| super::index(&body).map(|index| (index.status, index.progress));
        assert_eq!(
            index(json!({ "status": "ready", "progress": 1.0 })),
            Some(("ready".to_owned(), Some(1.0)))
        );
        assert_eq!(
            index(json!({ "index_status": "indexing", "index_progress": 0.5 })),
            Some(("indexing".to_owned(), Some(0.5)))
        );
        assert_eq!(index(json!({})), None);
    }
}
