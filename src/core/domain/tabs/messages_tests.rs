//! What a client of a tab is told of the transcript, against the transcript itself.

use proptest::prelude::*;

use super::*;
use crate::domain::view::coalesce;

fn block(id: &str, turn: u64, seq: u64, body: BlockBody) -> Block {
    Block { id: id.into(), turn: Some(turn), seq, body }
}

fn answer(id: &str, turn: u64, seq: u64, text: &str, streaming: bool) -> Block {
    block(id, turn, seq, BlockBody::Assistant { text: text.into(), streaming, truncated: false })
}

fn user(turn: u64, seq: u64) -> Block {
    let body = BlockBody::User {
        text: "go".into(),
        message_id: Some(format!("m{turn}")),
        attachment_ids: vec![],
        context: vec![],
        context_notes: vec![],
        context_seq: None,
    };
    block(&format!("u-{turn}"), turn, seq, body)
}

fn put(block: Block) -> Change {
    Change::put(Lane::Chat, block)
}

fn append(id: &str, text: &str) -> Change {
    Change::append(Lane::Chat, id, text)
}

fn text(message_id: &str, block_id: &str, text: &str) -> News {
    News::Text { message_id: Some(message_id.into()), block_id: block_id.into(), text: text.into() }
}

#[test]
fn r001_04_05_23_late_words_of_an_earlier_turn_carry_the_message_id_of_that_turn() {
    let mut told = SentBlocks::new(true);
    told.news(&[put(user(1, 1)), put(answer("a-1", 1, 2, "He", true))], 1);
    told.news(&[put(user(2, 3)), put(answer("a-2", 2, 4, "Two", true))], 3);
    assert_eq!(
        told.news(&[append("a-1", "llo"), append("a-2", "!"), put(answer("a-1b", 1, 6, "late", true))], 5),
        [text("m1", "a-1", "llo"), text("m2", "a-2", "!"), text("m1", "a-1b", "late")]
    );
}

#[test]
fn an_engine_with_turns_of_its_own_speaks_to_the_last_prompt() {
    let mut told = SentBlocks::new(false);
    told.news(&[put(user(4, 1)), put(answer("a", 1, 2, "He", true))], 1);
    let news = told.news(&[append("a", "y"), put(user(5, 3)), put(answer("b", 1, 4, "Two", true))], 3);
    assert_eq!(news[0], text("m4", "a", "y"));
    assert_eq!(news[2], text("m5", "b", "Two"));
}

#[test]
fn the_blocks_of_a_prompt_are_those_below_it_whatever_turns_the_engine_counts() {
    let others = |seq| {
        let body = BlockBody::User {
            text: "hi".into(),
            message_id: None,
            attachment_ids: vec![],
            context: vec![],
            context_notes: vec![],
            context_seq: None,
        };
        block(&format!("u-{seq}"), 1, seq, body)
    };
    let mut told = SentBlocks::new(false);
    let page = [
        answer("rest", 1, 2, "of an older prompt", false),
        user(2, 3),
        answer("a2", 1, 4, "Two", false),
        others(5),
        answer("o", 1, 6, "Theirs", false),
        user(3, 7),
        answer("a3", 1, 8, "Three", false),
        answer("a3b", 8, 9, "and more", true),
    ];
    told.news(&page.clone().map(put), 1);
    let shown = |told: &SentBlocks| ["m1", "m2", "m3"].map(|id| told.blocks_of(id));
    told.restart(&page, Some("m1".to_owned()));
    assert_eq!(shown(&told), [&["rest"][..], &["u-2", "a2"], &["u-3", "a3", "a3b"]]);
    // Another client's prompt stands above the page.
    told.restart(&page, None);
    assert_eq!(shown(&told), [&[][..], &["u-2", "a2"], &["u-3", "a3", "a3b"]]);
}

#[test]
fn a_text_is_told_once_and_replaced_whole_when_it_turned_out_otherwise() {
    let mut told = SentBlocks::new(true);
    told.news(&[put(user(1, 1))], 1);
    assert_eq!(told.news(&[put(answer("a", 1, 2, "Hello", true))], 2), [text("m1", "a", "Hello")]);
    assert_eq!(told.news(&[put(answer("a", 1, 2, "Hello wor", true))], 3), [text("m1", "a", " wor")]);
    assert_eq!(told.news(&[put(answer("a", 1, 2, "Hello wor", false))], 4), []);
    let other = answer("a", 1, 2, "Hallo", false);
    let whole = News::Block { message_id: Some("m1".into()), block: Box::new(other.clone()), append: false };
    assert_eq!(told.news(&[put(other)], 5), [whole]);
    assert_eq!(told.news(&[Change::remove(Lane::Chat, "a")], 6), [News::Anew]);
    // Of a block on an older page a client has nothing to add to.
    assert_eq!(told.news(&[append("elsewhere", "x"), Change::append(Lane::Run, "a", "x")], 7), []);
}

