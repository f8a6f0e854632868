//! The messages of both dialects.
//!
//! Owns their names and shapes. Never sends.

use serde_json::{Value, json};

use super::HostDialect;

impl HostDialect {
    /// The host's greeting.
    pub(super) fn hello(self) -> Value {
        let model = json!({ "provider": "simulated", "model_name": "none", "capabilities": ["chat"] });
        let mut hello = json!({ "type": "server.hello", "server_info": {
            "version": "0.1.0", "model": model, "capabilities": ["agentic_rag", "ace", "multi_file_edit"] } });
        if self == Self::Source {
            hello["protocol_version"] = "1.0.0".into();
        }
        hello
    }

    /// How a session stands; the public source never says it.
    pub(super) fn state(self, running: bool, waiting: &[String]) -> Option<Value> {
        (self == Self::Seed).then(|| {
            json!({ "type": "session.state", "state": { "pending_patches": [], "applied_patches": [],
                "pending_approvals": waiting, "current_step": 1, "total_steps": 10, "running": running } })
        })
    }

    /// A piece of the answer.
    pub(super) fn piece(self, piece: &str, so_far: &str) -> Value {
        match self {
            Self::Seed => json!({ "type": "assistant.token", "token": piece, "cumulative_text": so_far }),
            Self::Source => json!({ "type": "assistant.message_delta", "delta": piece }),
        }
    }

    /// The end of a turn.
    pub(super) fn last(self, message: &str, cancelled: bool) -> Value {
        let metadata = match self {
            Self::Seed => {
                json!({ "tokens_used": 12, "files_modified": 0, "tools_used": [], "success": !cancelled,
                "cancelled": cancelled })
            }
            Self::Source => json!({ "iterations": 1, "success": true, "test_attempts": 0 }),
        };
        json!({ "type": "assistant.message_final", "message": message, "metadata": metadata })
    }

    /// Something that the host cannot read.
    pub(super) fn unreadable(self, why: &str) -> Value {
        json!({ "type": "server.error", "error": { "code": "BAD_MESSAGE", "message": why, "details": {},
            "recoverable": true } })
    }
}
