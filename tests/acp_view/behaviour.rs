//! What a host must survive, each behaviour of a real agent under its number in the notes on agents (acp 2.1).

use breadboard_ls::testing::domain::event::{EventClass, LocalKind};
use breadboard_ls::testing::domain::fact::NoticeLevel;
use breadboard_ls::testing::domain::view::{BlockBody, ToolBlockStatus};
use serde_json::{Value, json};

use crate::story::Story;

#[test]
fn acp_2_1_01_a_crash_keeps_the_half_answer_and_says_so() {
    let story = Story::recorded("opencode-09-crash-sigkill-mid-stream");
    assert_eq!(story.answers_shown(), [("tick0 tick1 tick2 tick3 tick4 ", false)]);
    let notices = story.notices();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].0 == NoticeLevel::Warning && notices[0].1.starts_with("The text above is not whole"));
    assert_eq!(
        notices[1],
        (NoticeLevel::Error, "The agent ended with code -9; send the prompt again to start it.")
    );
    assert_eq!(story.summaries().len(), 1);
    assert!(!story.summaries()[0].0);
}

#[test]
fn acp_2_1_01_what_a_new_process_replays_is_not_shown_again() {
    let mut story = Story::recorded("opencode-09-crash-sigkill-mid-stream");
    story.replay("opencode-10-load-after-crash");
    assert_eq!(story.prompts_shown(), ["SCENARIO:slow count", "SCENARIO:plain after crash"]);
    let answers = story.answers_shown();
    assert_eq!(answers.len(), 2);
    assert!(answers[0].0.starts_with("tick0 ") && answers[1].0.starts_with("Hello from the fake model."));
    let replayed = story.view.lanes.debug.blocks.iter();
    let replayed = replayed.filter(
        |block| matches!(&block.body, BlockBody::Unknown { kind, .. } if kind == "user_message_chunk"),
    );
    assert_eq!(replayed.count(), 1, "nothing is dropped");
}

#[test]
fn acp_2_1_02_an_error_answer_ends_the_turn_and_is_told_in_the_chat_once() {
    let story = Story::recorded("opencode-12-upstream-http-errors");
    let text = "The turn failed: Internal error: fake upstream failure 401";
    assert_eq!(story.notices(), [(NoticeLevel::Error, text)]);
    assert_eq!(story.summaries(), [(false, text)]);
    let silent = Story::recorded("opencode-13-upstream-http500-silent-retry");
    assert_eq!((silent.chat().len(), silent.classes(EventClass::RunFinished)), (3, 1));
}

#[test]
fn acp_2_1_03_a_rejected_tool_is_denied_whatever_the_agent_calls_it() {
    let story = Story::recorded("opencode-03-edit-reject");
    let [read, edit] = story.tools()[..] else { panic!("{:?}", story.tools()) };
    assert_eq!((read.0, read.1, read.2), ("read", "hello.txt", ToolBlockStatus::Ok));
    assert_eq!((edit.0, edit.2), ("edit", ToolBlockStatus::Denied));
    assert_eq!(edit.3, "The user rejected permission to use this specific tool call.");
}

#[test]
fn acp_2_1_03_a_tool_that_is_never_ended_is_closed_at_the_end_of_its_turn() {
    // codex: rejecting ends the turn as cancelled and leaves the tool in progress for ever.
    let mut story = Story::new();
    story.prompt("go");
    story.update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "a", "title": "ls", "status": "in_progress"}),
    );
    story.update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "b", "title": "rm", "status": "in_progress"}),
    );
    story.permission(0, json!({"toolCallId": "b", "rawInput": {"command": "rm x"}}));
    story.answers("0", Some("reject"));
    story.ends(json!({"stopReason": "cancelled"}));
    let statuses: Vec<_> = story.tools().iter().map(|tool| (tool.1, tool.2, tool.3)).collect();
    assert_eq!(statuses, [("ls", ToolBlockStatus::Cancelled, ""), ("rm", ToolBlockStatus::Denied, "")]);
    assert_eq!(story.summaries(), [(false, "The turn was stopped.")]);
}

