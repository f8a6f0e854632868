//! The decoder against the standard's examples, a slow model of the standard, another decoder, and every cut of a stream.

use proptest::prelude::*;

use super::*;

/// An item that owns its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Frame { own_id: Option<String>, last_id: String, event: Option<String>, data: String },
    TooLarge { own_id: Option<String>, bytes: u64, limit: usize },
}

fn seen(item: SseItem<'_>) -> Seen {
    match item {
        SseItem::Frame(frame) => Seen::Frame {
            own_id: frame.own_id.map(str::to_owned),
            last_id: frame.last_id.to_owned(),
            event: frame.event.map(str::to_owned),
            data: String::from_utf8_lossy(frame.data).into_owned(),
        },
        SseItem::TooLarge(large) => {
            Seen::TooLarge { own_id: large.own_id.map(str::to_owned), bytes: large.bytes, limit: large.limit }
        }
    }
}

fn feed(decoder: &mut SseDecoder, bytes: &[u8]) -> Vec<Seen> {
    let mut items = Vec::new();
    decoder.feed(bytes, &mut |item| items.push(seen(item)));
    items
}

const ROOMY: usize = 1 << 20;

fn decode(bytes: &[u8]) -> Vec<Seen> {
    feed(&mut SseDecoder::new(ROOMY), bytes)
}

fn decode_in(chunks: &[&[u8]], limit: usize) -> Vec<Seen> {
    let mut decoder = SseDecoder::new(limit);
    chunks.iter().flat_map(|chunk| feed(&mut decoder, chunk)).collect()
}

/// Cuts the bytes into pieces of the given sizes, over and over.
fn pieces<'b>(bytes: &'b [u8], sizes: &[usize]) -> Vec<&'b [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, behind) = rest.split_at((*size).min(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

fn frame(own_id: Option<&str>, last_id: &str, data: &str) -> Seen {
    Seen::Frame {
        own_id: own_id.map(str::to_owned),
        last_id: last_id.to_owned(),
        event: None,
        data: data.to_owned(),
    }
}

fn frame_of(event: &str, data: &str) -> Seen {
    Seen::Frame { own_id: None, last_id: String::new(), event: Some(event.to_owned()), data: data.to_owned() }
}

/// The standard by its letter, on the whole stream at once.
fn model(bytes: &[u8]) -> Vec<Seen> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    // What stands behind the last line end is no line.
    let Some((lines, _)) = text.rsplit_once('\n') else { return Vec::new() };
    let (mut data, mut event, mut id) = (String::new(), String::new(), String::new());
    let mut own = false;
    let mut out = Vec::new();
    for line in lines.split('\n') {
        let (name, value) = match line.split_once(':') {
            Some((name, value)) => (name, value.strip_prefix(' ').unwrap_or(value)),
            None => (line, ""),
        };
        match name {
            "" if line.is_empty() => {
                if !data.is_empty() {
                    out.push(Seen::Frame {
                        own_id: own.then(|| id.clone()),
                        last_id: id.clone(),
                        event: (!event.is_empty()).then(|| event.clone()),
                        data: data.strip_suffix('\n').unwrap().to_owned(),
                    });
                }
                data.clear();
                event.clear();
                own = false;
            }
            "data" => {
                data.push_str(value);
                data.push('\n');
            }
            "event" => event = value.to_owned(),
            "id" if !value.contains('\0') => {
                id = value.to_owned();
                own = true;
            }
            _ => {}
        }
    }
    out
}

