//! `FrameOutbox`: the one writer of stdout.
//!
//! Owns the order in which frames leave, their headers, the bounds of the three lanes and the redaction of secrets. Never
//! knows what a message means, and never blocks whoever hands one over: one thread of its own writes.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::app::ports::{Outbox, Secret};
use crate::domain::policy::redact::Redactor;

/// Bytes of `bb/*` frames that may wait. The journal holds the rest, so a few dozen batches are enough to keep a pipe busy
/// and little enough that an editor that wakes up does not read stale minutes first.
const PUSH_BYTES: usize = 2 << 20;

/// The same for messages of more than a quarter of that bound: a few may wait, or every second one would take the way over the
/// journal, which reads and copies it once more.
const LARGE_PUSH_BYTES: usize = 10 << 20;

/// A `bb/*` message that comes this long after the one before it is no part of a flood: it may skip the queue, since then
/// waking the writer would cost more than writing does.
const CALM: Duration = Duration::from_micros(500);

/// So may those that come right behind it: an event leaves with what it changes in the view, and in a tab.
const CALM_FRAMES: u32 = 4;

/// Frames of `bb/*` that may wait, so that tiny ones do not hide behind the bound of bytes.
const PUSH_FRAMES: usize = 4_096;

/// Bytes of answers that may wait before the reader stops to take requests. Answers are never refused; whoever asks
/// without reading is held back instead.
pub(super) const ANSWERS_PAUSE: usize = 8 << 20;

/// Log messages that may wait. They are best effort: further ones are counted, not kept.
const LOG_FRAMES: usize = 256;

/// Largest message that may skip the queue: with its header it fits into `PIPE_BUF`, 512 bytes at least and 4096 on Linux.
const DIRECT_BYTES: usize = if cfg!(target_os = "linux") { 4_000 } else { 440 };

/// About how much goes out with one write: what a Linux pipe holds.
const WRITE_BYTES: usize = 64 << 10;

/// How soon `on_drained` is asked again when it was not taken.
const ASK_AGAIN: Duration = Duration::from_millis(5);

/// The one writer of stdout. See the module.
pub struct FrameOutbox {
    queue: Mutex<Queue>,
    /// Work for the writer.
    work: Condvar,
    /// Something was written, or the writer died.
    progress: Condvar,
    secrets: RwLock<Redactor>,
    hides: AtomicBool,
    /// The same pipe, for answers that need no queue.
    direct: OnceLock<File>,
}

/// Our stdout without the line buffer of the standard library, which would cut every write in two.
pub fn open_stdout() -> io::Result<File> {
    #[cfg(unix)]
    let owned = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?;
    #[cfg(windows)]
    let owned = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned()?;
    Ok(File::from(owned))
}

#[derive(Default)]
struct Queue {
    segments: VecDeque<Segment>,
    /// Emptied buffers, so that the hot lane does not allocate.
    spare: Vec<Vec<u8>>,
    push_bytes: usize,
    push_frames: usize,
    answer_bytes: usize,
    log_frames: usize,
    log_dropped: u64,
    /// When the last message of the push lane came.
    last_push: Option<Instant>,
    /// Messages of the push lane since it was last calm.
    since_calm: u32,
    /// `push` was refused and nobody heard yet that there is room again.
    owes_drained: bool,
    /// The writer holds a segment that is not written yet.
    writing: bool,
    dead: bool,
}

/// Frames that leave with one write, and what they count for; of a large one header and message apart, next to each other.
#[derive(Default)]
struct Segment {
    bytes: Vec<u8>,
    push_bytes: usize,
    push_frames: usize,
    answer_bytes: usize,
    log_frames: usize,
}

enum OutboxLane {
    Push,
    Answer,
    Log,
}

impl FrameOutbox {
    /// Starts the writer thread.
    ///
    /// `on_drained` is called on the writer thread after a refused `push`, once less than a quarter of the bound waits; it
    /// says whether it was heard, and is called again a little later when not. `on_dead` is called once, when a write
    /// fails: nobody reads us any more. Neither may block.
    pub fn start(
        out: impl Write + Send + 'static,
        on_drained: impl Fn() -> bool + Send + Sync + 'static,
        on_dead: impl Fn() + Send + 'static,
    ) -> Arc<Self> {
        let outbox = Arc::new(Self {
            queue: Mutex::default(),
            work: Condvar::new(),
            progress: Condvar::new(),
            secrets: RwLock::default(),
            hides: AtomicBool::new(false),
            direct: OnceLock::new(),
        });
        let writer = Arc::clone(&outbox);
        let spawned = std::thread::Builder::new()
            .name("outbox".to_owned())
            .spawn(move || writer.write_all(out, &on_drained, &on_dead));
        if spawned.is_err() {
            outbox.lock().dead = true;
        }
        outbox
    }