#[test]
fn acp_2_1_04_completed_is_no_success_when_the_command_was_stopped_or_failed() {
    let stopped = Story::recorded("opencode-08-cancel-while-tool-runs");
    assert_eq!(stopped.tools()[0].2, ToolBlockStatus::Cancelled);
    assert!(stopped.tools()[0].3.contains("User aborted the command"));
    let pending = Story::recorded("opencode-06-cancel-while-permission-pending");
    assert_eq!(pending.tools()[0].2, ToolBlockStatus::Cancelled);
    let many = Story::recorded("opencode-04-parallel-tools-todo-fail-skill-task");
    let exit = many.tools().into_iter().find(|tool| tool.1 == "exit 3").unwrap();
    assert_eq!(exit.2, ToolBlockStatus::Failed);
    assert!(exit.3.ends_with("[exit code 3]"), "{}", exit.3);
    for (output, status) in [
        (json!({"exit_code": 1}), ToolBlockStatus::Failed),
        (json!({"exitCode": 2}), ToolBlockStatus::Failed),
        (json!({"metadata": {"exit": 0}}), ToolBlockStatus::Ok),
        (json!({"exit_code": null}), ToolBlockStatus::Cancelled),
        (json!("done"), ToolBlockStatus::Ok),
    ] {
        let mut story = Story::new();
        story.prompt("go");
        story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "rawOutput": output}));
        assert_eq!(story.tools()[0].2, status, "{output}");
    }
}

#[test]
fn acp_2_1_06_the_call_of_an_ask_changes_nothing_of_the_tool_but_a_diff_that_is_missing() {
    let mut story = Story::new();
    story.prompt("go");
    story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress", "kind": "edit",
        "title": "edit", "locations": [{"path": "/workspace/a.txt", "line": 3}], "rawInput": {"filePath": "/workspace/a.txt"}}));
    story.permission(
        0,
        json!({"toolCallId": "t", "title": "/workspace/a.txt", "status": "pending",
        "rawInput": {"filepath": "other"}, "content": [
        {"type": "diff", "path": "/workspace/a.txt", "oldText": "one\n", "newText": "two\n"}]}),
    );
    let BlockBody::Tool { name, status, title, input, diff, .. } = &story.chat()[2].body else { panic!() };
    assert_eq!((name.as_str(), *status), ("edit", ToolBlockStatus::Running));
    assert_eq!(title.as_deref(), Some("edit /workspace/a.txt:3"));
    assert_eq!(input, &Some(json!({"filePath": "/workspace/a.txt"})));
    assert_eq!(
        diff.as_deref(),
        Some("--- /workspace/a.txt\n+++ /workspace/a.txt\n@@ -1,1 +1,1 @@\n-one\n+two\n")
    );
}

#[test]
fn the_diff_of_a_call_stays_when_its_result_comes_in_other_words() {
    // claude: the last update has no content, and an output in its own words.
    let mut story = Story::new();
    story.prompt("go");
    story.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "edit", "title": "Edit a.txt",
        "status": "pending", "content": [{"type": "diff", "path": "/w/a.txt", "oldText": null, "newText": "two\n"}]}));
    story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
        "rawOutput": "The file /w/a.txt has been updated successfully."}));
    let BlockBody::Tool { status, diff, preview, truncated, .. } = &story.chat()[2].body else { panic!() };
    assert_eq!(
        (*status, diff.as_deref(), preview.as_deref(), *truncated),
        (
            ToolBlockStatus::Ok,
            Some("--- /dev/null\n+++ /w/a.txt\n@@ -0,0 +1,1 @@\n+two\n"),
            Some("The file /w/a.txt has been updated successfully."),
            None
        )
    );
}

