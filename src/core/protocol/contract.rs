//! The whole contract as rows, in order: what schemas and PROTOCOL.md are made from.
//!
//! Owns the order. Never says what a method or a message of the server is: their tables do.

use schemars::JsonSchema;

use super::contract_row::{Direction, MethodRow};
use super::envelope::{RpcReq, RpcRes};
use super::method::{RPC, WORKSPACE_TRUST, request_rows};
use super::request::WorkspaceTrustParams;
use super::server_message;
use super::settings::{InitializationOptions, WorkspaceConfiguration};

/// The whole contract, in order.
pub(crate) fn rows() -> Vec<MethodRow> {
    let row = |method, direction, summary, params, result| MethodRow {
        method,
        direction,
        summary,
        refusals: &[],
        params,
        result,
    };
    let mut rows = request_rows();
    rows.push(row(
        RPC,
        Direction::Request,
        "Carries one v1 envelope, so that a thin host can pass webview messages through.",
        RpcReq::json_schema,
        Some(RpcRes::json_schema),
    ));
    rows.push(row(
        WORKSPACE_TRUST,
        Direction::ToServer,
        "Tells whether the user trusts the workspace.",
        WorkspaceTrustParams::json_schema,
        None,
    ));
    rows.extend(server_message::rows());
    rows.push(row(
        "initializationOptions",
        Direction::Document,
        "What `initialize` may carry.",
        InitializationOptions::json_schema,
        None,
    ));
    rows.push(row(
        "workspaceConfiguration",
        Direction::Document,
        "What the section `breadboard` of `workspace/configuration` may change.",
        WorkspaceConfiguration::json_schema,
        None,
    ));
    rows
}
