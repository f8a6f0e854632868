//! Tools, patches, commands and approvals in a turn.

use super::*;
use crate::domain::approval::{MadeEnd, MadeFile};
use crate::domain::dialect::desktop::message::{PlanStep, SessionState};
use crate::host::ports::FileOperation;

#[tokio::test]
async fn an_untrusted_workspace_offers_only_reading_tools() {
    let server = FakeModel::start(vec![openai(vec![json!({ "content": "ok" })])]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    let body = &server.asked()[0].body;
    let names: Vec<_> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].clone()).collect();
    assert_eq!(names, ["list_files", "read_file", "search_text", "search_symbols", "outline", "plan"]);
    assert!(body["messages"][0]["content"].as_str().unwrap().contains("not trusted"));
}

#[tokio::test]
async fn a_tool_call_in_pieces_runs_and_its_result_goes_back() {
    let call = tool_call("read_file", &json!({ "path": "a.txt", "start_line": 2, "end_line": 2 }));
    let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "It says two." })])]).await;
    let world = world(false, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(
        world.port.kinds(),
        ["tool.execute:started", "tool.execute:completed", "assistant.token", "assistant.message_final"]
    );
    let ids: Vec<_> = world
        .port
        .said()
        .iter()
        .filter_map(|message| match message {
            ServerMessage::ToolExecute { call_id, .. } => Some(call_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids[0], ids[1]);
    assert_eq!(last_result(&server), "a.txt: lines 2-2 of 3\ntwo\r\n");
    let second = &server.asked()[1].body["messages"];
    assert_eq!(second.as_array().unwrap().last().unwrap()["tool_call_id"], json!("call_a"));
    assert_eq!(final_of(&world.port).1.tools_used, ["read_file"]);
}

#[tokio::test]
async fn r002_58_a_plan_of_the_model_is_shown_as_a_plan_and_not_as_a_call() {
    let steps = json!([{ "description": "Look", "files": ["a.txt"] }, { "description": "Write" }]);
    let server = FakeModel::start(vec![
        tool_call("plan", &json!({ "steps": steps, "rationale": "one after the other" })),
        openai(vec![json!({ "content": "Done." })]),
    ])
    .await;
    let world = world(false, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(world.port.kinds(), ["agent.plan", "assistant.token", "assistant.message_final"]);
    let step = |step_number, description: &str, files: &[&str]| PlanStep {
        step_number,
        description: description.to_owned(),
        files_involved: files.iter().map(|file| (*file).to_owned()).collect(),
        status: None,
    };
    let rationale = "one after the other".to_owned();
    let plan =
        ServerMessage::Plan { steps: vec![step(1, "Look", &["a.txt"]), step(2, "Write", &[])], rationale };
    assert!(world.port.said().contains(&plan), "{:?}", world.port.said());
    assert_eq!(last_result(&server), "The user sees the plan of 2 steps.");
}

#[tokio::test]
async fn a_plan_without_steps_is_none() {
    let server = FakeModel::start(vec![
        tool_call("plan", &json!({ "steps": [] })),
        openai(vec![json!({ "content": "Done." })]),
    ])
    .await;
    let world = world(false, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(world.port.kinds(), ["assistant.token", "assistant.message_final"]);
    let refused = "Error (invalid_params): A plan has one step to 50 steps; this one has 0.";
    assert_eq!(last_result(&server), refused);
}

#[tokio::test]
async fn a_path_out_of_the_workspace_is_refused_and_the_model_is_told() {
    let call = tool_call("read_file", &json!({ "path": "../../etc/passwd" }));
    let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "no" })])]).await;
    let world = world(true, User::Allows);
    turn::run(&world.port, openai_request(&server)).await;
    assert!(last_result(&server).starts_with("Error (path_outside_workspace)"), "{}", last_result(&server));
    assert_eq!(world.port.kinds()[1], "tool.execute:failed");
}