    /// Queues an answer, or a message of the framework's lane. Never refused.
    pub fn answer(&self, message: Vec<u8>) {
        let message = self.scrub(message.into());
        let mut queue = self.lock();
        if queue.dead || self.wrote_directly(&queue, &message) {
            return;
        }
        queue.append(message, OutboxLane::Answer);
        drop(queue);
        self.work.notify_one();
    }

    /// From now on answers may go straight into this pipe, the one that `start` got, when nothing else waits or is being
    /// written: an answer then needs no other thread to wake up. Some editors give a socket for a pipe; anything else is not
    /// taken.
    #[cfg(unix)]
    pub fn write_directly(&self, pipe: File) {
        let is_pipe = rustix::fs::fstat(&pipe).is_ok_and(|stat| {
            let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
            matches!(kind, rustix::fs::FileType::Fifo | rustix::fs::FileType::Socket)
        });
        if is_pipe {
            // Set once, at the start.
            let _ = self.direct.set(pipe);
        }
    }

    /// The caller holds the queue, so nobody else writes. A pipe that polls as writable takes a whole `PIPE_BUF` without
    /// blocking (POSIX `write`; Linux and macOS poll by at least that much), and so does a socket, whose buffer is a
    /// multiple of it and polls as writable when a good part is free. An error is left to the writer thread, which then
    /// meets it too and says so.
    fn wrote_directly(&self, queue: &Queue, message: &[u8]) -> bool {
        let Some(mut pipe) = self.direct.get() else { return false };
        if queue.writing || !queue.segments.is_empty() || message.len() > DIRECT_BYTES || !has_room(pipe) {
            return false;
        }
        let mut frame = Vec::with_capacity(message.len() + 32);
        write_header(&mut frame, message.len());
        frame.extend_from_slice(message);
        pipe.write_all(&frame).is_ok()
    }

    /// Queues a log message if fewer than 256 wait; dropped ones are counted, and the next one that fits is preceded by a
    /// warning that says how many are missing.
    pub fn log(&self, message: Vec<u8>) {
        let message = self.scrub(message.into());
        let mut queue = self.lock();
        if queue.dead {
            return;
        }
        if queue.log_frames >= LOG_FRAMES {
            queue.log_dropped += 1;
            return;
        }
        let dropped = std::mem::take(&mut queue.log_dropped);
        if dropped > 0 {
            let notice = json!({
                "jsonrpc": "2.0",
                "method": "window/logMessage",
                "params": { "type": 2, "message": format!("{dropped} log messages were dropped here, because the editor did not read them in time.") },
            });
            queue.append(notice.to_string().into_bytes().into(), OutboxLane::Log);
        }
        queue.append(message, OutboxLane::Log);
        drop(queue);
        self.work.notify_one();
    }

    /// Bytes of answers that wait to be written.
    #[cfg(test)]
    pub fn answers_waiting_bytes(&self) -> usize {
        self.lock().answer_bytes
    }

