//! An editor reduced to its pipes: writes frames, reads frames, waits for answers.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// What to start.
#[derive(Clone)]
pub struct Program {
    pub program: OsString,
    pub arguments: Vec<OsString>,
}

impl Program {
    /// Our own binary: the one that `BB_SERVER` names, or that of the profile that this program was built with.
    pub fn ours() -> Self {
        let program = std::env::var_os("BB_SERVER").unwrap_or_else(|| built().join("breadboard-ls").into());
        Self { program, arguments: Vec::new() }
    }
}

/// The folder of what this profile built.
pub fn built() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    own.parent().expect("it is in a folder").to_owned()
}

/// Builds our own binary, so that none is measured that is older than its sources. One that `BB_SERVER` names is taken as it is.
///
/// # Errors
/// One sentence.
pub fn build() -> Result<(), String> {
    if std::env::var_os("BB_SERVER").is_some() {
        return Ok(());
    }
    let folder = built();
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What `cargo run` tells this program of its own package; a build script that reads it would have everything built again.
    for (name, _) in std::env::vars_os() {
        let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
        if of_package.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            cargo.env_remove(name);
        }
    }
    let status = cargo
        .args(["build", "--locked", "--profile", profile, "--bin", "breadboard-ls", "--target-dir"])
        .arg(folder.parent().expect("the folder of all profiles"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .status()
        .map_err(|error| format!("cargo does not run: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("The program that is to be measured could not be built.".to_owned())
    }
}

/// A running server.
pub struct Server {
    pub child: Child,
    input: ChildStdin,
    pub frames: Frames<ChildStdout>,
    next_id: u64,
}

/// Frames from a pipe.
pub struct Frames<R> {
    reader: BufReader<R>,
    body: Vec<u8>,
    line: String,
}

impl<R: Read> Frames<R> {
    pub fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(256 << 10, reader), body: Vec::new(), line: String::new() }
    }

    /// The body of the next frame; `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let mut length = None;
        loop {
            self.line.clear();
            if self.reader.read_line(&mut self.line)? == 0 {
                return Ok(None);
            }
            let line = self.line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some(digits) = line.strip_prefix("Content-Length: ") {
                length = digits.parse().ok();
            }
        }
        let length: usize = length.ok_or_else(|| io::Error::other("a header without a length"))?;
        self.body.resize(length, 0);
        self.reader.read_exact(&mut self.body)?;
        Ok(Some(&self.body))
    }
}

impl<R> Frames<R> {
    /// The body that was read last.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

impl Server {
    pub fn start(program: &Program) -> Self {
        let mut child = Command::new(&program.program)
            .args(&program.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .env_remove("BREADBOARD_API_URL")
            .env_remove("BREADBOARD_API_TOKEN")
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take().expect("a pipe");
        let frames = Frames::new(child.stdout.take().expect("a pipe"));
        Self { child, input, frames, next_id: 0 }
    }

    fn write(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("the server reads");
        self.input.flush().expect("the server reads");
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request without waiting for its answer; its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params }));
        self.next_id
    }

    /// The answer to a request; what comes before it is dropped.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let body = self.frames.next().expect("a frame").expect("the server lives");
            let message: Value = serde_json::from_slice(body).expect("JSON");
            if message.get("id").and_then(Value::as_u64) == Some(id) && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// `initialize` up to its answer.
    pub fn initialize(&mut self, root: &std::path::Path, options: Value) -> Value {
        self.initialize_as(root, options, json!({}))
    }

    /// The same, of an editor that can do this.
    pub fn initialize_as(&mut self, root: &std::path::Path, options: Value, capabilities: Value) -> Value {
        let uri = format!("file://{}", root.display());
        self.request(
            "initialize",
            json!({
                "processId": std::process::id(), "rootUri": uri, "capabilities": capabilities,
                "workspaceFolders": [{ "uri": uri, "name": "bench" }], "initializationOptions": options,
            }),
        )
    }

    /// The rest of the greeting.
    pub fn greet(&mut self) {
        self.notify("initialized", json!({}));
        self.request("bb/init", json!({}));
    }

    /// Ends the server the way editors do.
    pub fn stop(mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        drop(self.input);
        self.child.wait().expect("the server ends");
    }
}

/// The options of every run: state of its own, nothing of the user's.
pub fn options(state_dir: &std::path::Path) -> Value {
    json!({ "stateDir": state_dir, "workspaceTrusted": true })
}