#[tokio::test]
async fn an_allowed_patch_is_proposed_asked_and_applied_whole_with_its_line_ends() {
    let edit = json!({ "file_path": "a.txt", "rationale": "because", "acceptance_criteria": ["see"],
                       "edits": [{ "old_text": "two", "new_text": "2\n2b" }] });
    let server = FakeModel::start(vec![
        tool_call("propose_patch", &edit),
        openai(vec![json!({ "content": "Done." })]),
    ])
    .await;
    let world = world(true, User::Allows);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(
        world.port.kinds(),
        [
            "tool.execute:started",
            "patch.proposed",
            "tool.request_approval",
            "tool.execute:completed",
            "assistant.token",
            "assistant.message_final"
        ]
    );
    let base = std::fs::read(world.folder.path().join("a.txt")).unwrap();
    let new = "one\r\n2\r\n2b\r\nthree\r\n".to_owned();
    assert_eq!(
        *world.port.writes.lock().unwrap(),
        vec![(None, "a.txt".to_owned(), Some(content_hash(&base)), new)]
    );
    let said = world.port.said();
    let patch = said.iter().find_map(|message| match message {
        ServerMessage::PatchProposed(patch) => Some(patch.clone()),
        _ => None,
    });
    let patch = patch.unwrap();
    assert_eq!(
        patch.diff,
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\r\n-two\r\n+2\r\n+2b\r\n three\r\n"
    );
    assert_eq!(patch.base_hash, Some(content_hash(&base)));
    let args = said.iter().find_map(|message| match message {
        ServerMessage::ToolRequestApproval { args, .. } => Some(Value::Object(args.clone())),
        _ => None,
    });
    assert_eq!(
        args,
        Some(
            json!({ "file_path": "a.txt", "reason": "because", "patch_id": patch.patch_id, "diff": patch.diff,
                    "acceptance_criteria": ["see"], "base_hashes": { "a.txt": patch.base_hash } })
        )
    );
    assert_eq!(final_of(&world.port).1.files_modified, 1);
}

#[tokio::test]
async fn r002_77_the_state_of_the_session_is_said_when_a_step_begins_and_when_something_waits_or_is_decided()
{
    let edit = json!({ "file_path": "a.txt", "rationale": "because", "acceptance_criteria": ["see"],
                       "edits": [{ "old_text": "two", "new_text": "2" }] });
    for (user, applied) in [(User::Allows, true), (User::Denies, false)] {
        // Given a model that proposes a patch and then answers
        let replies = vec![tool_call("propose_patch", &edit), openai(vec![json!({ "content": "Done." })])];
        let server = FakeModel::start(replies).await;
        let world = world(true, user);
        // When its turn runs
        turn::run(&world.port, openai_request(&server)).await;
        // Then the state says what waits while it waits, what became of it, and that the next step begins
        let said = world.port.said();
        let patch_id = said.iter().find_map(|message| match message {
            ServerMessage::PatchProposed(patch) => Some(patch.patch_id.clone()),
            _ => None,
        });
        let request_id = said.iter().find_map(|message| match message {
            ServerMessage::ToolRequestApproval { request_id, .. } => Some(request_id.clone()),
            _ => None,
        });
        let (patches, asks) = (vec![patch_id.unwrap()], vec![request_id.unwrap()]);
        let begun = SessionState { current_step: 1, total_steps: 100, ..SessionState::default() };
        let done = if applied { patches.clone() } else { Vec::new() };
        let decided = SessionState { applied_patches: done, ..begun.clone() };
        let waits = SessionState { pending_patches: patches, pending_approvals: asks, ..begun };
        let next = SessionState { current_step: 2, ..decided.clone() };
        let bare =
            |state| SessionState { tokens_used: None, context_tokens: None, context_window: None, ..state };
        let said: Vec<_> = world.port.states().into_iter().map(bare).collect();
        assert_eq!(said, [waits, decided, next]);
    }
}

