//! Tests of `branch`: what is taken along of each block, what fits into a record, what the user is told.

use super::*;

fn block(body: BlockBody) -> Block {
    Block { id: "b".to_owned(), turn: Some(1), seq: 1, body }
}

fn user(text: &str) -> Block {
    block(BlockBody::User {
        text: text.to_owned(),
        message_id: Some("m".to_owned()),
        attachment_ids: vec!["a".to_owned()],
        context: Vec::new(),
        context_notes: Vec::new(),
        context_seq: Some(7),
    })
}

fn answer(text: &str, truncated: bool) -> Block {
    block(BlockBody::Assistant { text: text.to_owned(), streaming: true, truncated })
}

fn tool(title: &str, status: ToolBlockStatus) -> Block {
    block(BlockBody::Tool {
        tool_call_id: Some("c".to_owned()),
        name: "read_file".to_owned(),
        status,
        background: None,
        title: Some(title.to_owned()),
        input: None,
        diff: None,
        exit_code: None,
        preview: Some("the beginning".to_owned()),
        truncated: Some(true),
        bytes: Some(9_000),
        result_seq: Some(5),
        artifact: Some("x".to_owned()),
    })
}

#[test]
fn a_block_that_is_taken_along_names_no_event_of_the_other_session_and_nothing_of_it_goes_on() {
    let BlockBody::User { context_seq, message_id, attachment_ids, .. } = carried(user("why?")).unwrap().body
    else {
        panic!("a prompt stays one")
    };
    assert_eq!((context_seq, message_id.as_deref(), attachment_ids), (None, Some("m"), vec!["a".to_owned()]));
    let BlockBody::Tool { status, truncated, result_seq, artifact, preview, tool_call_id, .. } =
        carried(tool("look", ToolBlockStatus::Running)).unwrap().body
    else {
        panic!("a call stays one")
    };
    assert_eq!(status, ToolBlockStatus::Cancelled);
    assert_eq!((truncated, result_seq, artifact, tool_call_id), (None, None, None, None));
    assert_eq!(preview.as_deref(), Some("the beginning"));
    let BlockBody::Assistant { text, streaming, truncated } = carried(answer("long", true)).unwrap().body
    else {
        panic!("an answer stays one")
    };
    assert_eq!((streaming, truncated), (false, false));
    assert!(text.starts_with("long") && text.ends_with("that this one comes from.)"), "{text}");
    // What can be answered or taken back stands in the other session alone.
    let changes = BlockBody::Changes {
        prompt_seq: 1,
        of_revert: None,
        files: Vec::new(),
        uncovered: None,
        text: "t".to_owned(),
    };
    assert_eq!(carried(block(changes)), None);
}

#[test]
fn the_newest_turns_are_kept_whole() {
    let turns: Vec<(String, String)> =
        ["one", "two", "three"].map(|word| (word.to_owned(), word.to_uppercase())).to_vec();
    assert_eq!(newest(turns.clone(), 100).len(), 3);
    assert_eq!(newest(turns.clone(), 16), turns[1..].to_vec());
    assert_eq!(newest(turns, 3), Vec::new());
}

#[test]
fn a_record_has_prompts_answers_and_what_was_done_and_says_what_it_leaves_out() {
    let blocks = [
        user("where is it?"),
        tool("read src/a.rs", ToolBlockStatus::Ok),
        answer("In a.rs.", false),
        user("make it 5"),
        tool("edit src/a.rs", ToolBlockStatus::Denied),
    ];
    let whole = text_record(&blocks, RECORD_BYTES);
    let text = whole.text.clone().unwrap();
    assert_eq!((whole.told, whole.turns), (2, 2));
    assert!(
        text.contains(
            "User: where is it?\n[read src/a.rs: done]\nAgent: In a.rs.\n\nUser: make it 5\n\
             [edit src/a.rs: not allowed by the user]\n"
        ),
        "{text}"
    );
    assert!(!text.contains("left out"), "{text}");
    // When less fits
    let less = text_record(&blocks, 70);
    let text = less.text.unwrap();
    assert_eq!((less.told, less.turns), (1, 2));
    assert!(text.contains("Turns before these are left out.") && !text.contains("where is it?"), "{text}");
    // And where not even one does, its end goes
    let end = text_record(&blocks, 20);
    assert_eq!(end.told, 1);
    assert!(end.text.unwrap().contains("…llowed by the user]"), "the end of the newest turn");
    assert_eq!(text_record(&[], RECORD_BYTES), TextRecord { text: None, told: 0, turns: 0 });
}

#[test]
fn the_sentences_say_where_it_comes_from_what_is_known_and_that_files_stay() {
    let told = BranchTold {
        title: Some("Retries"),
        before: Some("make it 5"),
        who: "the built-in agent",
        knows: BranchKnows::All,
        told: 1,
        turns: 1,
        changed_later: true,
        left_out: false,
    };
    assert_eq!(
        told.sentences(),
        "This session is a branch of “Retries”, from before the prompt “make it 5”. That one stays as it is. The model \
         remembers the conversation up to here as it was. Files are not turned back: they are as they are now. What later \
         turns changed in them can be taken back in that session."
    );
    let told = BranchTold {
        before: None,
        who: "claude",
        knows: BranchKnows::Record,
        told: 2,
        turns: 5,
        changed_later: false,
        ..told
    };
    assert_eq!(
        told.sentences(),
        "This session continues “Retries” with claude. That one stays as it is. As claude cannot take over a conversation, \
         a record of the newest 2 of 5 turns goes along with your first prompt: what was asked, answered and done, not what \
         tools returned."
    );
}