#[test]
fn a_diff_that_is_cut_says_so_and_where_the_whole_is() {
    let mut story = Story::new();
    story.prompt("go");
    let long: String = (0..2_000).map(|line| format!("line {line}\n")).collect();
    story.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "edit", "title": "Edit a.txt",
        "status": "pending", "content": [{"type": "diff", "path": "/w/a.txt", "oldText": null, "newText": long}]}));
    let told = story.chat()[2].seq;
    story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "rawOutput": "Done."}));
    let BlockBody::Tool { diff, preview, truncated, result_seq, .. } = &story.chat()[2].body else {
        panic!()
    };
    assert_eq!(diff.as_ref().map(String::len), Some(16 * 1024));
    assert_eq!((preview.as_deref(), *truncated, *result_seq), (Some("Done."), Some(true), Some(told)));
}

#[test]
fn the_exit_code_of_a_command_stands_in_its_call() {
    let mut story = Story::new();
    story.prompt("go");
    story
        .update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "title": "make"}));
    story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
        "rawOutput": {"output": "no rule", "exit_code": 2}}));
    let BlockBody::Tool { status, exit_code, preview, .. } = &story.chat()[2].body else { panic!() };
    assert_eq!(
        (*status, *exit_code, preview.as_deref()),
        (ToolBlockStatus::Failed, Some(2), Some("no rule\n[exit code 2]"))
    );
}

#[test]
fn acp_2_1_07_an_ask_and_a_result_make_a_tool_that_had_no_call() {
    let mut story = Story::new();
    story.prompt("go");
    story.permission(
        0,
        json!({"toolCallId": "t", "title": "Writing to hello.txt", "kind": "edit", "content": [
        {"type": "diff", "path": "/workspace/hello.txt", "oldText": "", "newText": "hi\n"}]}),
    );
    assert_eq!(story.tools()[0].2, ToolBlockStatus::Running);
    let BlockBody::Permission { permission, .. } = &story.chat()[3].body else {
        panic!("{:?}", story.chat())
    };
    assert_eq!(permission.title, "Create /workspace/hello.txt");
    story.answers("0", Some("once"));
    story.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "content": [
        {"type": "diff", "path": "hello.txt", "oldText": "", "newText": "hi\n"}]}),
    );
    story.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "u", "status": "failed", "title": "gone"}),
    );
    let shown: Vec<_> = story.tools().iter().map(|tool| (tool.0, tool.1, tool.2)).collect();
    assert_eq!(
        shown,
        [("edit", "Writing to hello.txt", ToolBlockStatus::Ok), ("tool", "gone", ToolBlockStatus::Failed)]
    );
}

#[test]
fn acp_2_1_08_output_replaces_what_was_shown_and_deltas_add_to_it() {
    let many = Story::recorded("opencode-04-parallel-tools-todo-fail-skill-task");
    let echo = many.tools().into_iter().find(|tool| tool.1 == "echo one; sleep 1; echo two").unwrap();
    assert_eq!((echo.2, echo.3), (ToolBlockStatus::Ok, "one\ntwo"));
    let mut story = Story::new();
    story.prompt("go");
    for delta in [json!("one\n"), json!({"data": "two\n"})] {
        story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "_meta": {"terminal_output_delta": delta},
            "content": [{"type": "terminal", "terminalId": "x"}]}));
    }
    assert!(story.tools()[0].3.contains("two\n"), "{:?}", story.tools());
}

#[test]
fn acp_2_1_09_an_edit_is_shown_as_a_difference_with_its_path() {
    let story = Story::recorded("opencode-02-edit-allow");
    let tools = story.tools();
    let edit = tools.iter().find(|tool| tool.0 == "edit").unwrap();
    assert_eq!((edit.1, edit.2), ("hello.txt", ToolBlockStatus::Ok));
    assert_eq!(edit.3, "Edit applied successfully.");
    assert!(
        matches!(story.diffs()[..], [diff, _] if diff.contains("-Hello, world\n")),
        "{:?}",
        story.diffs()
    );
    assert!(tools.iter().all(|tool| tool.2 == ToolBlockStatus::Ok));
    assert_eq!(story.reasonings(), [("First I read the file.", false)]);
    assert_eq!(story.summaries(), [(true, "The turn is done.")]);
}

