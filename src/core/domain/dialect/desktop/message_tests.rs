//! The shapes of seed 002, as our own engine speaks them.

use serde_json::json;

use super::*;
use crate::domain::edits::diff::unified_diff;

fn said(message: ServerMessage) -> Value {
    serde_json::to_value(message).unwrap()
}

#[test]
fn r002_62_63_a_tool_has_its_name_and_one_of_three_standings() {
    for (name, status, word) in [
        ("read_file", ToolStatus::Started, "started"),
        ("search_symbols", ToolStatus::Completed, "completed"),
        ("search_text", ToolStatus::Failed, "failed"),
    ] {
        let message = ServerMessage::ToolExecute {
            call_id: "c".to_owned(),
            tool_name: name.to_owned(),
            args: Map::new(),
            status,
            result: Value::Null,
            background: None,
        };
        let whole = json!({ "type": "tool.execute", "call_id": "c", "tool_name": name, "args": {}, "status": word, "result": null });
        assert_eq!(said(message), whole);
    }
}

#[test]
fn r002_64_65_78_to_83_a_proposal_has_path_diff_reasons_and_numbered_hunks() {
    // Given a change of the last of 40 lines
    let old: String = (1..=40).map(|line| format!("{line}\n")).collect();
    let new = old.replace("40\n", "forty\n");
    let diff = unified_diff("src/a.txt", Some(&old), &new);
    // When it is proposed
    let message = ServerMessage::PatchProposed(PatchProposed {
        patch_id: "p".to_owned(),
        file_path: "src/a.txt".to_owned(),
        diff: diff.unified,
        rationale: "words".to_owned(),
        acceptance_criteria: vec!["It reads forty.".to_owned()],
        requires_approval: true,
        hunks: diff.hunks,
        base_hash: None,
        warnings: Vec::new(),
    });
    // Then it has the seed's fields, the diff is git's and as small as it can be, and the hunk has its line numbers
    let content = " 37\n 38\n 39\n-40\n+forty\n";
    assert_eq!(
        said(message),
        json!({
            "type": "patch.proposed", "patch_id": "p", "file_path": "src/a.txt",
            "diff": format!("--- a/src/a.txt\n+++ b/src/a.txt\n@@ -37,4 +37,4 @@\n{content}"),
            "rationale": "words", "acceptance_criteria": ["It reads forty."], "requires_approval": true,
            "hunks": [{ "old_start": 37, "old_lines": 4, "new_start": 37, "new_lines": 4, "content": content }],
        })
    );
}

#[test]
fn r002_66_to_69_a_tool_asks_with_its_arguments_and_a_risk() {
    for (tool, risk, word) in [
        ("write_file", RiskLevel::Medium, "medium"),
        ("execute_command", RiskLevel::High, "high"),
        ("delete_file", RiskLevel::Low, "low"),
    ] {
        let args = json!({ "file_path": "a", "reason": "because" });
        let message = ServerMessage::ToolRequestApproval {
            request_id: "r".to_owned(),
            tool_name: tool.to_owned(),
            args: args.as_object().cloned().unwrap(),
            risk_level: risk,
            call_id: None,
            served_by: None,
        };
        let whole = json!({ "type": "tool.request_approval", "request_id": "r", "tool_name": tool, "args": args, "risk_level": word });
        assert_eq!(said(message), whole);
    }
}

#[test]
fn r002_70_71_a_command_asks_with_its_line_its_folder_and_its_variables() {
    let message = ServerMessage::CommandRequestApproval {
        request_id: "r".to_owned(),
        command_id: "c".to_owned(),
        command: "make test".to_owned(),
        working_directory: ".".to_owned(),
        environment: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
        requires_approval: true,
        reason: "to see".to_owned(),
        call_id: None,
        background: None,
    };
    assert_eq!(
        said(message),
        json!({
            "type": "command.request_approval", "request_id": "r", "command_id": "c", "command": "make test",
            "working_directory": ".", "environment": { "A": "b" }, "requires_approval": true, "reason": "to see",
        })
    );
}
