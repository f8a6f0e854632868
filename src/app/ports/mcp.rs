//! Servers of tools: what the loop tells the room that owns them, and asks it.
//!
//! Nothing in here waits. How a server stands is read when somebody wants to know; what one is asked for comes as an `Answer`.

use std::collections::BTreeSet;

use crate::app::inbox::{Answer, Folder, Reply};
use crate::domain::mcp::{McpPrompt, PromptCall};
use crate::protocol::mcp::{McpDefinitions, McpListResult, McpServerState};

use super::Secret;

/// Something that a server is asked for with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum McpWanted {
    /// A resource that the prompt names.
    Resource {
        /// The server.
        server: String,
        /// Its address there.
        uri: String,
    },
    /// The prompt that it begins with.
    Prompt(PromptCall),
}

/// What came of it: a text, or a sentence.
pub(crate) type McpFetched = (McpWanted, Result<String, String>);

/// The servers.
pub(crate) trait McpServers: Send {
    /// The servers of the settings, or those that a session has besides, in place of those before. Gives what was taken from our
    /// environment for them, which is secret from now on.
    fn set(&self, session_id: Option<&str>, servers: McpDefinitions) -> Vec<Secret>;
    /// The servers that files of the workspace name are looked for beneath these, and programs start in the first.
    fn set_folders(&self, folders: &[Folder]);
    /// Whether any may run: the workspace is trusted, and our own agent is the one that works.
    fn allow(&self, may_run: bool);
    /// The contents of files of the workspace that the user allowed, by their digests: the servers that these name may run.
    fn allow_found(&self, digests: BTreeSet<String>);
    /// A session is gone, and its own servers with it.
    fn forget(&self, session_id: &str);
    /// How each stands, for a session or in general, as far as it is known without looking.
    fn standing(&self, session_id: Option<&str>) -> Vec<McpServerState>;
    /// The same, once the files of the workspace were looked at.
    fn list(&self, session_id: Option<&str>, reply: Reply<McpListResult>);
    /// Ends one and starts it anew. Whether there is one.
    fn restart(&self, session_id: Option<&str>, server: &str) -> bool;
    /// A prompt of a server, as it was listed.
    fn prompt(&self, session_id: Option<&str>, server: &str, prompt: &str) -> Option<McpPrompt>;
    /// Asks servers for these; each has an outcome, in this order.
    fn fetch(&self, session_id: &str, wanted: Vec<McpWanted>) -> Answer<Vec<McpFetched>>;
}