#[tokio::test]
async fn a_patch_of_an_open_buffer_is_made_from_the_buffer() {
    let edit = json!({ "file_path": "a.txt", "rationale": "r", "edits": [{ "old_text": "unsaved", "new_text": "saved" }] });
    let server = FakeModel::start(vec![
        tool_call("propose_patch", &edit),
        openai(vec![json!({ "content": "Done." })]),
    ])
    .await;
    let world = world(true, User::Allows);
    let uri = url::Url::from_file_path(world.folder.path().join("a.txt")).unwrap();
    world.port.change_view(|view| {
        let mut overlay = crate::domain::edits::overlay::Overlay::new();
        overlay.open(uri.as_str(), "text", 1, "unsaved\n");
        view.overlay = std::sync::Arc::new(overlay);
    });
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(
        *world.port.writes.lock().unwrap(),
        vec![(None, "a.txt".to_owned(), Some(content_hash(b"unsaved\n")), "saved\n".to_owned())]
    );
}

#[tokio::test]
async fn r002_80_to_83_several_files_are_proposed_together_with_reasons_and_each_is_changed_as_it_was_asked()
{
    // Given a model that changes one file, deletes another and renames a third
    let files = json!([
        { "file_path": "a.txt", "edits": [{ "old_text": "two", "new_text": "2" }] },
        { "file_path": "gone.txt", "delete": true },
        { "file_path": "old.txt", "rename_to": "new.txt", "edits": [{ "old_text": "x", "new_text": "y" }] },
    ]);
    let wish = json!({ "files": files, "rationale": "because", "acceptance_criteria": ["see"] });
    let replies = vec![tool_call("propose_patch", &wish), openai(vec![json!({ "content": "Done." })])];
    let server = FakeModel::start(replies).await;
    let world = world(true, User::Allows);
    std::fs::write(world.folder.path().join("gone.txt"), "g\n").unwrap();
    std::fs::write(world.folder.path().join("old.txt"), "x\n").unwrap();
    // When
    turn::run(&world.port, openai_request(&server)).await;
    // Then all of it is one proposal, with line numbers, reasons and how to check it
    let patch = world.port.said().into_iter().find_map(|message| match message {
        ServerMessage::PatchProposed(patch) => Some(patch),
        _ => None,
    });
    let patch = patch.unwrap();
    assert_eq!(
        patch.diff,
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\r\n-two\r\n+2\r\n three\r\n\
         diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-g\n\
         diff --git a/old.txt b/new.txt\nrename from old.txt\nrename to new.txt\n--- a/old.txt\n+++ b/new.txt\n\
         @@ -1,1 +1,1 @@\n-x\n+y\n"
    );
    let said =
        (patch.rationale.as_str(), patch.acceptance_criteria, patch.file_path.as_str(), patch.hunks.len());
    assert_eq!(said, ("because", vec!["see".to_owned()], "a.txt", 3));
    // And each is done, and the model hears what
    assert_eq!(world.port.writes.lock().unwrap().len(), 1);
    let moved = FileOperation::Move { to: "new.txt".to_owned(), text: Some("y\n".to_owned()) };
    assert_eq!(
        *world.port.operations.lock().unwrap(),
        [
            ("old.txt".to_owned(), Some(content_hash(b"x\n")), moved),
            ("gone.txt".to_owned(), Some(content_hash(b"g\n")), FileOperation::Delete),
        ]
    );
    let told = last_result(&server);
    assert!(told.contains("Applied to a.txt: 1 line added, 1 removed."), "{told}");
    assert_eq!(final_of(&world.port).1.files_modified, 3);
}

