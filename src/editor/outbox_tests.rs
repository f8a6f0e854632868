//! The outbox against writers that read, wait and die.

use std::io::Read;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;

use super::*;

/// What was written, and a gate that must open before a write goes on.
#[derive(Clone, Default)]
struct Pipe {
    written: Arc<Mutex<Vec<u8>>>,
    gate: Arc<(Mutex<bool>, Condvar)>,
}

impl Pipe {
    fn open() -> Self {
        let pipe = Self::default();
        pipe.unblock();
        pipe
    }

    fn unblock(&self) {
        *self.gate.0.lock().unwrap() = true;
        self.gate.1.notify_all();
    }

    fn text(&self) -> String {
        String::from_utf8(self.written.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut open = self.gate.0.lock().unwrap();
        while !*open {
            open = self.gate.1.wait(open).unwrap();
        }
        self.written.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const LONG: Duration = Duration::from_secs(60);

fn frame(message: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{message}", message.len())
}

#[test]
fn frames_of_all_lanes_leave_in_the_order_in_which_they_came() {
    let pipe = Pipe::open();
    let outbox = FrameOutbox::start(pipe.clone(), || true, || {});

    assert!(outbox.push(b"one".to_vec().into()));
    outbox.answer(b"three".to_vec());
    outbox.log(b"fourth".to_vec());
    assert!(outbox.push("fünf".as_bytes().to_vec().into()));
    assert!(outbox.drain(LONG));

    assert_eq!(pipe.text(), [frame("one"), frame("three"), frame("fourth"), frame("fünf")].concat());
}

#[test]
fn one_message_leaves_through_several_outboxes_with_its_secrets_hidden_in_each() {
    // Given two clients, of which one came when a token was known already
    let (first, second) = (Pipe::open(), Pipe::open());
    let outboxes = [&first, &second].map(|pipe| FrameOutbox::start(pipe.clone(), || true, || {}));
    outboxes[0].hide(&Secret("sk-first-1".to_owned()));
    let mut known = Redactor::default();
    known.add("sk-second");
    outboxes[1].hide_all(&known);
    // When a message, small or larger than what is written at once, is borrowed to both
    let small = br#"{"a":"sk-first-1 sk-second"}"#.to_vec();
    let large = [br#"{"a":""#.as_slice(), &vec![b'x'; 2 * WRITE_BYTES], br#""}"#].concat();
    for message in [&small, &large] {
        for outbox in &outboxes {
            assert!(outbox.push(Cow::Borrowed(message)));
        }
    }
    outboxes.iter().for_each(|outbox| assert!(outbox.drain(LONG)));
    // Then each wrote both
    let large = frame(std::str::from_utf8(&large).unwrap());
    assert_eq!(first.text(), frame(r#"{"a":"[redacted] sk-second"}"#) + &large);
    assert_eq!(second.text(), frame(r#"{"a":"sk-first-1 [redacted]"}"#) + &large);
}

#[test]
fn a_full_push_lane_refuses_then_says_once_that_there_is_room() {
    let pipe = Pipe::default();
    let (told, hears) = mpsc::channel();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let outbox = FrameOutbox::start(
        pipe.clone(),
        move || {
            // The first call is not heard; the second is.
            let heard = counted.fetch_add(1, Ordering::SeqCst) == 1;
            if heard {
                told.send(()).unwrap();
            }
            heard
        },
        || {},
    );

    let accepted = (0..5_000).filter(|_| outbox.push(vec![b'x'; 10].into())).count();
    assert_eq!(accepted, PUSH_FRAMES);
    outbox.answer(b"{}".to_vec());
    pipe.unblock();
    hears.recv_timeout(LONG).unwrap();
    assert!(outbox.drain(LONG));

    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert_eq!(pipe.text(), format!("{}{}", frame("xxxxxxxxxx").repeat(PUSH_FRAMES), frame("{}")));
    assert!(outbox.push(b"again".to_vec().into()));
}

#[test]
fn the_bound_of_bytes_holds_and_one_larger_message_goes_alone() {
    let pipe = Pipe::default();
    let outbox = FrameOutbox::start(pipe.clone(), || true, || {});

    assert!(outbox.push(vec![b'x'; PUSH_BYTES + 1].into()));
    assert!(!outbox.push(vec![b'y'; 1].into()));
    pipe.unblock();
    assert!(outbox.drain(LONG));
    assert!(outbox.push(vec![b'y'; 1].into()));
}

#[test]
fn answers_are_never_refused_but_counted() {
    let pipe = Pipe::default();
    let outbox = FrameOutbox::start(pipe.clone(), || true, || {});

    for _ in 0..10 {
        outbox.answer(vec![b'x'; 1 << 20]);
    }
    assert_eq!(outbox.answers_waiting_bytes(), 10 << 20);
    let (told, hears) = mpsc::channel();
    let waiter = Arc::clone(&outbox);
    std::thread::spawn(move || {
        waiter.wait_for_answer_room();
        told.send(waiter.answers_waiting_bytes()).unwrap();
    });
    pipe.unblock();

    assert!(hears.recv_timeout(LONG).unwrap() <= ANSWERS_PAUSE);
    assert!(outbox.drain(LONG));
    assert_eq!(outbox.answers_waiting_bytes(), 0);
}

#[test]
fn logs_that_do_not_fit_are_counted_and_the_count_is_told() {
    let pipe = Pipe::default();
    let outbox = FrameOutbox::start(pipe.clone(), || true, || {});

    for _ in 0..LOG_FRAMES + 7 {
        outbox.log(b"{}".to_vec());
    }
    pipe.unblock();
    assert!(outbox.drain(LONG));
    outbox.log(b"[]".to_vec());
    assert!(outbox.drain(LONG));

    let text = pipe.text();
    assert_eq!(text.matches(&frame("{}")).count(), LOG_FRAMES);
    assert!(text.contains("7 log messages were dropped here"), "{text}");
    assert!(text.ends_with(&frame("[]")));
}

#[test]
fn secrets_leave_in_no_lane_and_in_no_spelling() {
    let pipe = Pipe::open();
    let outbox = FrameOutbox::start(pipe.clone(), || true, || {});
    outbox.hide(&Secret("tok\"en\\1".to_owned()));
    outbox.hide(&Secret("abcdef-long-token".to_owned()));
    outbox.hide(&Secret("abcdef".to_owned()));
    outbox.hide(&Secret("short".to_owned()));
    outbox.hide(&Secret("345678".to_owned()));

    outbox.push(serde_json::to_vec(&json!({ "a": "tok\"en\\1!" })).unwrap().into());
    outbox.answer(b"<abcdef-long-token><abcdef>".to_vec());
    outbox.answer(br#"{"ts":12345678.5,"text":"345678"}"#.to_vec());
    outbox.log(b"short tok\"en\\1tok\"en\\1".to_vec());
    assert!(outbox.drain(LONG));

    let expected = [
        frame(r#"{"a":"[redacted]!"}"#),
        frame("<[redacted]><[redacted]>"),
        frame(r#"{"ts":12345678.5,"text":"[redacted]"}"#),
        frame("short [redacted][redacted]"),
    ];
    assert_eq!(pipe.text(), expected.concat());
}

#[test]
fn a_failed_write_is_told_once_and_nothing_waits_any_more() {
    struct Broken;
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (told, hears) = mpsc::channel();
    let outbox = FrameOutbox::start(Broken, || true, move || told.send(()).unwrap());

    outbox.answer(vec![b'x'; 2 * ANSWERS_PAUSE]);
    hears.recv_timeout(LONG).unwrap();

    assert!(!outbox.push(b"late".to_vec().into()));
    outbox.wait_for_answer_room();
    assert!(!outbox.drain(LONG));
    assert!(hears.recv().is_err(), "told twice");
}

/// Not a promise but a figure: `cargo test --lib editor::outbox -- --ignored --nocapture`.
#[test]
#[ignore = "measures, does not check"]
fn measure_the_hot_lane() {
    let room = Arc::new((Mutex::new(false), Condvar::new()));
    let told = Arc::clone(&room);
    let outbox = FrameOutbox::start(
        io::sink(),
        move || {
            *told.0.lock().unwrap() = true;
            told.1.notify_one();
            true
        },
        || {},
    );
    let (frames, message) = (3_000_000, vec![b'x'; 200]);
    let started = Instant::now();
    for _ in 0..frames {
        while !outbox.push(message.clone().into()) {
            let mut open = room.0.lock().unwrap();
            while !*open {
                open = room.1.wait(open).unwrap();
            }
            *open = false;
        }
    }
    assert!(outbox.drain(LONG));
    let rate = f64::from(frames) / started.elapsed().as_secs_f64();
    #[allow(clippy::print_stderr)]
    {
        eprintln!("{rate:.0} frames of 200 bytes a second");
    }
}

#[cfg(unix)]
#[test]
fn answers_that_skip_the_queue_never_overtake_and_never_interleave() {
    // Given a real pipe, which answers may go into directly; or a socket, as some editors give.
    let (reader, writer) = std::io::pipe().unwrap();
    never_overtake(reader, std::os::fd::OwnedFd::from(writer).into());
    let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
    never_overtake(reader, std::os::fd::OwnedFd::from(writer).into());
}

#[cfg(unix)]
fn never_overtake(mut reader: impl Read + Send + 'static, writer: std::fs::File) {
    let outbox = FrameOutbox::start(writer.try_clone().unwrap(), || true, || {});
    outbox.write_directly(writer);
    // When messages of both lanes are handed over, small ones and ones above what a pipe takes at once.
    let sent: Vec<String> = (0..2_000)
        .map(|at| {
            format!("{{\"n\":{at},\"pad\":\"{}\"}}", "x".repeat(if at % 97 == 0 { 9_000 } else { at % 50 }))
        })
        .collect();
    let expected: String = sent.iter().map(|message| frame(message)).collect();
    let read = std::thread::spawn(move || {
        let mut bytes = vec![0; expected.len()];
        reader.read_exact(&mut bytes).unwrap();
        (String::from_utf8(bytes).unwrap(), expected)
    });
    for (at, message) in sent.iter().enumerate() {
        if at % 3 == 0 {
            while !outbox.push(message.clone().into_bytes().into()) {
                std::thread::yield_now();
            }
        } else {
            outbox.answer(message.clone().into_bytes());
        }
    }
    // Then they come out whole and in that order.
    let (read, expected) = read.join().unwrap();
    assert!(read == expected);
}

#[cfg(unix)]
#[test]
fn the_first_few_messages_after_a_pause_wake_no_writer_and_a_flood_does() {
    // Given a pipe, and a writer that tells what it was woken for.
    let (mut reader, pipe) = std::io::pipe().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    struct Told(std::sync::mpsc::Sender<Vec<u8>>);
    impl Write for Told {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.send(bytes.to_vec());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let outbox = FrameOutbox::start(Told(tell), || true, || {});
    outbox.write_directly(std::os::fd::OwnedFd::from(pipe).into());
    // When an event comes with what it changes, and then many more without a pause.
    let messages: Vec<String> = (0..u64::from(CALM_FRAMES) + 1).map(|at| format!("{{\"n\":{at}}}")).collect();
    let mut queue = outbox.lock();
    let began = Instant::now();
    let calm: Vec<bool> = messages.iter().map(|_| queue.is_calm(began)).collect();
    queue.last_push = None;
    drop(queue);
    for message in &messages[..2] {
        assert!(outbox.push(message.clone().into_bytes().into()));
    }
    // Then the first few count as calm and the next does not; and what is calm stands in the pipe without the writer.
    assert_eq!(calm, [true, true, true, true, false]);
    let expected: String = messages[..2].iter().map(|message| frame(message)).collect();
    let mut bytes = vec![0; expected.len()];
    reader.read_exact(&mut bytes).unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    assert!(told.try_recv().is_err());
}