#[test]
fn the_examples_of_the_standard() {
    assert_eq!(
        decode(b"data: YHOO\ndata: +2\ndata: 10\n\n"),
        [frame(None, "", "YHOO\n+2\n10")],
        "lines of data are joined"
    );
    assert_eq!(
        decode(b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n"),
        [frame(Some("1"), "1", "first event"), frame(Some(""), "", "second event")],
        "a comment, an id, an id without a value, an event without its blank line"
    );
    assert_eq!(
        decode(b"data\n\ndata\ndata\n\ndata:"),
        [frame(None, "", ""), frame(None, "", "\n")],
        "a line without a colon is a field with an empty value"
    );
    assert_eq!(
        decode(b"data:test\n\ndata: test\n\n"),
        [frame(None, "", "test"), frame(None, "", "test")],
        "one space behind the colon is a separator"
    );
    assert_eq!(
        decode(b"event: add\ndata: 73857293\n\nevent: a\nevent: remove\ndata: 2153\n\n"),
        [frame_of("add", "73857293"), frame_of("remove", "2153")],
        "the last event type counts"
    );
}

#[test]
fn all_three_line_ends_also_between_two_chunks() {
    let expected = [frame(Some("1"), "1", "a\nb"), frame(None, "1", "c")];
    for end in ["\n", "\r", "\r\n"] {
        let stream = ["id: 1", "data: a", "data: b", "", "data: c", "", ""].join(end);
        for cut in 0..=stream.len() {
            let (head, tail) = stream.as_bytes().split_at(cut);
            assert_eq!(decode_in(&[head, tail], ROOMY), expected, "{end:?} cut at {cut}");
            assert_eq!(decode_in(&[head, b"", tail], ROOMY), expected, "{end:?} cut at {cut}, empty read");
        }
    }
}

#[test]
fn a_carriage_return_ends_the_event_without_waiting_for_a_line_feed() {
    let mut decoder = SseDecoder::new(ROOMY);
    assert_eq!(feed(&mut decoder, b"data: x\r\r"), [frame(None, "", "x")]);
    assert_eq!(feed(&mut decoder, b"\ndata: y\n\n"), [frame(None, "", "y")], "its LF is no second line end");
}

#[test]
fn a_byte_order_mark_counts_at_the_start_only() {
    let stream = "\u{feff}data: a\n\n\u{feff}data: b\n\ndata: \u{feff}c\n\n".as_bytes();
    let expected = [frame(None, "", "a"), frame(None, "", "\u{feff}c")];
    for cut in 0..=stream.len() {
        let (head, tail) = stream.split_at(cut);
        assert_eq!(decode_in(&[head, tail], ROOMY), expected, "cut at {cut}");
    }
    // Half a mark is the beginning of a line of no meaning; the line behind it counts.
    assert_eq!(decode(b"\xEF\xBBdata: a\ndata: b\n\n"), [frame(None, "", "b")]);
    assert_eq!(decode(b"\xEF\xBB\n\ndata: b\n\n"), [frame(None, "", "b")]);
    assert_eq!(decode("\u{feff}\u{feff}data: a\n\ndata: b\n\n".as_bytes()), [frame(None, "", "b")]);
}

#[test]
fn r003_06_an_inherited_id_is_no_own_id() {
    // Given an event with an id line, one without, and one whose id line must be ignored
    let stream = b"id: 7\ndata: a\n\ndata: b\n\nid: 8\0\ndata: c\n\nid: \xf0\x9f\xff\ndata: d\n\n";
    // Then only the lines that count are own ids, and the last id is kept as the standard says
    assert_eq!(
        decode(stream),
        [
            frame(Some("7"), "7", "a"),
            frame(None, "7", "b"),
            frame(None, "7", "c"),
            frame(Some("\u{fffd}\u{fffd}"), "\u{fffd}\u{fffd}", "d"),
        ]
    );
}

#[test]
fn an_id_without_data_counts_for_the_next_event_and_is_not_its_own() {
    assert_eq!(decode(b"id: 7\n\ndata: a\n\n"), [frame(None, "7", "a")]);
}

#[test]
fn id_and_data_in_reads_of_their_own() {
    let chunks: [&[u8]; 4] = [b"id: 8\n", b"data: {\"a\"", b":1}\n", b"\n"];
    assert_eq!(decode_in(&chunks, ROOMY), [frame(Some("8"), "8", "{\"a\":1}")]);
}

#[test]
fn a_retry_line_changes_nothing_however_long_it_is() {
    let endless = format!("retry: {}\n", "9".repeat(2 * MAX_FIELD_BYTES));
    let lines =
        [b"retry: 250\ndata: a\nretry\n\n", endless.as_bytes(), b"data: b\n\nretry: 300\n\n"].concat();
    assert_eq!(decode(&lines), [frame(None, "", "a"), frame(None, "", "b")]);
}

#[test]
fn an_event_in_one_chunk_is_not_copied() {
    let chunk = b"id: 1\ndata: the body\n\n".to_vec();
    let range = chunk.as_ptr_range();
    let mut within = None;
    SseDecoder::new(ROOMY).feed(&chunk, &mut |item| {
        if let SseItem::Frame(frame) = item {
            within = Some(range.contains(&frame.data.as_ptr()));
        }
    });
    assert_eq!(within, Some(true));
}

#[test]
fn too_large_an_event_is_told_once_with_its_id_and_the_next_one_comes() {
    // Given a bound of 8 and events of 8, of 9, of 9 in two lines, of many empty lines, and a small one
    let stream = [
        "id: 1\ndata: 12345678\n\n",
        "id: 2\ndata: 123456789\n\n",
        "data: 1234\ndata: 5678\nid: 3\n\n",
        "data: 123456789\n\n",
        &"data\n".repeat(10),
        "\n",
        "id: 4\ndata: 1\n\n",
    ]
    .concat();
    let large =
        |own_id: Option<&str>, bytes| Seen::TooLarge { own_id: own_id.map(str::to_owned), bytes, limit: 8 };
    let expected = [
        frame(Some("1"), "1", "12345678"),
        large(Some("2"), 9),
        large(Some("3"), 9),
        large(None, 9),
        large(None, 9),
        frame(Some("4"), "4", "1"),
    ];
    // Then it is the same at every cut
    for size in 1..=stream.len() {
        assert_eq!(decode_in(&pieces(stream.as_bytes(), &[size]), 8), expected, "pieces of {size}");
    }
}

#[test]
fn too_large_an_event_holds_no_memory() {
    let mut decoder = SseDecoder::new(1024);
    for _ in 0..1000 {
        assert_eq!(feed(&mut decoder, b"data: 0123456789\nnonsense without an end "), []);
        assert_eq!(feed(&mut decoder, b"and more of it\n"), []);
    }
    assert_eq!(decoder.data.capacity(), 0);
    assert_eq!(feed(&mut decoder, b"\n"), [Seen::TooLarge { own_id: None, bytes: 10_999, limit: 1024 }]);
    // Nor does a line that is no field, nor a comment
    feed(&mut decoder, &[b'x'; 10_000]);
    feed(&mut decoder, b"\n: ");
    feed(&mut decoder, &[b'x'; 10_000]);
    assert_eq!((decoder.data.capacity(), decoder.field.capacity()), (0, 0));
}

#[test]
fn an_endless_id_or_event_type_makes_the_event_too_large() {
    let long = "x".repeat(MAX_FIELD_BYTES + 1);
    let large =
        |own_id: Option<&str>| Seen::TooLarge { own_id: own_id.map(str::to_owned), bytes: 1, limit: ROOMY };
    let stream = format!("id: 1\nid: {long}\ndata: a\n\nid: 2\nevent: {long}\ndata: b\n\nid: 3\ndata: c\n\n");
    for size in [1, 7, 4096, stream.len()] {
        assert_eq!(
            decode_in(&pieces(stream.as_bytes(), &[size]), ROOMY),
            [large(None), large(Some("2")), frame(Some("3"), "3", "c")],
            "pieces of {size}"
        );
    }
    let just = "x".repeat(MAX_FIELD_BYTES);
    assert_eq!(decode(format!("id:{just}\ndata: a\n\n").as_bytes()), [frame(Some(&just), &just, "a")]);
}

#[test]
fn the_work_is_linear_however_small_the_chunks() {
    let mut stream = b"id: 1\ndata: ".to_vec();
    stream.extend(std::iter::repeat_n(b'x', 100_000));
    stream.extend_from_slice(b"\ndata: more\n\n");
    for size in [1, 3, 1000, stream.len()] {
        let mut decoder = SseDecoder::new(ROOMY);
        let mut frames = 0;
        for piece in pieces(&stream, &[size]) {
            decoder.feed(piece, &mut |_| frames += 1);
        }
        assert_eq!(frames, 1);
        // Each byte is looked at once and copied at most once.
        assert!(decoder.work <= 2 * stream.len() as u64, "{} for pieces of {size}", decoder.work);
        assert!(decoder.work >= stream.len() as u64, "the work is counted");
    }
}

/// What streams are made of, good and bad.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::sample::select(vec![
            "data: x", "data:", "data", "data : x", "dataa: x", "id: 7", "id:", "id", "id: \0", "event: e", "event:",
            "retry: 10", "retry: x", "retry:", ": comment", ":", "unknown: x", "data: {\"a\":1}", "\u{feff}", " ", "d",
            "da", "ta", ":", "é", "retry: 18446744073709551616", "reset: x", "data:  two spaces", "eventt",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        8 => prop::sample::select(vec!["\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\n\r"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ]
}

fn soup() -> impl Strategy<Value = Vec<u8>> {
    (any::<bool>(), prop::collection::vec(fragment(), 0..40)).prop_map(|(bom, parts)| {
        let mut bytes = if bom { BOM.to_vec() } else { Vec::new() };
        bytes.extend(parts.concat());
        bytes
    })
}

proptest! {
    /// Whole or in any pieces, the decoder says what the model says.
    #[test]
    fn any_bytes_in_any_pieces_are_what_the_standard_says(
        bytes in soup(),
        sizes in prop::collection::vec(1_usize..12, 1..10),
    ) {
        let expected = model(&bytes);
        prop_assert_eq!(&decode(&bytes), &expected);
        prop_assert_eq!(&decode_in(&pieces(&bytes, &sizes), ROOMY), &expected);
    }

    /// A bound never changes what fits, and what does not fit is told.
    #[test]
    fn a_bound_drops_nothing_silently(
        bytes in soup(),
        sizes in prop::collection::vec(1_usize..12, 1..10),
        limit in 0_usize..20,
    ) {
        let bounded = decode_in(&pieces(&bytes, &sizes), limit);
        let mut raw = Vec::new();
        SseDecoder::new(ROOMY).feed(&bytes, &mut |item| {
            let SseItem::Frame(frame) = &item else { return };
            raw.push(if frame.data.len() <= limit {
                seen(item)
            } else {
                let own_id = frame.own_id.map(str::to_owned);
                Seen::TooLarge { own_id, bytes: frame.data.len() as u64, limit }
            });
        });
        prop_assert_eq!(bounded, raw);
    }
}

mod against_another_decoder {
    use futures::{StreamExt, executor, stream};
    use sse_stream::{Sse, SseByteStream};

    use super::*;

    /// Id, type, data.
    type Theirs = (Option<String>, Option<String>, String);

    fn theirs(chunks: &[&[u8]]) -> Vec<Theirs> {
        let chunks: Vec<Result<Vec<u8>, std::io::Error>> = chunks.iter().map(|c| Ok(c.to_vec())).collect();
        let chunks = chunks.into_iter().map(|c| c.map(std::collections::VecDeque::from));
        let blocks: Vec<Result<Sse, _>> =
            executor::block_on(SseByteStream::new(stream::iter(chunks)).collect());
        // It also gives out blocks without data.
        blocks
            .into_iter()
            .map(Result::unwrap)
            .filter_map(|sse| sse.data.map(|data| (sse.id, sse.event, data)))
            .collect()
    }

    fn valid_event() -> impl Strategy<Value = String> {
        let line = "[^\r\n\u{0}]{0,12}";
        let word = "[a-z0-9.-]{1,8}";
        (
            prop::option::of(word),
            prop::option::of(word),
            prop::collection::vec(line, 1..4),
            prop::option::of(0_u64..100_000),
            prop::option::of(line),
            prop::sample::select(vec!["\n", "\r", "\r\n"]),
        )
            .prop_map(|(id, event, data, retry, comment, end)| {
                let mut lines: Vec<String> = comment.into_iter().map(|text| format!(":{text}")).collect();
                lines.extend(id.map(|id| format!("id: {id}")));
                lines.extend(event.map(|event| format!("event: {event}")));
                lines.extend(data.iter().map(|data| format!("data: {data}")));
                lines.extend(retry.map(|retry| format!("retry: {retry}")));
                lines.push(String::new());
                lines.push(String::new());
                lines.join(end)
            })
    }

    proptest! {
        #[test]
        fn valid_streams_are_read_alike(
            events in prop::collection::vec(valid_event(), 0..6),
            sizes in prop::collection::vec(1_usize..20, 1..6),
        ) {
            let stream = events.concat();
            let chunks = pieces(stream.as_bytes(), &sizes);
            let ours: Vec<_> = decode_in(&chunks, ROOMY)
                .into_iter()
                .map(|item| match item {
                    Seen::Frame { own_id, event, data, .. } => (own_id, event, data),
                    Seen::TooLarge { .. } => panic!("nothing is too large here"),
                })
                .collect();
            prop_assert_eq!(ours.len(), events.len());
            prop_assert_eq!(ours, theirs(&chunks));
        }
    }
}
