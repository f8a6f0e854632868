//! Which branch of a script an answer takes.
//!
//! Owns the word for an answer. Knows permission requests and elicitations; of anything else, whether it failed.

use serde_json::Value;

use super::desk::DeskReply;

/// The word: the option id of a permission, the action of an elicitation, `result`, `error` or `cancelled`.
pub(super) fn word(reply: &DeskReply) -> String {
    match reply {
        DeskReply::Cancelled => "cancelled".to_owned(),
        DeskReply::Error(_) => "error".to_owned(),
        DeskReply::Result(result) => {
            let text = |at: &str| result.pointer(at).and_then(Value::as_str).map(str::to_owned);
            text("/outcome/optionId")
                .or_else(|| text("/outcome/outcome"))
                .or_else(|| text("/action"))
                .unwrap_or_else(|| "result".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_answer_has_a_word() {
        for (reply, expected) in [
            (DeskReply::Result(json!({"outcome": {"outcome": "selected", "optionId": "o"}})), "o"),
            (DeskReply::Result(json!({"outcome": {"outcome": "cancelled"}})), "cancelled"),
            (DeskReply::Result(json!({"action": "decline"})), "decline"),
            (DeskReply::Result(json!({"content": "text"})), "result"),
            (DeskReply::Error(json!({"code": 1})), "error"),
            (DeskReply::Cancelled, "cancelled"),
        ] {
            assert_eq!(word(&reply), expected);
        }
    }
}