#[tokio::test]
async fn what_of_a_change_could_not_be_taken_back_is_said_file_by_file() {
    // Given a change of three files, the last of which cannot be written, and the first of which cannot be written twice
    let new = |path: &str| json!({ "file_path": path, "new_content": "new\n" });
    let edit = json!({ "file_path": "a.txt", "edits": [{ "old_text": "two", "new_text": "2" }] });
    let wish = json!({ "files": [edit, new("b.txt"), new("c.txt")], "rationale": "because" });
    let replies = vec![tool_call("propose_patch", &wish), openai(vec![json!({ "content": "Hm." })])];
    let server = FakeModel::start(replies).await;
    let world = world(true, User::Allows);
    let refuses = [("a.txt".to_owned(), 1), ("c.txt".to_owned(), 0)];
    world.port.refuses.lock().unwrap().extend(refuses);
    // When it is allowed
    turn::run(&world.port, openai_request(&server)).await;
    // Then the one that can be taken back is, and the model hears of each how it stands
    let made = FileOperation::Delete;
    assert_eq!(
        *world.port.operations.lock().unwrap(),
        [("b.txt".to_owned(), Some(content_hash(b"new\n")), made)]
    );
    let told = last_result(&server);
    let stands = told.lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(stands[0], "c.txt was left as it is, and so were the files after it: No place. (conflict)");
    assert!(stands[1].starts_with("Applied to a.txt: 1 line added, 1 removed."), "{told}");
    assert!(stands[1].ends_with("It could not be taken back: No place."), "{told}");
    assert_eq!(stands[2], "b.txt holds again what it held before.");
    assert_eq!(final_of(&world.port).1.files_modified, 1);
}

#[tokio::test]
async fn r002_49_a_stop_while_several_files_are_written_leaves_all_of_the_change_or_none_and_says_which() {
    for second_is_taken in [true, false] {
        // Given a change of two files
        let new = |path: &str| json!({ "file_path": path, "new_content": "new\n" });
        let wish = json!({ "files": [new("b.txt"), new("c.txt")], "rationale": "because" });
        let server = FakeModel::start(vec![tool_call("propose_patch", &wish)]).await;
        let world = world(true, User::StopsAtWrite);
        if !second_is_taken {
            world.port.refuses.lock().unwrap().insert("c.txt".to_owned(), 0);
        }
        // When it is allowed, and the turn is stopped while the first is written
        turn::run(&world.port, openai_request(&server)).await;
        // Then the second is written too, or the first taken back
        let written: Vec<String> =
            world.port.writes.lock().unwrap().iter().map(|(_, path, ..)| path.clone()).collect();
        assert_eq!(written, ["b.txt", "c.txt"]);
        let operations = world.port.operations.lock().unwrap().clone();
        let taken_back = ("b.txt".to_owned(), Some(content_hash(b"new\n")), FileOperation::Delete);
        assert_eq!(operations, if second_is_taken { vec![] } else { vec![taken_back] });
        // And whoever keeps the edit hears what stands, as does the user, before the turn ends as stopped
        let hash = Some(content_hash(b"new\n"));
        let made = |path: &str| MadeFile {
            root: None,
            path: path.to_owned(),
            end: MadeEnd::Made { hash: hash.clone() },
        };
        let told = match second_is_taken {
            true => Ok(vec![made("b.txt"), made("c.txt")]),
            false => Err("c.txt could not be changed, so no file of this change was. No place. What was written before it \
                          was taken back: b.txt."
                .to_owned()),
        };
        assert_eq!(*world.port.made.lock().unwrap(), [told]);
        let ends = if second_is_taken { "tool.execute:completed" } else { "tool.execute:failed" };
        assert_eq!(world.port.kinds()[3..], [ends, "assistant.message_final"]);
        let end = final_of(&world.port).1;
        assert_eq!((end.cancelled, end.files_modified), (true, if second_is_taken { 2 } else { 0 }));
    }
}