    /// Blocks while more than 8 MiB of answers wait; returns at once when nobody reads us any more.
    pub fn wait_for_answer_room(&self) {
        let mut queue = self.lock();
        while queue.answer_bytes > ANSWERS_PAUSE && !queue.dead {
            queue = self.progress.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until everything queued is written. `false`: the deadline passed first, or nobody reads us any more.
    pub fn drain(&self, deadline: Duration) -> bool {
        let until = Instant::now() + deadline;
        let mut queue = self.lock();
        while !queue.dead && (queue.writing || !queue.segments.is_empty()) {
            let Some(left) = until.checked_duration_since(Instant::now()) else { return false };
            queue = self.progress.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        !queue.dead
    }

    fn write_all(&self, mut out: impl Write, on_drained: &dyn Fn() -> bool, on_dead: &dyn Fn()) {
        loop {
            let Some(segment) = self.next_segment(on_drained) else { return };
            let outcome = out.write_all(&segment.bytes).and_then(|()| out.flush());
            let mut queue = self.lock();
            queue.settle(segment);
            if outcome.is_err() {
                queue.dead = true;
                queue.segments.clear();
            }
            drop(queue);
            self.progress.notify_all();
            if outcome.is_err() {
                on_dead();
                return;
            }
        }
    }

    /// Waits for the next segment; tells `on_drained` on the way when it is owed.
    fn next_segment(&self, on_drained: &dyn Fn() -> bool) -> Option<Segment> {
        let mut queue = self.lock();
        loop {
            if queue.dead {
                return None;
            }
            if queue.owes_drained && queue.push_bytes < PUSH_BYTES / 4 && queue.push_frames < PUSH_FRAMES / 4
            {
                queue.owes_drained = false;
                // Without the lock: the callback may push.
                drop(queue);
                let heard = on_drained();
                queue = self.lock();
                queue.owes_drained |= !heard;
                if !heard && queue.segments.is_empty() {
                    queue =
                        self.work.wait_timeout(queue, ASK_AGAIN).unwrap_or_else(PoisonError::into_inner).0;
                    continue;
                }
            }
            if let Some(segment) = queue.segments.pop_front() {
                queue.writing = true;
                return Some(segment);
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The message without secrets.
    fn scrub<'m>(&self, message: Cow<'m, [u8]>) -> Cow<'m, [u8]> {
        if !self.hides.load(Ordering::Acquire) {
            return message;
        }
        let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        match secrets.scrub_json(&message) {
            Cow::Borrowed(_) => message,
            Cow::Owned(clean) => Cow::Owned(clean),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outbox for FrameOutbox {
    fn push(&self, message: Cow<'_, [u8]>) -> bool {
        let message = self.scrub(message);
        let mut queue = self.lock();
        if queue.dead {
            return false;
        }
        if queue.is_calm(Instant::now()) && self.wrote_directly(&queue, &message) {
            return true;
        }
        let bound = if message.len() > PUSH_BYTES / 4 { LARGE_PUSH_BYTES } else { PUSH_BYTES };
        let full = queue.push_frames >= PUSH_FRAMES || queue.push_bytes + message.len() > bound;
        // A message above the bound goes alone, or it would never go.
        if full && queue.push_frames > 0 {
            queue.owes_drained = true;
            return false;
        }
        let idle = queue.segments.is_empty();
        queue.append(message, OutboxLane::Push);
        drop(queue);
        if idle {
            self.work.notify_one();
        }
        true
    }

    fn hide(&self, secret: &Secret) {
        self.secrets.write().unwrap_or_else(PoisonError::into_inner).add(&secret.0);
        self.hides.store(true, Ordering::Release);
    }

    fn hide_all(&self, known: &Redactor) {
        self.secrets.write().unwrap_or_else(PoisonError::into_inner).add_all(known);
        self.hides.store(true, Ordering::Release);
    }
}

#[cfg(unix)]
fn has_room(pipe: &File) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = [PollFd::new(pipe, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok() && polled[0].revents() == PollFlags::OUT
}

#[cfg(not(unix))]
fn has_room(_: &File) -> bool {
    false
}

impl Queue {
    /// Counts a message of the push lane; whether it is one of the few that may skip the queue.
    fn is_calm(&mut self, now: Instant) -> bool {
        let before = self.last_push.replace(now);
        let pause = before.is_none_or(|before| now.duration_since(before) >= CALM);
        self.since_calm = if pause { 1 } else { self.since_calm.saturating_add(1) };
        self.since_calm <= CALM_FRAMES
    }

    fn append(&mut self, message: Cow<'_, [u8]>, lane: OutboxLane) {
        let length = message.len();
        let full = self.segments.back().is_none_or(|last| last.bytes.len() + length > WRITE_BYTES);
        if full {
            let bytes = self.spare.pop().unwrap_or_default();
            self.segments.push_back(Segment { bytes, ..Segment::default() });
        }
        if let Some(segment) = self.segments.back_mut() {
            write_header(&mut segment.bytes, length);
        }
        if length > WRITE_BYTES {
            // A write of its own, behind its header, so that it is not copied.
            self.segments.push_back(Segment { bytes: message.into_owned(), ..Segment::default() });
        } else if let Some(segment) = self.segments.back_mut() {
            segment.bytes.extend_from_slice(&message);
        }
        let Some(segment) = self.segments.back_mut() else { return };
        match lane {
            OutboxLane::Push => {
                segment.push_bytes += length;
                segment.push_frames += 1;
                self.push_bytes += length;
                self.push_frames += 1;
            }
            OutboxLane::Answer => {
                segment.answer_bytes += length;
                self.answer_bytes += length;
            }
            OutboxLane::Log => {
                segment.log_frames += 1;
                self.log_frames += 1;
            }
        }
    }

    /// Takes what was written out of the counts.
    fn settle(&mut self, segment: Segment) {
        self.writing = false;
        self.push_bytes -= segment.push_bytes;
        self.push_frames -= segment.push_frames;
        self.answer_bytes -= segment.answer_bytes;
        self.log_frames -= segment.log_frames;
        let mut bytes = segment.bytes;
        // A buffer that grew for one huge answer is given back to the system.
        if self.spare.len() < 8 && bytes.capacity() <= 2 * WRITE_BYTES {
            bytes.clear();
            self.spare.push(bytes);
        }
    }
}

/// `Content-Length: n` without the formatting machinery; this runs a million times a second.
fn write_header(bytes: &mut Vec<u8>, length: usize) {
    let mut digits = [0_u8; 20];
    let (mut at, mut left) = (digits.len(), length);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    bytes.extend_from_slice(b"Content-Length: ");
    bytes.extend_from_slice(&digits[at..]);
    bytes.extend_from_slice(b"\r\n\r\n");
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