#[test]
fn acp_2_1_10_what_a_host_is_asked_without_a_user_stands_in_the_debug_lane() {
    let story = Story::recorded("opencode-02-edit-allow");
    let writes = story.view.lanes.debug.blocks.iter();
    let writes = writes.filter(
        |block| matches!(&block.body, BlockBody::Unknown { kind, .. } if kind == "fs/write_text_file"),
    );
    assert_eq!(writes.count(), 2);
    assert_eq!(story.classes(EventClass::PermissionRequest), 3);
}

#[test]
fn acp_2_1_11_texts_are_grouped_by_id_and_without_one_by_contiguous_run() {
    let mut story = Story::new();
    story.prompt("go");
    story.chunk("agent_message_chunk", None, "a");
    story.chunk("agent_message_chunk", None, "");
    story.chunk("agent_message_chunk", None, "b");
    story.chunk("agent_thought_chunk", None, "t");
    story.chunk("agent_message_chunk", None, "c");
    story.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x"}));
    story.chunk("agent_message_chunk", None, "d");
    // Claude: one id for thought and answer; a message goes on below a tool.
    story.chunk("agent_thought_chunk", Some("m"), "u");
    story.chunk("agent_message_chunk", Some("m"), "e");
    story.update(json!({"sessionUpdate": "tool_call", "toolCallId": "v", "title": "y"}));
    story.chunk("agent_message_chunk", Some("m"), "f");
    story.update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "mimeType": "image/png", "data": "AA=="}}));
    let answers: Vec<_> = story.answers_shown().iter().map(|answer| answer.0).collect();
    assert_eq!(answers, ["ab", "c", "d", "ef"]);
    assert_eq!(story.reasonings().iter().map(|text| text.0).collect::<Vec<_>>(), ["t", "u"]);
    story.ends(json!({"stopReason": "end_turn"}));
    assert!(story.answers_shown().iter().all(|answer| !answer.1));
}

#[test]
fn a_picture_of_an_agent_is_a_block_of_its_own_in_its_answer_and_below_its_tool() {
    // Given an answer with a picture in it, and a tool that gives one back and tells it twice
    let mut story = Story::new();
    story.prompt("go");
    let png = json!({"type": "image", "mimeType": "image/png", "data": "Zm9v", "uri": "file:///w/a.png"});
    story.chunk("agent_message_chunk", Some("m"), "see ");
    story.update(json!({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": png}));
    story.chunk("agent_message_chunk", Some("m"), "there");
    story.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "look"}));
    let content = json!([{"type": "content", "content": {"type": "text", "text": "one shot"}},
        {"type": "content", "content": {"type": "image", "mimeType": "image/png", "data": "Zm8="}}]);
    for status in ["in_progress", "completed"] {
        story.update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": status, "content": content}),
        );
    }
    // Then each is shown once, with its data and in words, and no text has it
    let pictures: Vec<_> = story
        .chat()
        .iter()
        .filter_map(|block| match &block.body {
            BlockBody::Link { label, picture, .. } => {
                Some((label.clone(), picture.clone().unwrap_or_default()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        pictures,
        [
            ("Picture: a.png, image/png, 3 bytes".to_owned(), "data:image/png;base64,Zm9v".to_owned()),
            ("Picture: image/png, 2 bytes".to_owned(), "data:image/png;base64,Zm8=".to_owned()),
        ]
    );
    // A message of one id is one text: its picture stands below it.
    assert_eq!(story.answers_shown().iter().map(|answer| answer.0).collect::<Vec<_>>(), ["see there"]);
    assert_eq!(story.tools()[0].3, "one shot");
}

#[test]
fn acp_2_1_12_a_late_piece_goes_to_its_own_message_and_not_into_the_next_answer() {
    let mut story = Story::new();
    story.prompt("one");
    story.chunk("agent_message_chunk", Some("m1"), "half");
    story.ends(json!({"stopReason": "cancelled"}));
    story.prompt("two");
    story.chunk("agent_message_chunk", Some("m2"), "new ");
    story.chunk("agent_message_chunk", Some("m1"), " late");
    story.chunk("agent_message_chunk", Some("m2"), "answer");
    story.update(json!({"sessionUpdate": "session_info_update", "title": "T"}));
    story.update(json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "x", "description": ""}]}));
    assert_eq!(story.answers_shown(), [("half late", false), ("new answer", true)]);
    let turns: Vec<_> = story.chat().iter().map(|block| block.turn).collect();
    // Prompt, beginning, answer and end; of the second there is no end yet.
    assert_eq!(turns, [1, 1, 1, 1, 2, 2, 2].map(Some));
}

