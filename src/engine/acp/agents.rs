//! Names of agents: from the settings and the presets to the command line that starts one.
//!
//! Owns that way. Never starts anything, and never reads a file of the workspace: the settings it gets hold none.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::presets::{PRESETS, preset_of};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::protocol::settings::{EngineKind, Settings};

/// The name of the agent of `engine.kind: acp`, when it has none and its program neither.
const UNNAMED: &str = "agent";
/// Characters of a name that is made of a program's.
const NAME: usize = 64;

/// How long an agent may say nothing in a turn before the user hears of it, when the setting is silent.
const QUIET: Duration = Duration::from_secs(60);

/// How one agent is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentLine {
    /// Its name.
    pub name: String,
    /// Program.
    pub program: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Extra environment.
    pub env: BTreeMap<String, String>,
    /// How long it may say nothing in a turn before the user hears of it.
    pub quiet: Duration,
    /// Whether it may read and write files of the workspace through us.
    pub file_system: bool,
    /// Whether it may run commands in terminals of ours.
    pub terminals: bool,
    /// The mode that its sessions begin in.
    pub mode: StartMode,
}

/// The mode that the sessions of an agent begin in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StartMode {
    /// The one in which it asks before each edit and each command; `None`: no such mode is known.
    Asking(Option<String>),
    /// The one with this id.
    Named(String),
    /// Whichever the agent begins in.
    OfTheAgent,
}

impl StartMode {
    /// As the settings say it; `program` is the agent's.
    fn read(said: Option<&str>, program: &str) -> Self {
        match said.map(str::trim) {
            None | Some("" | "ask") => {
                Self::Asking(preset_of(program).and_then(|preset| preset.asking_mode).map(str::to_owned))
            }
            Some("agent") => Self::OfTheAgent,
            Some(mode) => Self::Named(mode.to_owned()),
        }
    }
}

impl AgentLine {
    /// Whether it gets terminals: there are none where a process tree cannot be held together.
    pub(crate) fn has_terminals(&self) -> bool {
        self.terminals && cfg!(unix)
    }
}

/// The agents that can be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agents {
    chosen: Option<String>,
    by_name: BTreeMap<String, AgentLine>,
}

impl Agents {
    /// Presets, then those of `agents`, then the one of the `engine` setting.
    pub(crate) fn read(settings: &Settings) -> Self {
        let mut by_name: BTreeMap<String, AgentLine> = PRESETS
            .iter()
            .map(|preset| {
                let line = AgentLine {
                    name: preset.name.to_owned(),
                    program: preset.program.to_owned(),
                    args: preset.args.iter().map(|&arg| arg.to_owned()).collect(),
                    env: BTreeMap::new(),
                    quiet: QUIET,
                    file_system: false,
                    terminals: false,
                    mode: StartMode::Asking(preset.asking_mode.map(str::to_owned)),
                };
                (line.name.clone(), line)
            })
            .collect();
        for (name, agent) in &settings.agents {
            let line = AgentLine {
                name: name.clone(),
                program: agent.command.clone(),
                args: agent.args.clone().unwrap_or_default(),
                env: agent.env.clone().unwrap_or_default(),
                quiet: agent.quiet_seconds.map_or(QUIET, Duration::from_secs),
                file_system: agent.file_system.unwrap_or(false),
                terminals: agent.terminals.unwrap_or(false),
                mode: StartMode::read(agent.mode.as_deref(), &agent.command),
            };
            by_name.insert(name.clone(), line);
        }
        let chosen = (settings.engine.kind == EngineKind::Acp).then(|| of_engine(settings, &mut by_name));
        Self { chosen: chosen.flatten(), by_name }
    }

    /// The agent with this name; `None` is the one of the `engine` setting.
    ///
    /// # Errors
    /// There is no such agent.
    pub(crate) fn named(&self, name: Option<&str>) -> Result<&AgentLine, CodedError> {
        let Some(name) = name.or(self.chosen.as_deref()) else {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                format!(
                    "No agent is chosen; choose one of {}, or give the command line of another.",
                    self.names()
                ),
            ));
        };
        self.by_name.get(name).filter(|line| !line.program.trim().is_empty()).ok_or_else(|| {
            CodedError::new(
                ErrorCode::NotFound,
                format!(
                    "There is no agent `{name}`; choose one of {}, or say in the settings what starts it.",
                    self.names()
                ),
            )
        })
    }

    /// The name of the agent of the `engine` setting.
    pub(crate) fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref()
    }

    /// All of them, by name.
    pub(crate) fn all(&self) -> impl Iterator<Item = &AgentLine> {
        self.by_name.values().filter(|line| !line.program.trim().is_empty())
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.by_name.keys().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }
}