#[tokio::test]
async fn what_cannot_be_meant_of_several_files_is_refused_before_anybody_is_asked() {
    let edit = json!({ "file_path": "a.txt", "edits": [{ "old_text": "two", "new_text": "2" }] });
    for (wish, why) in [
        (json!({ "rationale": "r" }), "Give either"),
        (json!({ "rationale": "r", "files": [edit, edit] }), "stands twice"),
        (
            json!({ "rationale": "r", "file_path": "a.txt", "delete": true, "new_content": "x" }),
            "exactly one",
        ),
        (json!({ "rationale": "r", "file_path": "none.txt", "delete": true }), "none.txt"),
        (json!({ "rationale": "r", "file_path": "a.txt", "rename_to": "../b.txt" }), "outside"),
        (json!({ "rationale": "r", "file_path": "../a.txt", "delete": true }), "outside"),
    ] {
        let replies = vec![tool_call("propose_patch", &wish), openai(vec![json!({ "content": "." })])];
        let server = FakeModel::start(replies).await;
        let world = world(true, User::Allows);
        turn::run(&world.port, openai_request(&server)).await;
        assert!(last_result(&server).contains(why), "{wish}: {}", last_result(&server));
        assert!(!world.port.kinds().contains(&"tool.request_approval".to_owned()), "{wish}");
        assert_eq!(
            (world.port.writes.lock().unwrap().len(), world.port.operations.lock().unwrap().len()),
            (0, 0)
        );
    }
}

#[tokio::test]
async fn a_denied_patch_writes_nothing_and_the_model_is_told() {
    let edit = json!({ "file_path": "n.txt", "rationale": "r", "new_content": "x" });
    let server = FakeModel::start(vec![
        tool_call("propose_patch", &edit),
        openai(vec![json!({ "content": "Pity." })]),
    ])
    .await;
    let world = world(true, User::Denies);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(*world.port.writes.lock().unwrap(), vec![]);
    assert!(last_result(&server).starts_with("Error (denied)"));
    assert_eq!(final_of(&world.port).1.files_modified, 0);
}

#[tokio::test]
async fn trust_that_goes_while_the_question_is_open_stops_the_write_and_the_command() {
    for call in [
        tool_call("propose_patch", &json!({ "file_path": "n.txt", "rationale": "r", "new_content": "x" })),
        tool_call("run_command", &json!({ "command": "true", "reason": "r" })),
    ] {
        let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "Pity." })])]).await;
        let world = world(true, User::Distrusts);
        turn::run(&world.port, openai_request(&server)).await;
        assert_eq!(*world.port.writes.lock().unwrap(), vec![]);
        assert_eq!(*world.port.commands.lock().unwrap(), vec![]);
        assert!(last_result(&server).starts_with("Error (untrusted_workspace)"));
    }
}

#[tokio::test]
async fn a_model_that_calls_a_writing_tool_it_was_not_offered_is_refused() {
    let call = tool_call("run_command", &json!({ "command": "true", "reason": "r" }));
    let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "Pity." })])]).await;
    let world = world(false, User::Allows);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(*world.port.commands.lock().unwrap(), vec![]);
    assert!(last_result(&server).starts_with("Error (untrusted_workspace)"));
}

#[tokio::test]
async fn an_allowed_command_runs_and_its_output_goes_back() {
    let call = tool_call("run_command", &json!({ "command": "make", "cwd": ".", "reason": "r" }));
    let server = FakeModel::start(vec![call, openai(vec![json!({ "content": "Ran." })])]).await;
    let world = world(true, User::Allows);
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(*world.port.commands.lock().unwrap(), vec![("make".to_owned(), ".".to_owned())]);
    assert_eq!(last_result(&server), "The command ended with exit code 3.\nstdout:\nout\nstderr:\nerr\n");
    assert!(world.port.kinds().contains(&"command.request_approval".to_owned()));
}