#[test]
fn acp_2_1_12_a_history_that_is_new_here_is_shown_with_its_turns() {
    let mut story = Story::new();
    story.chunk("user_message_chunk", Some("u1"), "Hel");
    story.chunk("user_message_chunk", Some("u1"), "lo");
    story.chunk("agent_message_chunk", Some("a1"), "Hi.");
    story.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x", "status": "pending"}));
    story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}));
    story.chunk("user_message_chunk", Some("u2"), "More");
    story.chunk("agent_message_chunk", Some("a2"), "Yes.");
    assert_eq!(story.prompts_shown(), ["Hello", "More"]);
    assert_eq!(story.answers_shown(), [("Hi.", false), ("Yes.", false)]);
    assert_eq!(story.tools()[0].2, ToolBlockStatus::Ok);
    story.prompt("Now");
    story.chunk("agent_message_chunk", Some("a3"), "Live");
    story.ends(json!({"stopReason": "end_turn"}));
    assert_eq!(story.prompts_shown(), ["Hello", "More", "Now"]);
    assert_eq!(story.summaries(), [(true, "The turn is done.")]);
    let mut ids: Vec<_> = story.chat().iter().map(|block| block.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), story.chat().len());
}

#[test]
fn acp_2_1_14_a_sub_agent_is_a_tool_like_any_other() {
    let many = Story::recorded("opencode-04-parallel-tools-todo-fail-skill-task");
    let task = many.tools().into_iter().find(|tool| tool.1 == "sub task").unwrap();
    assert_eq!((task.0, task.2), ("think", ToolBlockStatus::Ok));
}

#[test]
fn acp_2_1_15_a_tool_that_keeps_todos_is_a_plan_and_no_tool() {
    let many = Story::recorded("opencode-04-parallel-tools-todo-fail-skill-task");
    assert!(many.tools().iter().all(|tool| !tool.1.contains("todo")), "{:?}", many.tools());
    let plans: Vec<Value> = many
        .chat()
        .iter()
        .filter(|block| matches!(block.body, BlockBody::Plan { .. }))
        .map(|block| serde_json::to_value(block).unwrap()["steps"].clone())
        .collect();
    assert_eq!(
        plans,
        [
            json!([{"text": "read code", "status": "completed"}, {"text": "write fix", "status": "in_progress"},
            {"text": "run tests", "status": "pending"}])
        ]
    );
}

#[test]
fn acp_2_1_17_a_line_that_is_no_message_is_an_event_of_its_own() {
    let mut story = Story::recorded("elizacp-03-malformed-json");
    assert_eq!(story.events.len(), 0, "an answer without an id belongs to nobody");
    story.says("INFO: starting up");
    assert_eq!(story.classes(EventClass::UnknownEvent), 1);
    assert_eq!((story.chat().len(), story.view.lanes.debug.blocks.len()), (0, 1));
}