/// Takes in the agent of the `engine` setting; its name, where it says enough to start one.
fn of_engine(settings: &Settings, by_name: &mut BTreeMap<String, AgentLine>) -> Option<String> {
    let engine = &settings.engine;
    let said = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let (name, command) = (said(&engine.name), said(&engine.command));
    let Some(program) = command else {
        // Its own arguments and environment go to the agent that it names.
        let name = name?;
        if let Some(line) = by_name.get_mut(&name) {
            line.args = engine.args.clone().unwrap_or(std::mem::take(&mut line.args));
            line.env.extend(engine.env.clone().unwrap_or_default());
        }
        return Some(name);
    };
    let args = engine.args.clone().unwrap_or_default();
    let name = name.unwrap_or_else(|| name_of(&program, &args, settings));
    // What `agents` says of how it is treated stands, whatever starts it.
    let told = by_name.get(&name);
    let (quiet, file_system, terminals) =
        told.map_or((QUIET, false, false), |line| (line.quiet, line.file_system, line.terminals));
    let mode = match told.map(|line| &line.mode) {
        Some(said @ (StartMode::Named(_) | StartMode::OfTheAgent)) => said.clone(),
        Some(StartMode::Asking(Some(mode))) => StartMode::Asking(Some(mode.clone())),
        Some(StartMode::Asking(None)) | None => StartMode::read(None, &program),
    };
    let line = AgentLine {
        name: name.clone(),
        program,
        args,
        env: engine.env.clone().unwrap_or_default(),
        quiet,
        file_system,
        terminals,
        mode,
    };
    by_name.insert(name.clone(), line);
    Some(name)
}

