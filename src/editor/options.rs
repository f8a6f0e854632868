//! Reads `initialize` leniently: what cannot be read is left out and said, and nothing in it stops the start.
//!
//! Owns the way from the params of `initialize` to `StartUp`. Never merges settings and never looks at the disk.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::Url;

use super::plain;
use crate::app::inbox::{EditorAbilities, Folder, StartUp, TraceLevel};
use crate::domain::approval::NamedClient;
use crate::domain::edits::overlay::PositionEncoding;
use crate::domain::policy::file_lists::{BadPattern, FileLists};
use crate::domain::policy::settings_secrets::SecretValues;
use crate::domain::policy::standing::ApprovalMode;
use crate::protocol::settings::{DeliverySetting, InitializationOptions, Overrides, RetentionSetting};
use crate::protocol::standing::{ApprovalsSetting, CommandsSetting};

/// What `initialize` said, and one sentence for each thing in it that could not be used.
pub fn read_start_up(params: &Value, overrides: Overrides) -> (StartUp, Vec<String>) {
    let (options, warnings) = read_options(params.get("initializationOptions").unwrap_or(&Value::Null));
    let start_up = StartUp {
        options,
        overrides,
        folders: read_folders(params),
        encoding: read_encoding(params),
        editor: read_abilities(params),
        named: read_name(params),
        trace: params.get("trace").and_then(read_trace).unwrap_or_default(),
        secrets: SecretValues::of_options(params.get("initializationOptions").unwrap_or(&Value::Null)),
    };
    (start_up, warnings)
}

/// What the editor calls itself.
fn read_name(params: &Value) -> Option<NamedClient> {
    let said = |path: &str| params.pointer(path).and_then(Value::as_str).unwrap_or_default();
    NamedClient::said(said("/clientInfo/name"), said("/clientInfo/version"))
}

/// A trace level, where it is one.
pub(super) fn read_trace(value: &Value) -> Option<TraceLevel> {
    match value.as_str()? {
        "off" => Some(TraceLevel::Off),
        "messages" => Some(TraceLevel::Messages),
        "verbose" => Some(TraceLevel::Verbose),
        _ => None,
    }
}

/// A workspace folder, where it is one.
pub(super) fn read_folder(value: &Value) -> Option<Folder> {
    let uri = value.get("uri")?.as_str()?;
    let name = value.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    Some(folder(uri, name))
}

fn folder(uri: &str, name: Option<&str>) -> Folder {
    let url = Url::parse(uri).ok();
    let path = url.as_ref().filter(|url| url.scheme() == "file").and_then(|url| url.to_file_path().ok());
    let name = name.map(str::to_owned).or_else(|| {
        let last = path.as_ref()?.file_name()?;
        Some(last.to_string_lossy().into_owned())
    });
    Folder { uri: uri.to_owned(), name: name.unwrap_or_else(|| "workspace".to_owned()), path }
}

fn read_folders(params: &Value) -> Vec<Folder> {
    if let Some(folders) = params.get("workspaceFolders").and_then(Value::as_array)
        && !folders.is_empty()
    {
        return folders.iter().filter_map(read_folder).collect();
    }
    if let Some(uri) = params.get("rootUri").and_then(Value::as_str).filter(|uri| !uri.is_empty()) {
        return vec![folder(uri, None)];
    }
    let root = params.get("rootPath").and_then(Value::as_str).filter(|path| !path.is_empty());
    root.and_then(|path| Url::from_file_path(path).ok())
        .map(|url| folder(url.as_str(), None))
        .into_iter()
        .collect()
}

/// The first encoding of the client's list that we know; UTF-16 when it lists none.
fn read_encoding(params: &Value) -> PositionEncoding {
    let listed = params.pointer("/capabilities/general/positionEncodings").and_then(Value::as_array);
    let known = |value: &Value| match value.as_str()? {
        "utf-8" => Some(PositionEncoding::Utf8),
        "utf-16" => Some(PositionEncoding::Utf16),
        "utf-32" => Some(PositionEncoding::Utf32),
        _ => None,
    };
    listed.and_then(|listed| listed.iter().find_map(known)).unwrap_or_default()
}

fn read_abilities(params: &Value) -> EditorAbilities {
    let able = |path: &str| params.pointer(path).and_then(Value::as_bool).unwrap_or(false);
    EditorAbilities {
        work_done_progress: able("/capabilities/window/workDoneProgress"),
        apply_edit: able("/capabilities/workspace/applyEdit"),
        document_changes: able("/capabilities/workspace/workspaceEdit/documentChanges"),
        change_annotations: params
            .pointer("/capabilities/workspace/workspaceEdit/changeAnnotationSupport")
            .is_some_and(Value::is_object),
        configuration: able("/capabilities/workspace/configuration"),
        register_configuration: able("/capabilities/workspace/didChangeConfiguration/dynamicRegistration"),
        register_watched_files: able("/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration"),
        terminal_run: able("/capabilities/experimental/breadboard/terminalRun"),
        document_save: able("/capabilities/experimental/breadboard/documentSave"),
        context_provide: able("/capabilities/experimental/breadboard/contextProvide"),
        answers_by_itself: false,
        plain: plain::read_abilities(params),
    }
}

