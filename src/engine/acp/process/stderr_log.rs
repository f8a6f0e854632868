//! What an agent writes on stderr: a log of bounded size, and the last of it for the sentence about its end.
//!
//! Owns one thread an agent, which reads as fast as a disk writes, so that the agent never waits for anybody else. Secrets are
//! replaced line by line. Never reads a meaning into a line.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::secrets::Secrets;

/// Size at which the log begins anew. Two files of it hold hours of what an agent says, and no disk misses them.
const LOG: u64 = 4 << 20;
/// The last of it that is kept in memory: what fits in an error that a person reads.
const TAIL: usize = 4 << 10;
/// The most of a line; its rest is left out. Secrets are looked for in whole lines, which so must fit in memory.
const LINE: usize = 16 << 10;
/// How long the end of the stream is waited for after the end of the agent. What it left running may hold it open.
const REST: Duration = Duration::from_millis(200);

/// The reader of one agent's stderr.
#[derive(Debug)]
pub(super) struct StderrLog {
    tail: Arc<Mutex<VecDeque<u8>>>,
    at_end: watch::Receiver<bool>,
}

impl StderrLog {
    /// Reads to the end, on a thread of its own.
    pub(super) fn read(mut pipe: PipeReader, log: Option<PathBuf>, hide: Secrets) -> io::Result<Self> {
        let tail = Arc::new(Mutex::new(VecDeque::with_capacity(TAIL)));
        let (tell_end, at_end) = watch::channel(false);
        let into = Arc::clone(&tail);
        std::thread::Builder::new().name("agent-stderr".to_owned()).spawn(move || {
            let mut lines = Lines { tail: into, log: log.map(LogFile::new), hide, line: Vec::new() };
            let mut piece = vec![0; LINE];
            loop {
                match pipe.read(&mut piece) {
                    Ok(read @ 1..) => lines.take(&piece[..read]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                }
            }
            lines.end_line();
            // Nobody may wait any more.
            let _ = tell_end.send(true);
        })?;
        Ok(Self { tail, at_end })
    }

    /// The last of it, once the stream has ended or was given a moment to.
    pub(super) async fn tail(&self) -> String {
        let mut at_end = self.at_end.clone();
        // Not in time, or never: then it is what came so far.
        let _ = tokio::time::timeout(REST, at_end.wait_for(|at_end| *at_end)).await;
        let tail: Vec<u8> = lock(&self.tail).iter().copied().collect();
        String::from_utf8_lossy(&tail).into_owned()
    }
}

fn lock(tail: &Mutex<VecDeque<u8>>) -> MutexGuard<'_, VecDeque<u8>> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Lines {
    tail: Arc<Mutex<VecDeque<u8>>>,
    log: Option<LogFile>,
    hide: Secrets,
    line: Vec<u8>,
}

impl Lines {
    fn take(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let line = String::from_utf8_lossy(&self.line);
        let hide = self.hide.known();
        let mut clean = if line.ends_with('\n') {
            hide.scrub(line.as_bytes()).into_owned()
        } else {
            // Cut, or the last: a secret may have been cut too.
            let whole = line.len() - hide.open_end(&line);
            let mut clean = hide.scrub(&line.as_bytes()[..whole]).into_owned();
            clean.push(b'\n');
            clean
        };
        drop(hide);
        self.line.clear();
        if let Some(log) = &mut self.log {
            log.write(&clean);
        }
        clean.drain(..clean.len().saturating_sub(TAIL));
        let mut tail = lock(&self.tail);
        let too_much = (tail.len() + clean.len()).saturating_sub(TAIL);
        tail.drain(..too_much);
        tail.extend(clean);
    }
}

/// The file. What cannot be written is left out: a full disk must not stop the agent.
struct LogFile {
    path: PathBuf,
    file: Option<File>,
    size: u64,
}

impl LogFile {
    fn new(path: PathBuf) -> Self {
        if let Some(folder) = path.parent() {
            make_private(folder);
        }
        let file = private().append(true).open(&path).ok();
        let size = file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len());
        Self { path, file, size }
    }

    fn write(&mut self, line: &[u8]) {
        if self.size + line.len() as u64 > LOG {
            let mut old = self.path.clone().into_os_string();
            old.push(".1");
            let _ = std::fs::rename(&self.path, PathBuf::from(old));
            self.file = private().write(true).truncate(true).open(&self.path).ok();
            self.size = 0;
        }
        if let Some(file) = &mut self.file
            && file.write_all(line).is_ok()
        {
            self.size += line.len() as u64;
        }
    }
}

/// For the user alone: agents write prompts and paths there.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn make_private(folder: &Path) {
    // What cannot be made is found out where the file is opened.
    let _ = crate::platform::private::create_folder(folder);
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{LINE, LOG, Secrets, StderrLog, TAIL};

    fn hiding(secret: &str) -> Secrets {
        let hide = Secrets::default();
        hide.add(secret);
        hide
    }

    #[tokio::test]
    async fn r000_62_a_secret_that_becomes_known_later_is_hidden_from_then_on() {
        let hide = Secrets::default();
        let (read, mut write) = std::io::pipe().unwrap();
        let log = StderrLog::read(read, None, hide.clone()).unwrap();
        write.write_all(b"tok-123456 before\n").unwrap();
        while log.tail.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        hide.add("tok-123456");
        write.write_all(b"tok-123456 after\n").unwrap();
        drop(write);
        assert_eq!(log.tail().await, "tok-123456 before\n[redacted] after\n");
    }

    #[tokio::test]
    async fn a_secret_is_in_neither_the_log_nor_the_tail_however_it_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.log");
        let (read, mut write) = std::io::pipe().unwrap();
        let log = StderrLog::read(read, Some(path.clone()), hiding("tok-123456")).unwrap();
        for piece in ["a tok-", "123456 b\n", "end tok-12345"] {
            write.write_all(piece.as_bytes()).unwrap();
        }
        drop(write);
        assert_eq!(log.tail().await, "a [redacted] b\nend \n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a [redacted] b\nend \n");
    }

    #[tokio::test]
    async fn a_flood_is_bounded_on_disk_and_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.log");
        let (read, mut write) = std::io::pipe().unwrap();
        let log = StderrLog::read(read, Some(path.clone()), Secrets::default()).unwrap();
        let line = [b'x'; 1_023];
        for _ in 0..3 * LOG / 1_024 + 10 {
            write.write_all(&line).unwrap();
            write.write_all(b"\n").unwrap();
        }
        write.write_all(&vec![b'y'; 100 * LINE]).unwrap();
        drop(write);
        let tail = log.tail().await;
        let size = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
        assert_eq!((tail.len(), tail.ends_with("yyy\n")), (TAIL, true));
        assert_eq!(size(&path), 10 * 1_024 + LINE as u64 + 1);
        assert_eq!(size(&dir.path().join("agent.log.1")), LOG);
    }

    #[tokio::test]
    async fn what_still_holds_the_stream_does_not_keep_the_tail() {
        let (read, mut write) = std::io::pipe().unwrap();
        let log = StderrLog::read(read, None, Secrets::default()).unwrap();
        write.write_all(b"said\n").unwrap();
        while log.tail.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(log.tail().await, "said\n");
        drop(write);
    }
}