#[test]
fn a_status_never_goes_back_and_later_content_is_still_shown() {
    let mut story = Story::new();
    story.prompt("go");
    story.update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x", "status": "in_progress"}),
    );
    story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "failed"}));
    story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress", "title": "later",
        "content": [{"type": "content", "content": {"type": "text", "text": "more"}}]}));
    story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}));
    assert_eq!(story.tools(), [("tool", "later", ToolBlockStatus::Failed, "more")]);
    // The same id in another turn is another call.
    story.ends(json!({"stopReason": "end_turn"}));
    story.prompt("again");
    story.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "y", "status": "pending"}));
    assert_eq!(story.tools().len(), 2);
    assert_eq!(story.tools()[1].2, ToolBlockStatus::Running);
}

#[test]
fn every_reason_for_an_end_is_said_in_words_and_unknown_ones_as_they_came() {
    for (result, success, text, told) in [
        (json!({"stopReason": "end_turn"}), true, "The turn is done.", false),
        (json!({"stopReason": "cancelled"}), false, "The turn was stopped.", false),
        (
            json!({"stopReason": "max_tokens"}),
            false,
            "The turn ended at the model's limit of tokens; the answer may be cut.",
            true,
        ),
        (
            json!({"stopReason": "max_turn_requests"}),
            false,
            "The turn ended at the agent's limit of model requests in one turn.",
            true,
        ),
        (
            json!({"stopReason": "refusal"}),
            false,
            "The agent refused to go on; it may not remember this prompt.",
            true,
        ),
        (json!({"stopReason": "exploded"}), false, "The turn ended: exploded", true),
        (json!({}), true, "The turn is done; the agent gives no reason for its end.", false),
    ] {
        let mut story = Story::new();
        story.prompt("go");
        story.update(json!({"sessionUpdate": "usage_update", "used": 5, "size": 10, "cost": {"amount": 0.5, "currency": "USD"}}));
        story.ends(result.clone());
        assert_eq!(story.summaries(), [(success, text)], "{result}");
        assert_eq!(story.notices().len(), usize::from(told), "{result}");
        let details = story.view.lanes.run.blocks.iter().find_map(|block| match &block.body {
            BlockBody::Summary { details, .. } => details.clone(),
            _ => None,
        });
        assert_eq!(
            details.unwrap()["context"],
            json!({"used": 5, "size": 10, "cost": {"amount": 0.5, "currency": "USD"}})
        );
    }
}

#[test]
fn plans_notices_and_compactions_stand_where_every_engine_has_them() {
    let mut story = Story::new();
    story.prompt("go");
    story.update(json!({"sessionUpdate": "plan", "entries": [{"content": "a", "priority": "high", "status": "pending"}]}));
    story.update(json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "completed"}, {"content": "b"}]}));
    story.update(json!({"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p", "content": "x\n\ny"}}));
    story.update(
        json!({"sessionUpdate": "notice", "severity": "warning", "title": "Slow", "description": "very"}),
    );
    story.update(json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress"}));
    story.update(json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"}));
    let plans: Vec<usize> = story
        .chat()
        .iter()
        .filter_map(|block| match &block.body {
            BlockBody::Plan { steps } => Some(steps.len()),
            _ => None,
        })
        .collect();
    assert_eq!(plans, [2, 2]);
    assert_eq!(
        story.notices(),
        [
            (NoticeLevel::Warning, "Slow: very"),
            (NoticeLevel::Info, "The conversation was shortened so that it fits the model."),
        ]
    );
}

#[test]
fn an_agent_that_was_ended_on_purpose_is_no_error() {
    let mut story = Story::new();
    story.prompt("go");
    story.ends(json!({"stopReason": "end_turn"}));
    story.local(
        LocalKind::AgentExited,
        json!({"generation": 1, "message": "The agent was restarted.", "expected": true}),
    );
    assert_eq!(story.notices(), [(NoticeLevel::Info, "The agent was restarted.")]);
}

#[test]
fn elizacp_speaks_in_whole_answers_and_updates_of_nobodys_session_are_its_own_trouble() {
    let story = Story::recorded("elizacp-01-conversation");
    assert_eq!(story.prompts_shown().len(), 5);
    assert_eq!(story.answers_shown()[0], ("How do you do. Please state your problem.", false));
    assert_eq!(story.summaries().len(), 5);
}

#[test]
fn acp_2_1_02_a_turn_that_we_stopped_is_shown_as_stopped_whatever_the_agent_says() {
    let mut story = Story::new();
    story.prompt("one");
    story.update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "build", "status": "in_progress"}),
    );
    // Given an agent that says that it came to its end
    story.ends(json!({"stopReason": "end_turn"}));
    assert_eq!(story.summaries(), [(true, "The turn is done.")]);
    // When the server says what it knows
    story.local(LocalKind::TurnEnd, json!({"reason": "cancelled", "message": "The turn was stopped."}));
    // Then that counts, and nothing is said twice
    assert_eq!(story.summaries(), [(false, "The turn was stopped.")]);
    assert_eq!(story.tools()[0].2, ToolBlockStatus::Cancelled);
    assert!(story.notices().is_empty(), "{:?}", story.notices());
}