/// Every option on its own, so that one bad value does not take the others with it.
fn read_options(value: &Value) -> (InitializationOptions, Vec<String>) {
    let mut warnings = Vec::new();
    let given = match value {
        Value::Object(given) => given,
        Value::Null => return (InitializationOptions::default(), warnings),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            warnings.push(
                "The initializationOptions are not an object and were ignored; send an object, or none."
                    .to_owned(),
            );
            return (InitializationOptions::default(), warnings);
        }
    };
    let agents = each(given, "agents", &mut warnings);
    let mcp_servers = each(given, "mcpServers", &mut warnings);
    let delivery = OptionGroup::read(given, "delivery", &mut warnings, delivery);
    let retention = OptionGroup::read(given, "retention", &mut warnings, retention);
    let approvals = OptionGroup::read(given, "approvals", &mut warnings, approvals);
    let commands = OptionGroup::read(given, "commands", &mut warnings, commands);
    let options = InitializationOptions {
        engine: one(given, "engine", "engine", &mut warnings),
        agents,
        mcp_servers,
        model: one(given, "model", "model", &mut warnings),
        embeddings: one(given, "embeddings", "embeddings", &mut warnings),
        reranker: one(given, "reranker", "reranker", &mut warnings),
        budget: one(given, "budget", "budget", &mut warnings),
        workspace_trusted: one(given, "workspaceTrusted", "workspaceTrusted", &mut warnings),
        state_dir: one(given, "stateDir", "stateDir", &mut warnings),
        delivery,
        retention,
        approvals,
        commands,
    };
    (options, warnings)
}

fn delivery(group: &mut OptionGroup<'_>) -> DeliverySetting {
    DeliverySetting {
        max_latency_ms: group.one("maxLatencyMs"),
        max_events: group.one("maxEvents"),
        max_bytes: group.one("maxBytes"),
    }
}

fn retention(group: &mut OptionGroup<'_>) -> RetentionSetting {
    RetentionSetting { max_bytes: group.one("maxBytes") }
}

fn approvals(group: &mut OptionGroup<'_>) -> ApprovalsSetting {
    let mut setting = ApprovalsSetting {
        expire_after_seconds: group.one("expireAfterSeconds"),
        mode: group.one("mode"),
        classes: group.one("classes"),
        patterns: group.one("patterns"),
        files: group.one("files"),
    };
    // What is forbidden there is not known, so nothing is done without asking.
    if group.lost("classes", &setting.classes) || group.lost("patterns", &setting.patterns) {
        setting.mode = Some(ApprovalMode::Ask);
    }
    let bad = setting.files.as_ref().and_then(|files| files.check().err());
    if let Some(BadPattern { pattern, why }) = &bad {
        group.warnings.push(format!(
            "The pattern `{pattern}` in your lists of files {why}; until it is corrected no file is touched."
        ));
    }
    if bad.is_some() || group.lost("files", &setting.files) {
        setting.files = Some(FileLists::none());
    }
    setting
}

fn commands(group: &mut OptionGroup<'_>) -> CommandsSetting {
    CommandsSetting {
        runner: group.one("runner"),
        timeout_seconds: group.one("timeoutSeconds"),
        cpu_seconds: group.one("cpuSeconds"),
        memory_mebibytes: group.one("memoryMebibytes"),
        confinement: group.one("confinement"),
        reads: group.one("reads"),
        writes: group.one("writes"),
    }
}

/// An option that is an object, each part of which is read on its own.
struct OptionGroup<'a> {
    name: &'a str,
    given: Map<String, Value>,
    warnings: &'a mut Vec<String>,
}

impl<'a> OptionGroup<'a> {
    /// What `read` makes of the group, where it is given.
    fn read<T>(
        given: &Map<String, Value>,
        name: &'a str,
        warnings: &'a mut Vec<String>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let given = one(given, name, name, warnings)?;
        Some(read(&mut Self { name, given, warnings }))
    }

    fn one<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        one(&self.given, key, &format!("{}.{key}", self.name), self.warnings)
    }

    /// Whether there is something under this key that could not be read.
    fn lost<T>(&self, key: &str, read: &Option<T>) -> bool {
        read.is_none() && self.given.get(key).is_some_and(|value| !value.is_null())
    }
}