/// A name for an agent that has none: that of its program, and another one where the settings give that to an agent which is
/// started otherwise. The same settings always give the same name, since records hold it.
fn name_of(program: &str, args: &[String], settings: &Settings) -> String {
    let stem = Path::new(program).file_stem().map(|stem| stem.to_string_lossy());
    let plain = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = stem.iter().flat_map(|stem| stem.chars()).filter(plain).take(NAME).collect();
    let name = if name.is_empty() { UNNAMED.to_owned() } else { name };
    match settings.agents.get(&name) {
        Some(agent) if agent.command != program || agent.args.as_deref().unwrap_or_default() != args => {
            format!("{name}-engine")
        }
        Some(_) | None => name,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::settings::Overrides;

    fn agents(options: serde_json::Value) -> Agents {
        let options = serde_json::from_value(options).unwrap();
        Agents::read(&Settings::layered(options, &Overrides::default()))
    }

    fn words(agents: &Agents, name: Option<&str>) -> Result<String, ErrorCode> {
        let line = agents.named(name).map_err(|error| error.code)?;
        Ok(format!("{} {}", line.program, line.args.join(" ")))
    }

    #[test]
    fn settings_win_over_presets_and_the_engine_setting_over_both() {
        let none = agents(json!({}));
        assert_eq!(words(&none, Some("opencode")), Ok("opencode acp".to_owned()));
        assert_eq!(words(&none, Some("nobody")), Err(ErrorCode::NotFound));
        assert_eq!(words(&none, None), Err(ErrorCode::InvalidParams));
        let mine = agents(json!({ "agents": {
            "opencode": { "command": "/opt/oc", "args": ["x"], "quietSeconds": 5 }, "mine": { "command": "m" } } }));
        assert_eq!(words(&mine, Some("opencode")), Ok("/opt/oc x".to_owned()));
        assert_eq!(mine.named(Some("opencode")).unwrap().quiet, Duration::from_secs(5));
        assert_eq!(words(&mine, Some("mine")), Ok("m ".to_owned()));
        let named = agents(json!({ "engine": { "kind": "acp", "name": "opencode" } }));
        assert_eq!(words(&named, None), Ok("opencode acp".to_owned()));
        assert_eq!(named.chosen(), Some("opencode"));
        let own = agents(
            json!({ "engine": { "kind": "acp", "command": "a", "args": ["b"], "env": { "K": "v" } } }),
        );
        assert_eq!(words(&own, None), Ok("a b".to_owned()));
        assert_eq!(own.chosen(), Some("a"));
        // By its program, unless the settings name an agent so which is started otherwise
        for (command, args, name) in [
            ("/opt/x/my-agent.exe", json!([]), "my-agent"),
            ("opencode", json!(["acp"]), "opencode"),
            ("/opt/other/opencode", json!(["acp"]), "opencode"),
            ("/opt/other/mine", json!([]), "mine-engine"),
            ("m/mine", json!(["x"]), "mine"),
            ("../\u{1b}[31m", json!([]), "31m"),
            ("..", json!([]), "agent"),
        ] {
            let engine = json!({ "kind": "acp", "command": command, "args": args });
            let mine = json!({ "mine": { "command": "m/mine", "args": ["x"] } });
            assert_eq!(agents(json!({ "engine": engine, "agents": mine })).chosen(), Some(name), "{command}");
        }
        assert_eq!(own.named(None).unwrap().env, BTreeMap::from([("K".to_owned(), "v".to_owned())]));
        let may = |agents: &Agents, name| {
            let line = agents.named(name).unwrap();
            (line.file_system, line.terminals)
        };
        let given = json!({ "command": "m", "fileSystem": true, "terminals": true });
        for engine in [json!({ "name": "mine" }), json!({ "name": "mine", "command": "other" })] {
            let mut options =
                json!({ "engine": engine, "agents": { "mine": given, "half": { "command": "h" } } });
            options["engine"]["kind"] = json!("acp");
            let both = agents(options);
            assert_eq!((may(&both, None), may(&both, Some("half"))), ((true, true), (false, false)));
            assert_eq!(may(&both, Some("opencode")), (false, false));
        }
        assert_eq!(may(&own, None), (false, false));
        let unnamed = agents(json!({ "engine": { "kind": "acp" } }));
        assert_eq!(words(&unnamed, None), Err(ErrorCode::InvalidParams));
        let other = agents(json!({ "engine": { "kind": "breadboard", "command": "a" } }));
        assert_eq!(other.chosen(), None);
    }

    #[test]
    fn sessions_begin_in_the_asking_mode_of_a_known_agent_unless_a_setting_says_another() {
        let asking = |mode: &str| StartMode::Asking(Some(mode.to_owned()));
        let named = agents(json!({ "agents": {
            "codex-acp": { "command": "/opt/codex-acp" },
            "mine": { "command": "/usr/bin/qwen" },
            "other": { "command": "other" },
            "as-is": { "command": "codex-acp", "mode": "agent" },
            "plan": { "command": "codex-acp", "mode": "plan" },
            "blank": { "command": "codex-acp", "mode": " " } } }));
        for (name, mode) in [
            ("claude-agent-acp", asking("default")),
            ("goose", asking("approve")),
            ("opencode", StartMode::Asking(None)),
            ("codex-acp", asking("read-only")),
            ("mine", asking("default")),
            ("other", StartMode::Asking(None)),
            ("as-is", StartMode::OfTheAgent),
            ("plan", StartMode::Named("plan".to_owned())),
            ("blank", asking("read-only")),
        ] {
            assert_eq!(named.named(Some(name)).unwrap().mode, mode, "{name}");
        }
        for (engine, mode) in [
            (json!({ "command": "/opt/claude-agent-acp" }), asking("default")),
            (json!({ "command": "other" }), StartMode::Asking(None)),
            (json!({ "name": "goose", "command": "other" }), asking("approve")),
            (json!({ "name": "mine", "command": "other" }), StartMode::Named("plan".to_owned())),
        ] {
            let mut options =
                json!({ "engine": engine, "agents": { "mine": { "command": "m", "mode": "plan" } } });
            options["engine"]["kind"] = json!("acp");
            assert_eq!(agents(options).named(None).unwrap().mode, mode);
        }
    }
}
