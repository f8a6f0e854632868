//! `bb/mcp/*`: servers of tools.
//!
//! Owns the user's word for a server that a file of the workspace names: a rule of this workspace, for one content. Never starts a
//! server: that is behind the port.

use std::collections::{BTreeMap, BTreeSet};

use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::app::ports::Secret;
use crate::app::state::App;
use crate::domain::approval::{AskRoot, PermissionRule, RootedRule, RuleScope};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::policy::settings_secrets::SecretValues;
use crate::protocol::mcp::{
    McpAllowParams, McpListResult, McpRestartParams, McpServerSetting, McpSetParams, McpStatus, definitions,
};
use crate::protocol::settings::EngineKind;

/// What the pattern of a rule about a server begins with.
const RULE: &str = "start: tool server ";

/// Values of these servers that are hidden as tokens are.
pub(in crate::app) fn secrets_of_servers(servers: &BTreeMap<String, McpServerSetting>) -> SecretValues {
    let written = serde_json::json!({ "mcpServers": servers });
    SecretValues::of_options(&written)
}

impl App {
    /// Whatever is written or said from here on may quote these.
    pub(in crate::app) fn hide(&mut self, secrets: impl Iterator<Item = Secret>) {
        for secret in secrets {
            self.redactor.add(&secret.0);
            self.clients.iter().for_each(|(_, client)| client.outbox.hide(&secret));
        }
        self.files.hide(&self.redactor);
    }

    /// The servers of the settings, once these are known.
    pub(in crate::app) fn begin_mcp(&mut self) {
        let Some(mcp) = &self.mcp else { return };
        mcp.set_folders(&self.workspace.folders);
        let secrets = mcp.set(None, definitions(&self.settings.mcp_servers));
        self.hide(secrets.into_iter());
        self.allow_mcp(self.settings.workspace_trusted);
    }

    /// Servers may run or not. Only for our own agent: others start them themselves.
    pub(in crate::app) fn allow_mcp(&self, trusted: bool) {
        let Some(mcp) = &self.mcp else { return };
        let is_ours = self.settings.engine.kind == EngineKind::Embedded && self.engines.main.is_ok();
        mcp.allow(trusted && is_ours);
    }

    /// Tells which contents of files are allowed: at the start, and when a rule comes or goes.
    pub(in crate::app) fn tell_allowed_servers(&self) {
        let Some(mcp) = &self.mcp else { return };
        let here = self.root_now();
        let allowed: BTreeSet<String> = self
            .rules
            .iter()
            .filter(|rooted| rooted.root == here && here != AskRoot::Closed)
            .filter_map(|rooted| Some(rooted.rule.pattern.strip_prefix(RULE)?.rsplit_once(' ')?.1.to_owned()))
            .collect();
        mcp.allow_found(allowed);
    }

    /// The folder that such a rule is for: the first, whose files name servers.
    fn root_now(&self) -> AskRoot {
        let folder = self.root_named(None).and_then(|folder| folder.path.as_deref());
        let identity = folder.and_then(|folder| self.files.identity(folder));
        identity.map_or(AskRoot::Closed, AskRoot::Folder)
    }

    pub(in crate::app) fn mcp_list(&self, session_id: Option<&str>, reply: Reply<McpListResult>) {
        match &self.mcp {
            Some(mcp) => mcp.list(session_id, reply),
            None => reply.answer(McpListResult::default()),
        }
    }

    pub(in crate::app) fn mcp_restart(
        &self,
        client: ClientId,
        params: &McpRestartParams,
        reply: Reply<McpListResult>,
    ) {
        if let Err(error) = self.may_start_servers(client) {
            return reply.refuse(error);
        }
        let session_id = params.session_id.as_deref();
        match self.mcp.as_ref().filter(|mcp| mcp.restart(session_id, &params.server)) {
            Some(mcp) => mcp.list(session_id, reply),
            None => reply.refuse(no_server(&params.server)),
        }
    }

    pub(in crate::app) fn mcp_set(
        &mut self,
        client: ClientId,
        params: McpSetParams,
        reply: Reply<McpListResult>,
    ) {
        let McpSetParams { session_id, mcp_servers } = params;
        let may = self.known(&session_id).map(|_| ()).and_then(|()| self.may_start_servers(client));
        if let Err(error) = may {
            return reply.refuse(error);
        }
        let written = secrets_of_servers(&mcp_servers);
        self.hide(written.iter().map(|secret| Secret(secret.to_owned())));
        let Some(mcp) = &self.mcp else { return reply.answer(McpListResult::default()) };
        let secrets = mcp.set(Some(&session_id), definitions(&mcp_servers));
        mcp.list(Some(&session_id), reply);
        self.hide(secrets.into_iter());
    }

    /// The user allows a server that a file names, with the content that was shown.
    pub(in crate::app) fn mcp_allow(
        &mut self,
        client: ClientId,
        params: &McpAllowParams,
        reply: Reply<McpListResult>,
    ) {
        if let Err(error) = self.allow_server(client, params) {
            return reply.refuse(error);
        }
        self.tell_allowed_servers();
        self.mcp_list(None, reply);
    }

    fn allow_server(&mut self, client: ClientId, params: &McpAllowParams) -> Result<(), CodedError> {
        self.may_start_servers(client)?;
        let known = self.mcp.as_ref().map(|mcp| mcp.standing(None)).unwrap_or_default();
        let Some(server) = known.into_iter().find(|server| server.name == params.server) else {
            return Err(no_server(&params.server));
        };
        if server.digest.as_deref() != Some(params.digest.as_str()) {
            return Err(CodedError::new(
                ErrorCode::Conflict,
                "The file of the workspace names this tool server in another way than was shown; look at it again.",
            ));
        }
        if server.status != McpStatus::Unasked {
            return Ok(());
        }
        let pattern =
            format!("{RULE}{} ({}) {}", server.name, server.definition.unwrap_or_default(), params.digest);
        let root = self.root_now();
        let rule = PermissionRule { pattern, scope: RuleScope::Workspace };
        self.save_rule("", RootedRule { rule, root })
    }

    fn may_start_servers(&self, client: ClientId) -> Result<(), CodedError> {
        if self.clients.trusts(client) {
            return Ok(());
        }
        Err(CodedError::new(
            ErrorCode::UntrustedWorkspace,
            "This workspace is not trusted, so no tool server is started in it; trust it first.",
        ))
    }
}

fn no_server(name: &str) -> CodedError {
    CodedError::new(
        ErrorCode::NotFound,
        format!("There is no tool server `{name}`; look at the list of tool servers."),
    )
}