#[tokio::test]
async fn a_stop_while_waiting_for_an_answer_ends_the_tool_and_the_turn() {
    let edit = json!({ "file_path": "n.txt", "rationale": "r", "new_content": "x" });
    let server = FakeModel::start(vec![tool_call("propose_patch", &edit)]).await;
    let world = world(true, User::Stops);
    turn::run(&world.port, openai_request(&server)).await;
    let (_, metadata) = final_of(&world.port);
    assert_eq!((metadata.success, metadata.cancelled), (false, true));
    assert_eq!(world.port.kinds()[3], "tool.execute:failed");
    assert_eq!(*world.port.writes.lock().unwrap(), vec![]);
}

#[tokio::test]
async fn a_stop_in_the_stream_ends_with_the_text_so_far() {
    let server = FakeModel::start(vec![Script::Stall(vec![chunk(json!({ "content": "so far" }))])]).await;
    let world = world(false, User::Denies);
    let port = FakePort::new(world.folder.path(), false, User::Denies).stopping_after(1);
    turn::run(&port, openai_request(&server)).await;
    let (message, metadata) = final_of(&port);
    assert_eq!((message.as_str(), metadata.cancelled), ("so far", true));
}

#[tokio::test]
async fn a_model_that_never_answers_is_stopped_after_its_steps() {
    let scripts = (0..30).map(|_| tool_call("list_files", &json!({}))).collect();
    let server = FakeModel::start(scripts).await;
    let world = world(false, User::Denies);
    let budget = TurnBudget { steps: Some(24), ..TurnBudget::default() };
    turn::run(&world.port, TurnRequest { budget, ..openai_request(&server) }).await;
    let (message, metadata) = final_of(&world.port);
    assert_eq!((server.asked().len(), metadata.success), (24, false));
    assert!(message.contains("24 steps"));
}

#[tokio::test]
async fn with_several_roots_a_patch_names_its_root_and_a_command_stays_in_the_first() {
    let edit = json!({ "file_path": "other/b.txt", "rationale": "r", "edits": [{ "old_text": "x", "new_text": "y" }] });
    let server = FakeModel::start(vec![
        tool_call("propose_patch", &edit),
        tool_call("run_command", &json!({ "command": "true", "cwd": "other", "reason": "r" })),
        openai(vec![json!({ "content": "Done." })]),
    ])
    .await;
    let world = world(true, User::Allows);
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("b.txt"), "x\n").unwrap();
    world.port.change_view(|view| {
        let uri = url::Url::from_directory_path(other.path()).unwrap().to_string();
        view.roots.push(crate::host::ports::Root {
            name: "other".to_owned(),
            uri,
            path: other.path().to_owned(),
        });
    });
    turn::run(&world.port, openai_request(&server)).await;
    assert_eq!(
        *world.port.writes.lock().unwrap(),
        vec![(Some("other".to_owned()), "b.txt".to_owned(), Some(content_hash(b"x\n")), "y\n".to_owned())]
    );
    assert_eq!(*world.port.commands.lock().unwrap(), vec![]);
    assert!(last_result(&server).starts_with("Error (unsupported)"), "{}", last_result(&server));
}

#[cfg(unix)]
#[tokio::test]
async fn a_patch_through_a_link_out_of_the_workspace_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("s.txt"), "x\n").unwrap();
    for path in ["link.txt", "dir/s.txt", "dir/new.txt"] {
        let edit = json!({ "file_path": path, "rationale": "r", "new_content": "stolen" });
        let server = FakeModel::start(vec![
            tool_call("propose_patch", &edit),
            openai(vec![json!({ "content": "." })]),
        ])
        .await;
        let world = world(true, User::Allows);
        std::os::unix::fs::symlink(outside.path().join("s.txt"), world.folder.path().join("link.txt"))
            .unwrap();
        std::os::unix::fs::symlink(outside.path(), world.folder.path().join("dir")).unwrap();
        turn::run(&world.port, openai_request(&server)).await;
        assert_eq!(*world.port.writes.lock().unwrap(), vec![], "{path}");
        assert!(
            last_result(&server).starts_with("Error (path_outside_workspace)"),
            "{}",
            last_result(&server)
        );
    }
}
