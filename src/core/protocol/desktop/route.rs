//! The table of the HTTP routes of a desktop host: those of the seed (R002-10 to R002-27), and what is additive.
//!
//! Owns which there are, what they take and what they answer. The OpenAPI document is made of it, and the server is tested
//! against it.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::body::{
    CurrentModelBody, DeletedBody, HealthBody, HistoryBody, IndexStatusBody, ModelChoiceBody, ModelsBody,
    NewSessionBody, PairBody, PairedBody, PolicyBody, PolicyChange, RegisterBody, SearchBody,
    SearchResultBody, SessionBody, WorkspaceBody,
};
use super::client_message::FileChangesBody;
use super::refusal::RefusalCode;

/// Makes the schema of a body.
pub(crate) type BodySchema = fn(&mut SchemaGenerator) -> Schema;

/// One route.
pub(crate) struct RouteRow {
    /// `get`, `post`, `put` or `delete`.
    pub method: &'static str,
    /// With its places in braces.
    pub path: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Names of what its query takes.
    pub query: &'static [&'static str],
    /// The body that it takes.
    pub takes: Option<BodySchema>,
    /// The body of its answer, 200; `None`: it is no JSON, or it is refused always.
    pub answers: Option<BodySchema>,
    /// Codes that it is refused with, beside those of every route.
    pub refusals: &'static [RefusalCode],
}

/// Codes that any route may be refused with.
pub(crate) const EVERY_ROUTE: &[RefusalCode] = &[
    RefusalCode::Unauthorized,
    RefusalCode::ForbiddenOrigin,
    RefusalCode::RateLimited,
    RefusalCode::BadMessage,
    RefusalCode::TooLarge,
    RefusalCode::Internal,
];

const UNKNOWN: &[RefusalCode] = &[RefusalCode::NotFound];
const ENGINE: &[RefusalCode] = &[
    RefusalCode::NotFound,
    RefusalCode::PolicyViolation,
    RefusalCode::Conflict,
    RefusalCode::ModelError,
    RefusalCode::Unsupported,
];

fn of<T: JsonSchema>() -> Option<BodySchema> {
    Some(|generator| generator.subschema_for::<T>())
}

fn row(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    (takes, answers): (Option<BodySchema>, Option<BodySchema>),
    refusals: &'static [RefusalCode],
) -> RouteRow {
    RouteRow { method, path, summary, query: &[], takes, answers, refusals }
}

/// Every route.
pub(crate) fn routes() -> Vec<RouteRow> {
    let mut routes = workspaces();
    routes.extend(sessions());
    routes.extend(models());
    routes
}

fn workspaces() -> Vec<RouteRow> {
    let workspace = "/v1/workspaces/{workspace_id}";
    let policy = "/v1/workspaces/{workspace_id}/policy";
    let forbidden = &[RefusalCode::PolicyViolation];
    vec![
        row(
            "post",
            "/v1/pair",
            "Gives the token for the code in the host's terminal, once; it is the only route that needs no token (additive).",
            (of::<PairBody>(), of::<PairedBody>()),
            &[],
        ),
        row("get", "/v1/health", "Says that the host answers.", (None, of::<HealthBody>()), &[]),
        row("get", "/v1/workspaces", "Lists the workspaces.", (None, of::<Vec<WorkspaceBody>>()), &[]),
        row(
            "post",
            "/v1/workspaces/register",
            "Gives the workspace of a folder that the host was started with; no other folder can be added.",
            (of::<RegisterBody>(), of::<WorkspaceBody>()),
            forbidden,
        ),
        row("get", workspace, "Gives a workspace.", (None, of::<WorkspaceBody>()), UNKNOWN),
        row("get", policy, "Gives the policy.", (None, of::<PolicyBody>()), UNKNOWN),
        row(
            "put",
            policy,
            "Changes the keys of the policy that are named; it is kept by the host.",
            (of::<PolicyChange>(), of::<PolicyBody>()),
            &[RefusalCode::NotFound, RefusalCode::Unsupported],
        ),
        row(
            "post",
            "/v1/workspaces/{workspace_id}/index/rebuild",
            "Forgets the index and reads every file, in the background.",
            (None, of::<IndexStatusBody>()),
            UNKNOWN,
        ),
        row(
            "post",
            "/v1/workspaces/{workspace_id}/index/refresh",
            "Compares every file and reads those that changed, in the background.",
            (None, of::<IndexStatusBody>()),
            UNKNOWN,
        ),
        row(
            "post",
            "/v1/workspaces/{workspace_id}/index/incremental",
            "Takes in files that changed, in the background.",
            (of::<FileChangesBody>(), of::<IndexStatusBody>()),
            &[RefusalCode::NotFound, RefusalCode::PolicyViolation],
        ),
        row(
            "get",
            "/v1/workspaces/{workspace_id}/index/status",
            "Says how the index stands.",
            (None, of::<IndexStatusBody>()),
            UNKNOWN,
        ),
        row(
            "post",
            "/v1/workspaces/{workspace_id}/search",
            "Finds places of the workspace that answer a question (additive).",
            (of::<SearchBody>(), of::<SearchResultBody>()),
            &[RefusalCode::NotFound, RefusalCode::RetrievalFailed],
        ),
    ]
}

fn sessions() -> Vec<RouteRow> {
    let session = "/v1/sessions/{session_id}";
    vec![
        row(
            "post",
            "/v1/sessions",
            "Makes a session.",
            (of::<NewSessionBody>(), of::<SessionBody>()),
            ENGINE,
        ),
        RouteRow {
            query: &["workspace_id"],
            ..row(
                "get",
                "/v1/sessions",
                "Lists sessions, newest first.",
                (None, of::<Vec<SessionBody>>()),
                UNKNOWN,
            )
        },
        row("get", session, "Gives a session.", (None, of::<SessionBody>()), UNKNOWN),
        row("delete", session, "Stops and deletes a session.", (None, of::<DeletedBody>()), ENGINE),
        RouteRow {
            query: &["before", "limit"],
            ..row(
                "get",
                "/v1/sessions/{session_id}/messages",
                "Gives a page of the transcript, the newest without `before` (additive).",
                (None, of::<HistoryBody>()),
                UNKNOWN,
            )
        },
    ]
}

fn models() -> Vec<RouteRow> {
    let asked = &["workspace_id"];
    vec![
        RouteRow {
            query: asked,
            ..row(
                "get",
                "/v1/models",
                "Lists the models that the engine offers.",
                (None, of::<ModelsBody>()),
                ENGINE,
            )
        },
        RouteRow {
            query: asked,
            ..row(
                "get",
                "/v1/models/current",
                "Gives the model in use.",
                (None, of::<CurrentModelBody>()),
                ENGINE,
            )
        },
        RouteRow {
            query: asked,
            ..row(
                "put",
                "/v1/models/current",
                "Chooses the model of later turns.",
                (of::<ModelChoiceBody>(), of::<CurrentModelBody>()),
                ENGINE,
            )
        },
        row("get", "/v1/openapi.json", "Gives this document (additive).", (None, None), &[]),
        row(
            "get",
            "/metrics",
            "Gives counts for Prometheus, as its text format (additive).",
            (None, None),
            &[],
        ),
    ]
}