/// What a client makes of the news: blocks by id, texts added.
fn apply(blocks: &mut Vec<Block>, news: Vec<News>) {
    for one in news {
        let block = match one {
            News::Text { block_id, text, .. } => {
                match blocks.iter_mut().find(|block| block.id == block_id) {
                    Some(block) => assert!(block.append_text(&text)),
                    None => blocks.push(answer(&block_id, 0, 0, &text, true)),
                }
                continue;
            }
            News::Block { block, append: true, .. } => {
                let BlockBody::Reasoning { text, .. } = &block.body else { panic!("{block:?}") };
                let known = blocks.iter_mut().find(|known| known.id == block.id).expect("a block to add to");
                assert!(known.append_text(text));
                continue;
            }
            News::Block { block, .. } | News::Tool { block, .. } => *block,
            News::Permission { .. } | News::Anew => panic!("not in these stories"),
        };
        match blocks.iter_mut().find(|known| known.id == block.id) {
            Some(known) => *known = block,
            None => blocks.push(block),
        }
    }
}

fn words(blocks: &[Block]) -> Vec<(String, String)> {
    let words = blocks.iter().map(|block| match &block.body {
        BlockBody::Assistant { text, .. }
        | BlockBody::Reasoning { text, .. }
        | BlockBody::User { text, .. } => (block.id.clone(), text.clone()),
        BlockBody::TurnStart { .. }
        | BlockBody::TurnEnd { .. }
        | BlockBody::Tool { .. }
        | BlockBody::Permission { .. }
        | BlockBody::Plan { .. }
        | BlockBody::Patch { .. }
        | BlockBody::Changes { .. }
        | BlockBody::Command { .. }
        | BlockBody::Task { .. }
        | BlockBody::Checkpoint { .. }
        | BlockBody::Link { .. }
        | BlockBody::Summary { .. }
        | BlockBody::Notice { .. }
        | BlockBody::Unknown { .. } => (block.id.clone(), format!("{:?}", block.body)),
    });
    words.collect()
}

#[test]
fn what_a_turn_changed_is_told_of_its_own_prompt_though_another_was_sent() {
    let asked = |id: &str, seq| {
        let (text, message_id) = (id.to_owned(), Some(id.to_owned()));
        let body = BlockBody::User {
            text,
            message_id,
            attachment_ids: Vec::new(),
            context: Vec::new(),
            context_notes: Vec::new(),
            context_seq: None,
        };
        put(Block { id: format!("u-{seq}"), turn: None, seq, body })
    };
    let changed = BlockBody::Changes {
        prompt_seq: 1,
        of_revert: None,
        files: Vec::new(),
        uncovered: None,
        text: "This turn changed 1 file.".into(),
    };
    let late = put(Block { id: "changes-1".into(), turn: None, seq: 4, body: changed });
    let mut told = SentBlocks::new(false);
    told.news(&[asked("first", 1), put(answer("a-2", 1, 2, "Done.", false)), asked("second", 3)], 1);
    let news = told.news(&[late.behind(Some("a-2".into()))], 4);
    let of: Vec<Option<&str>> = news
        .iter()
        .map(|news| match news {
            News::Block { message_id, .. } => message_id.as_deref(),
            other @ (News::Text { .. } | News::Tool { .. } | News::Permission { .. } | News::Anew) => {
                panic!("{other:?}")
            }
        })
        .collect();
    assert_eq!(of, [Some("first")]);
}

proptest! {
    #[test]
    fn r001_11_29_what_a_client_is_told_adds_up_to_the_transcript(
        steps in proptest::collection::vec((0..6_u8, 0..5_usize, "[a-zé ]{0,6}", any::<bool>()), 1..60)
    ) {
        let mut told = SentBlocks::new(true);
        let (mut real, mut seen): (Vec<Block>, Vec<Block>) = (Vec::new(), Vec::new());
        let (mut waiting, mut first, mut seq) = (Vec::new(), 1, 0);
        for (what, which, piece, flush) in steps {
            seq += 1;
            let id = format!("b{which}");
            let at = real.iter().position(|block| block.id == id);
            let made = at.map_or(seq, |at| real[at].seq);
            let change = match (what, at) {
                (0 | 1, Some(at)) if real[at].append_text("") => append(&id, &piece),
                (2, _) => put(block(&id, 1, made, BlockBody::Reasoning { text: piece, streaming: flush })),
                (3, _) => put(block(&id, 1, made, BlockBody::Link { uri: piece, label: String::new(), picture: None })),
                (4, Some(at)) => {
                    let BlockBody::Assistant { text, .. } = &real[at].body else { continue };
                    put(answer(&id, 1, made, &format!("{text}{piece}"), false))
                }
                _ => put(answer(&id, 1, made, &piece, flush)),
            };
            match (&change.block, at) {
                (Some(block), Some(at)) => real[at] = block.clone(),
                (Some(block), None) => real.push(block.clone()),
                (None, Some(at)) => { real[at].append_text(change.text.as_deref().unwrap()); }
                (None, None) => unreachable!(),
            }
            waiting.push(change);
            if flush {
                apply(&mut seen, told.news(&coalesce(std::mem::take(&mut waiting)), first));
                first = seq + 1;
                prop_assert_eq!(words(&seen), words(&real));
            }
        }
    }
}
