//! Which branch of a script an answer takes.
//!
//! Owns the word for an answer. Knows permission requests and elicitations; of anything else, whether it failed.

use serde_json::Value;

use super::desk::Reply;

/// The word: the option id of a permission, the action of an elicitation, `result`, `error` or `cancelled`.
pub(super) fn word(reply: &Reply) -> String {
    match reply {
        Reply::Cancelled => "cancelled".to_owned(),
        Reply::Error(_) => "error".to_owned(),
        Reply::Result(result) => {
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
            (Reply::Result(json!({"outcome": {"outcome": "selected", "optionId": "o"}})), "o"),
            (Reply::Result(json!({"outcome": {"outcome": "cancelled"}})), "cancelled"),
            (Reply::Result(json!({"action": "decline"})), "decline"),
            (Reply::Result(json!({"content": "text"})), "result"),
            (Reply::Error(json!({"code": 1})), "error"),
            (Reply::Cancelled, "cancelled"),
        ] {
            assert_eq!(word(&reply), expected);
        }
    }
}