/// Options by name, each read on its own.
fn each<T: DeserializeOwned, M: FromIterator<(String, T)>>(
    given: &Map<String, Value>,
    key: &str,
    warnings: &mut Vec<String>,
) -> Option<M> {
    let named: Map<String, Value> = one(given, key, key, warnings)?;
    let read = |name: &String| Some((name.clone(), one(&named, name, &format!("{key}.{name}"), warnings)?));
    Some(named.keys().filter_map(read).collect())
}

fn one<T: DeserializeOwned>(
    given: &Map<String, Value>,
    key: &str,
    name: &str,
    warnings: &mut Vec<String>,
) -> Option<T> {
    let value = given.get(key).filter(|value| !value.is_null())?;
    match serde_json::from_value(value.clone()) {
        Ok(value) => Some(value),
        Err(error) => {
            let why: String = error.to_string().chars().take(200).collect();
            warnings.push(format!(
                "The option `{name}` cannot be used ({why}) and was ignored; correct it in the settings of the editor."
            ));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    #[cfg_attr(windows, ignore = "folders as they are spelled elsewhere")]
    fn a_full_initialize_is_read() {
        let params = json!({
            "trace": "verbose",
            "workspaceFolders": [
                { "uri": "file:///w/a%20b", "name": "first" }, { "uri": "vscode-vfs://x/y", "name": "" }, 5
            ],
            "rootUri": "file:///not/this",
            "capabilities": {
                "general": { "positionEncodings": ["utf-7", "utf-32", "utf-8"] },
                "window": { "workDoneProgress": true },
                "workspace": { "applyEdit": true, "configuration": true,
                    "workspaceEdit": { "documentChanges": true },
                    "didChangeConfiguration": { "dynamicRegistration": true },
                    "didChangeWatchedFiles": { "dynamicRegistration": true } },
                "experimental": { "breadboard": { "terminalRun": true, "documentSave": true, "contextProvide": true } },
            },
            "initializationOptions": { "workspaceTrusted": true, "unknown": 5, "delivery": { "maxEvents": 3 } },
        });
        let (start_up, warnings) = read_start_up(&params, Overrides::default());
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(
            start_up.folders,
            [
                Folder {
                    uri: "file:///w/a%20b".to_owned(),
                    name: "first".to_owned(),
                    path: Some("/w/a b".into())
                },
                Folder { uri: "vscode-vfs://x/y".to_owned(), name: "workspace".to_owned(), path: None },
            ]
        );
        assert_eq!(start_up.encoding, PositionEncoding::Utf32);
        assert_eq!(start_up.trace, TraceLevel::Verbose);
        assert_eq!(
            start_up.editor,
            EditorAbilities {
                work_done_progress: true,
                apply_edit: true,
                document_changes: true,
                change_annotations: false,
                configuration: true,
                register_configuration: true,
                register_watched_files: true,
                terminal_run: true,
                document_save: true,
                context_provide: true,
                answers_by_itself: false,
                plain: None,
            }
        );
        assert_eq!(start_up.options.workspace_trusted, Some(true));
        assert_eq!(start_up.options.delivery.and_then(|delivery| delivery.max_events), Some(3));
    }

    #[test]
    #[cfg_attr(windows, ignore = "folders as they are spelled elsewhere")]
    fn older_ways_to_name_the_root_count_when_there_are_no_folders() {
        let folders =
            |params: Value| read_folders(&params).into_iter().map(|folder| folder.uri).collect::<Vec<_>>();
        assert_eq!(folders(json!({ "workspaceFolders": null, "rootUri": "file:///r" })), ["file:///r"]);
        assert_eq!(
            folders(json!({ "workspaceFolders": [], "rootUri": null, "rootPath": "/p q" })),
            ["file:///p%20q"]
        );
        assert_eq!(folders(json!({ "rootUri": "", "rootPath": "relative" })), Vec::<String>::new());
        assert_eq!(read_encoding(&json!({})), PositionEncoding::Utf16);
    }

    #[test]
    fn one_bad_option_is_named_and_the_others_are_kept() {
        let (options, warnings) = read_options(&json!({
            "engine": { "kind": "steam" },
            "agents": { "good": { "command": "a" }, "bad": { "command": 5 } },
            "delivery": { "maxEvents": "many", "maxBytes": 5 },
            "stateDir": "/s",
            "retention": { "maxBytes": "much" },
        }));
        assert_eq!(options.state_dir.as_deref(), Some("/s"));
        assert_eq!(options.engine, None);
        assert_eq!(
            options.agents.map(|agents| agents.into_keys().collect::<Vec<_>>()),
            Some(vec!["good".to_owned()])
        );
        assert_eq!(options.delivery.and_then(|delivery| delivery.max_bytes), Some(5));
        let named: Vec<&str> = warnings.iter().filter_map(|warning| warning.split('`').nth(1)).collect();
        assert_eq!(named, ["agents.bad", "delivery.maxEvents", "retention.maxBytes", "engine"]);
        assert_eq!(read_options(&json!([])).1.len(), 1);
    }
}
