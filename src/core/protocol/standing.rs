//! What is done without asking each time, and where commands run: the settings, and the request that changes them.
//!
//! Owns shapes and layering. All of it comes from the user: from initialization options, environment, flags, or a request; nothing
//! from `workspace/configuration`, which a repository may write. Additive to wire.md.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::policy::command_class::CommandClass;
use crate::domain::policy::file_lists::FileLists;
use crate::domain::policy::standing::{ApprovalMode, StandingAnswer, StandingPattern, StandingPolicy};

/// How permissions are answered: what needs no person, and how long the others wait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ApprovalsSetting {
    /// Seconds after which a permission that nobody answered counts as denied; 0 means never. Default 86400, a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_after_seconds: Option<u64>,
    /// What is done without asking in a trusted workspace. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// Answers by what is done. `always` counts for `read`, `edit` and `build`, and in no mode `ask`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<BTreeMap<CommandClass, StandingAnswer>>,
    /// Answers by pattern. `never` wins over everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patterns: Option<Vec<StandingPattern>>,
    /// Files that agents may read and change, and those that they never touch. Default: all, and none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<FileLists>,
}

/// Where the commands run that this server runs, and within which bounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CommandsSetting {
    /// Default: `local_terminal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner: Option<CommandRunner>,
    /// Seconds that a command of `server_runner`, or of an agent in a terminal of the server, may take; 1 to 86400. Default 120.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// Seconds of processor time that each of its processes may use; 1 to 86400. Default 600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<u64>,
    /// Mebibytes of memory that each of its processes may have; at least 64. Default 4096.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mebibytes: Option<u64>,
    /// Which files commands of the server see and change. Default: `workspace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confinement: Option<CommandConfinement>,
    /// Folders and files, absolute or with `~/` in front, that they read beside those of `workspace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<Vec<String>>,
    /// Folders and files, likewise, that they read and write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<Vec<String>>,
}

/// Which files commands of the server see and change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandConfinement {
    /// They change the opened folders, temporary files and caches of builds, and read these, the system and toolchains: no other
    /// file of the user, and no key. On Linux, where the kernel can; elsewhere it is said that they are not confined.
    #[default]
    Workspace,
    /// All files of the user.
    Off,
}

/// Where a command runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandRunner {
    /// In the editor's terminal, where the user sees it; by this server where the editor has none.
    #[default]
    LocalTerminal,
    /// By this server: its own processes, with bounds, ended as a whole.
    ServerRunner,
}

/// The runner and its bounds, with the defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandBounds {
    /// Where.
    pub runner: CommandRunner,
    /// Seconds that a command may take.
    pub timeout_seconds: u64,
    /// Seconds of processor time of each process.
    pub cpu_seconds: u64,
    /// Mebibytes of memory of each process.
    pub memory_mebibytes: u64,
    /// Which files they see and change.
    pub confinement: CommandConfinement,
    /// What they read beside.
    pub reads: Vec<String>,
    /// What they write beside.
    pub writes: Vec<String>,
}

/// A day: what runs longer is no command of a turn.
const LONGEST_SECONDS: u64 = 86_400;
/// A build or a test run of some size fits, a server that never ends does not.
const TIMEOUT_SECONDS: u64 = 120;
/// Five cores for the whole default time.
const CPU_SECONDS: u64 = 600;
/// A linker of a large program fits; what eats more takes the machine with it.
const MEMORY_MEBIBYTES: u64 = 4_096;
/// Places that the user adds; each is opened for every command.
const PLACES: usize = 64;
/// Below this a shell may not start.
const LEAST_MEBIBYTES: u64 = 64;

impl Default for CommandBounds {
    fn default() -> Self {
        Self::of(None)
    }
}

impl CommandBounds {
    /// A setting within sane bounds.
    pub fn of(setting: Option<&CommandsSetting>) -> Self {
        let seconds =
            |value: Option<u64>, default: u64| value.map_or(default, |s| s.clamp(1, LONGEST_SECONDS));
        let setting = setting.cloned().unwrap_or_default();
        Self {
            runner: setting.runner.unwrap_or_default(),
            timeout_seconds: seconds(setting.timeout_seconds, TIMEOUT_SECONDS),
            cpu_seconds: seconds(setting.cpu_seconds, CPU_SECONDS),
            memory_mebibytes: setting
                .memory_mebibytes
                .map_or(MEMORY_MEBIBYTES, |m| m.clamp(LEAST_MEBIBYTES, 1 << 24)),
            confinement: setting.confinement.unwrap_or_default(),
            reads: places(setting.reads),
            writes: places(setting.writes),
        }
    }
}

