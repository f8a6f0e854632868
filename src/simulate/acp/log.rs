//! The record of everything that went over stdin and stdout, one JSON line a message, in the form that `--replay` reads.
//!
//! Owns the file. A log that cannot be written is a lost line, never a lost message.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};

/// An open record.
pub(super) struct Log {
    file: Mutex<File>,
    begun: Instant,
}

impl Log {
    /// Goes on at the end of a file; several processes may write to one.
    ///
    /// # Errors
    /// One sentence when it cannot be opened.
    pub(super) fn append(path: PathBuf) -> Result<Self, String> {
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(|error| {
            format!("{} cannot be written: {error}; choose another --log.", path.display())
        })?;
        let log = Self { file: Mutex::new(file), begun: Instant::now() };
        log.write("meta", &json!({"spawned_pid": std::process::id()}));
        Ok(log)
    }

    /// A line that was read (`c2a`) or written (`a2c`).
    pub(super) fn line(&self, direction: &str, line: &[u8]) {
        match serde_json::from_slice::<Value>(line) {
            Ok(message) => self.write(direction, &message),
            Err(_) => self.put(&json!({
                "t": self.seconds(), "dir": direction, "msg": null, "raw": String::from_utf8_lossy(line),
            })),
        }
    }

    /// Something beside the lines.
    pub(super) fn write(&self, direction: &str, message: &Value) {
        self.put(&json!({"t": self.seconds(), "dir": direction, "msg": message}));
    }

    fn seconds(&self) -> f64 {
        (self.begun.elapsed().as_secs_f64() * 10_000.0).round() / 10_000.0
    }

    fn put(&self, record: &Value) {
        if let Ok(mut file) = self.file.lock() {
            // One write a line: a second process may append to the same file.
            let _ = file.write_all(format!("{record}\n").as_bytes());
        }
    }
}
