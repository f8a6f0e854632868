//! The context of a prompt as the desktop protocol has it (seed 002, R002-31 to -43), and as an editor tells it to us.
//!
//! Owns these shapes. Lines are counted from 1 and ranges are inclusive; characters are counted from 0 in the encoding that
//! `initialize` settled. Paths are relative to the workspace root. Never gathers anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What goes with `client.user_message` as `context`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserContext {
    /// The file that the user looks at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_editor: Option<ActiveEditor>,
    /// Files that are open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_editors: Vec<OpenEditor>,
    /// Problems that language servers and linters told the editor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<ContextDiagnostic>,
    /// The last command in the editor's terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_output: Option<EditorTerminal>,
    /// The state of the repository; read by the server, never by the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_context: Option<GitContext>,
    /// What the prompt names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<ContextMention>,
    /// The slash command of the prompt, with its slash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The file that the user looks at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveEditor {
    /// Relative to the workspace root. An editor may say a whole path or a `file:` URI instead.
    pub file_path: String,
    /// Id of its language.
    #[serde(default)]
    pub language: String,
    /// What is marked, or the place of the cursor where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<EditorSelection>,
    /// The lines that the user can see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible_range: Option<VisibleRange>,
    /// `sha256:<hex>` of its text as the editor has it; made by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
}

/// What is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditorSelection {
    /// Where it begins.
    pub start: EditorPlace,
    /// Where it ends: before this character.
    pub end: EditorPlace,
}

impl EditorSelection {
    /// Whether nothing is marked.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The last line of which something is marked.
    pub fn last_line(&self) -> u64 {
        if self.end.character == 0 && self.end.line > self.start.line {
            self.end.line - 1
        } else {
            self.end.line
        }
    }
}

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditorPlace {
    /// Line, from 1.
    pub line: u64,
    /// Character in the line, from 0.
    pub character: u64,
}

/// The lines that the user can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VisibleRange {
    /// First line, from 1.
    pub start: u64,
    /// Last line, inclusive.
    pub end: u64,
}

/// A file that is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenEditor {
    /// As in `active_editor`.
    pub file_path: String,
    /// Whether it has text that is not on disk.
    #[serde(default)]
    pub is_dirty: bool,
    /// Whether the user can see it now.
    #[serde(default)]
    pub visible: bool,
}

/// A problem in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextDiagnostic {
    /// As in `active_editor`.
    pub file_path: String,
    /// `error`, `warning`, `information` or `hint`.
    pub severity: String,
    /// What is wrong.
    pub message: String,
    /// Line, from 1.
    pub line: u64,
    /// Character in the line, from 0.
    #[serde(default)]
    pub character: u64,
    /// Who says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The last command in a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditorTerminal {
    /// The command line.
    pub command: String,
    /// Its exit code; null while it runs, or where the editor does not know.
    pub exit_code: Option<i64>,
    /// What it printed. An editor that cannot tell the two apart gives all of it here.
    #[serde(default)]
    pub stdout: String,
    /// What it printed as errors.
    #[serde(default)]
    pub stderr: String,
    /// When it ended: ISO-8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// The state of the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitContext {
    /// Its branch; the commit where it stands on none.
    pub branch: String,
    /// Files that differ between the last commit and the index.
    pub staged_files: Vec<String>,
    /// Files that differ between the index and the disk.
    pub modified_files: Vec<String>,
    /// The newest commits, newest first.
    pub recent_commits: Vec<RecentCommit>,
}

/// A commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecentCommit {
    /// Its id.
    pub sha: String,
    /// Its first line.
    pub message: String,
    /// Who made it.
    pub author: String,
    /// When: ISO-8601, UTC.
    pub timestamp: String,
}

/// What a prompt names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContextMention {
    /// A file, or some lines of it.
    File {
        /// Relative to the workspace root.
        path: String,
    },
    /// A folder.
    Folder {
        /// Relative to the workspace root.
        path: String,
    },
    /// A definition.
    Symbol {
        /// Its name.
        name: String,
        /// The file that it stands in.
        file_path: String,
        /// Its first line, from 1.
        line: u64,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The example of the seed, with hashes and ids of full length.
    fn seed() -> Value {
        json!({
            "active_editor": {
                "file_path": "src/auth/login.ts",
                "language": "typescript",
                "selection": {
                    "start": { "line": 23, "character": 0 },
                    "end": { "line": 45, "character": 12 },
                },
                "visible_range": { "start": 1, "end": 100 },
                "content_hash": "sha256:abc123",
            },
            "open_editors": [{ "file_path": "src/auth/session.ts", "is_dirty": false, "visible": true }],
            "diagnostics": [{
                "file_path": "src/auth/login.ts",
                "severity": "error",
                "message": "Property 'password' is used before being defined",
                "line": 23,
                "character": 15,
                "source": "typescript",
            }],
            "terminal_output": {
                "command": "npm test",
                "exit_code": 1,
                "stdout": "FAIL src/auth/login.test.ts...",
                "stderr": "",
                "timestamp": "2025-12-30T10:30:45Z",
            },
            "git_context": {
                "branch": "feature/auth-fix",
                "staged_files": [],
                "modified_files": ["src/auth/login.ts", "src/auth/session.ts"],
                "recent_commits": [{
                    "sha": "abc123",
                    "message": "Add password validation",
                    "author": "Kevin",
                    "timestamp": "2025-12-30T09:15:00Z",
                }],
            },
            "mentions": [
                { "type": "file", "path": "src/utils/validator.ts" },
                { "type": "symbol", "name": "validatePassword", "file_path": "src/utils/validator.ts", "line": 12 },
            ],
            "command": "/fix",
        })
    }

    #[test]
    fn r002_31_32_34_35_36_37_38_39_40_41_the_context_of_the_seed_is_read_and_written_as_it_stands() {
        let read: UserContext = serde_json::from_value(seed()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), seed());
    }

    #[test]
    fn an_update_has_any_part_of_it_and_nothing_else() {
        let read: UserContext = serde_json::from_value(json!({ "diagnostics": [] })).unwrap();
        assert_eq!(read, UserContext::default());
        let updates = json!({ "terminal_output": seed()["terminal_output"] });
        let read: UserContext = serde_json::from_value(updates.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), updates);
    }

    #[test]
    fn the_line_behind_a_selection_of_whole_lines_is_not_marked() {
        let place = |line, character| EditorPlace { line, character };
        let of = |start, end| EditorSelection { start, end };
        assert_eq!(of(place(3, 0), place(5, 0)).last_line(), 4);
        assert_eq!(of(place(3, 0), place(5, 1)).last_line(), 5);
        assert_eq!(of(place(3, 0), place(3, 0)).last_line(), 3);
        assert!(of(place(3, 2), place(3, 2)).is_empty());
    }
}