/// As many as a person writes down.
fn places(paths: Option<Vec<String>>) -> Vec<String> {
    let mut paths = paths.unwrap_or_default();
    paths.truncate(PLACES);
    paths
}

/// What flags and environment state of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandingOverrides {
    /// The mode.
    pub mode: Option<ApprovalMode>,
    /// Patterns beside those of the options.
    pub patterns: Vec<StandingPattern>,
    /// Where commands run.
    pub runner: Option<CommandRunner>,
    /// Which files they see and change.
    pub confinement: Option<CommandConfinement>,
}

impl StandingOverrides {
    /// The policy of the options with this on top.
    pub fn over(&self, options: Option<&ApprovalsSetting>) -> StandingPolicy {
        let options = options.cloned().unwrap_or_default();
        let mut patterns = options.patterns.unwrap_or_default();
        patterns.extend(self.patterns.iter().cloned());
        StandingPolicy {
            mode: self.mode.or(options.mode).unwrap_or_default(),
            classes: options.classes.unwrap_or_default(),
            patterns,
            files: Arc::new(options.files.unwrap_or_default()),
        }
    }
}

/// Params of `bb/approvals/set`: what is absent stays as it is. It holds until this server ends; an editor keeps it in the settings
/// of its user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ApprovalsSetParams {
    /// What is done without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// Where commands run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner: Option<CommandRunner>,
    /// Answers by what is done, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<BTreeMap<CommandClass, StandingAnswer>>,
    /// Answers by pattern, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patterns: Option<Vec<StandingPattern>>,
    /// Which files may be touched, all three lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<FileLists>,
}

/// Result of `bb/approvals/set`, and what `bb/permission/list` says beside the rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalsState {
    /// What is done without asking.
    pub mode: ApprovalMode,
    /// Answers by what is done.
    pub classes: BTreeMap<CommandClass, StandingAnswer>,
    /// Answers by pattern.
    pub patterns: Vec<StandingPattern>,
    /// Where commands run.
    pub runner: CommandRunner,
    /// Which files may be touched.
    #[serde(default)]
    pub files: FileLists,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r002_85_the_default_asks_for_everything_and_runs_in_the_terminal_of_the_editor() {
        let none = StandingOverrides::default();
        assert_eq!(none.over(None), StandingPolicy::default());
        assert_eq!(StandingPolicy::default().mode, ApprovalMode::Ask);
        assert_eq!(
            CommandBounds::of(None),
            CommandBounds {
                runner: CommandRunner::LocalTerminal,
                timeout_seconds: 120,
                cpu_seconds: 600,
                memory_mebibytes: 4_096,
                confinement: CommandConfinement::Workspace,
                reads: Vec::new(),
                writes: Vec::new(),
            }
        );
    }

    #[test]
    fn r002_93_options_are_read_and_what_flags_state_stands_above_them() {
        let options: ApprovalsSetting = serde_json::from_value(json!({
            "mode": "edits",
            "classes": { "network": "never", "build": "always" },
            "patterns": [{ "pattern": "git push *", "answer": "never" }],
        }))
        .unwrap();
        let listed = StandingPattern { pattern: "cargo test *".to_owned(), answer: StandingAnswer::Always };
        let flags = StandingOverrides {
            mode: Some(ApprovalMode::Reads),
            patterns: vec![listed.clone()],
            runner: None,
            confinement: None,
        };
        let policy = flags.over(Some(&options));
        let never = StandingPattern { pattern: "git push *".to_owned(), answer: StandingAnswer::Never };
        assert_eq!(
            policy,
            StandingPolicy {
                mode: ApprovalMode::Reads,
                classes: BTreeMap::from([
                    (CommandClass::Build, StandingAnswer::Always),
                    (CommandClass::Network, StandingAnswer::Never),
                ]),
                patterns: vec![never, listed],
                files: Arc::default(),
            }
        );
        let wide = CommandsSetting {
            timeout_seconds: Some(0),
            cpu_seconds: Some(u64::MAX),
            memory_mebibytes: Some(1),
            runner: Some(CommandRunner::ServerRunner),
            confinement: Some(CommandConfinement::Off),
            reads: Some(vec!["/x".to_owned(); 100]),
            writes: None,
        };
        let bounds = CommandBounds::of(Some(&wide));
        assert_eq!((bounds.confinement, bounds.reads.len()), (CommandConfinement::Off, 64));
        assert_eq!((bounds.timeout_seconds, bounds.cpu_seconds, bounds.memory_mebibytes), (1, 86_400, 64));
        assert_eq!(bounds.runner, CommandRunner::ServerRunner);
    }
}