fn terminal(story: &mut Story, payload: Value) {
    let mut whole = json!({"terminalId": "terminal-1"});
    for (name, value) in payload.as_object().unwrap() {
        whole[name] = value.clone();
    }
    story.local(LocalKind::Terminal, whole);
}

fn shows(story: &mut Story, call: &str, status: &str) {
    story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status,
        "content": [{"type": "terminal", "terminalId": "terminal-1"}]}));
}

#[test]
fn d21_the_card_of_a_call_shows_what_its_terminal_printed_and_how_it_ended() {
    // Given a terminal that prints before the call says that it shows it
    let mut story = Story::new();
    story.prompt("go");
    terminal(&mut story, json!({"began": true}));
    terminal(&mut story, json!({"text": "out\n"}));
    shows(&mut story, "t", "in_progress");
    assert_eq!(story.tools()[0].3, "out\n");
    // When it prints more and ends badly, and the agent calls that completed and repeats the output in its own words
    story.chunk("agent_message_chunk", None, "one ");
    terminal(&mut story, json!({"text": "\u{1b}[31merr\u{1b}[0m\n", "ended": true, "exitCode": 3}));
    story.chunk("agent_message_chunk", None, "text");
    story.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
        "rawOutput": {"output": "out\nerr\n"}}));
    // Then the card has the output and the code, which decides the status, and the agent's answer is one text
    let BlockBody::Tool { status, exit_code, preview, truncated, bytes, .. } = &story.chat()[2].body else {
        panic!("{:?}", story.chat())
    };
    let shown = preview.as_deref().unwrap();
    assert_eq!(shown, "out\n\u{1b}[31merr\u{1b}[0m\n[exit code 3]");
    assert_eq!((*status, *exit_code, *truncated, *bytes), (ToolBlockStatus::Failed, Some(3), None, Some(17)));
    assert_eq!(story.answers_shown(), [("one text", false)]);
}

#[test]
fn d21_the_exit_code_of_a_command_that_we_ran_decides_how_its_call_stands() {
    let code = |code: i64| json!({"began": true, "ended": true, "exitCode": code});
    let killed = json!({"began": true, "ended": true, "signal": "SIGKILL"});
    // Given how a command of ours ended, what the agent says of it, and whether it says that before the end
    for (end, says, early, wanted) in [
        (code(3), json!({}), false, ToolBlockStatus::Failed),
        (code(3), json!({}), true, ToolBlockStatus::Failed),
        (code(3), json!({"rawOutput": {"exit_code": 0}}), false, ToolBlockStatus::Failed),
        (code(0), json!({}), false, ToolBlockStatus::Ok),
        (code(0), json!({"status": "failed"}), false, ToolBlockStatus::Failed),
        (code(0), json!({"status": "failed"}), true, ToolBlockStatus::Failed),
        (code(3), json!({"status": "cancelled"}), false, ToolBlockStatus::Cancelled),
        (code(3), json!({"status": "cancelled"}), true, ToolBlockStatus::Cancelled),
        // An agent ends a server that it started, and its call was well.
        (killed, json!({}), false, ToolBlockStatus::Ok),
    ] {
        let mut story = Story::new();
        story.prompt("go");
        shows(&mut story, "t", "in_progress");
        let mut last = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"});
        for (name, value) in says.as_object().unwrap() {
            last[name] = value.clone();
        }
        // When both are told
        if early {
            story.update(last);
            terminal(&mut story, end.clone());
        } else {
            terminal(&mut story, end.clone());
            story.update(last);
        }
        // Then a code other than 0 is no success, whatever the agent calls it
        let BlockBody::Tool { status, exit_code, .. } = &story.chat()[2].body else { panic!() };
        assert_eq!(
            (*status, exit_code.map(Value::from)),
            (wanted, end.get("exitCode").cloned()),
            "{end} {says} {early}"
        );
    }
}

#[test]
fn d21_a_command_that_prints_nothing_says_so_and_no_card_is_a_terminals_name() {
    // Given a terminal of ours, two of the agent's own, and a terminal that does not end
    for (news, update, shown) in [
        (json!({"began": true, "ended": true, "exitCode": 0}), json!({}), "No output."),
        (json!({"began": true, "ended": true, "exitCode": 3}), json!({}), "No output.\n[exit code 3]"),
        (
            json!({"began": true, "ended": true, "signal": "SIGKILL"}),
            json!({}),
            "No output.\n[ended by SIGKILL]",
        ),
        (Value::Null, json!({"rawOutput": {"exit_code": 0}}), "No output."),
        (Value::Null, json!({"rawOutput": {"exit_code": 3, "stdout": ""}}), "No output.\n[exit code 3]"),
        (
            Value::Null,
            json!({"_meta": {"terminal_exit": {"terminal_id": "x", "exit_code": 2}}}),
            "No output.\n[exit code 2]",
        ),
        (Value::Null, json!({"_meta": {"terminal_output": {"terminal_id": "x", "data": "own\n"}}}), "own\n"),
        (Value::Null, json!({}), "No output."),
        (json!({"began": true}), json!({}), ""),
    ] {
        let mut story = Story::new();
        story.prompt("go");
        shows(&mut story, "t", "in_progress");
        if news.is_object() {
            terminal(&mut story, news);
        }
        // When the agent ends the call
        let mut last = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"});
        for (name, value) in update.as_object().unwrap() {
            last[name] = value.clone();
        }
        story.update(last);
        // Then the card says what there is to say
        assert_eq!(story.tools()[0].3, shown, "{update}");
    }
}

#[test]
fn d21_a_flood_shows_its_end_and_an_id_that_is_given_again_is_another_terminal() {
    let mut story = Story::new();
    story.prompt("go");
    terminal(&mut story, json!({"began": true}));
    shows(&mut story, "t", "in_progress");
    terminal(&mut story, json!({"text": "x\n".repeat(4_096)}));
    terminal(&mut story, json!({"skipped": 1_000_000, "text": "last\n"}));
    assert_eq!(story.tools()[0].3, "…last\n");
    let BlockBody::Tool { truncated, bytes, .. } = &story.chat()[2].body else { panic!() };
    assert_eq!((*truncated, *bytes), (Some(true), Some(8_192 + 1_000_000 + 5)));
    // Given that the agent was started anew, and its first terminal has the same id
    terminal(&mut story, json!({"began": true}));
    terminal(&mut story, json!({"text": "other\n"}));
    shows(&mut story, "u", "in_progress");
    terminal(&mut story, json!({"text": "more\n"}));
    let shown: Vec<&str> = story.tools().iter().map(|tool| tool.3).collect();
    assert_eq!(shown, ["…last\n", "other\nmore\n"]);
}
