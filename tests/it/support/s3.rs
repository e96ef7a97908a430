//! An S3 server for the tests: one for the whole run, started by the first test that needs it. The
//! server checks signatures.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use super::{Suite, root, venv};

/// A server with a bucket called `corpus`.
pub(crate) struct S3 {
    /// The address of the server.
    pub(crate) address: String,
    keys: [String; 2],
    /// Standard input and output. The server ends with its input.
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    _child: Child,
}

/// Returns the server of this run; `None` unless the suite is selected.
pub(crate) fn s3() -> Option<&'static S3> {
    static SERVER: OnceLock<Option<S3>> = OnceLock::new();
    SERVER.get_or_init(|| S3::start(&[])).as_ref()
}

/// Returns a second server, which requires no signatures.
pub(crate) fn open_s3() -> Option<&'static S3> {
    static SERVER: OnceLock<Option<S3>> = OnceLock::new();
    SERVER.get_or_init(|| S3::start(&["open"])).as_ref()
}

/// Returns a Python with the packages of the server.
fn python() -> &'static Path {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = PYTHON.get_or_init(|| venv("moto", &root().join("tests/it/support/s3/requirements.txt")));
    made.as_deref().unwrap_or_else(|why| panic!("there is no S3 server: {why}"))
}

impl S3 {
    fn start(args: &[&str]) -> Option<Self> {
        if !Suite::S3.is_asked_for() {
            return None;
        }
        let mut server = Command::new(python());
        server
            .arg(root().join("tests/it/support/s3/server.py"))
            .args(args)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        let mut child = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let pipes = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut server =
            Self { address: String::new(), keys: Default::default(), pipes: pipes.into(), _child: child };
        let line = server.answer("");
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, key, secret] = words[..] else { panic!("the S3 server said {line:?}") };
        server.address = address.to_owned();
        server.keys = [key.to_owned(), secret.to_owned()];
        Some(server)
    }

    /// Puts a file into the bucket.
    pub(crate) fn put(&self, key: &str, file: &Path) {
        assert_eq!(self.answer(&format!("put {key} {}\n", file.display())), "put\n");
    }

    /// Returns the object under a key, as far as there is one.
    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("object");
        match &*self.answer(&format!("get {key} {}\n", file.display())) {
            "got\n" => Some(fs::read(file).unwrap()),
            answer => {
                assert_eq!(answer, "none\n");
                None
            }
        }
    }

    /// Removes an object.
    pub(crate) fn remove(&self, key: &str) {
        assert_eq!(self.answer(&format!("remove {key}\n")), "removed\n");
    }

    /// Returns the keys that begin with `prefix`.
    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        self.answer(&format!("keys {prefix}\n")).split_whitespace().map(str::to_owned).collect()
    }

    /// Returns the keys that begin with `prefix` and are being uploaded.
    pub(crate) fn uploads(&self, prefix: &str) -> Vec<String> {
        self.answer(&format!("uploads {prefix}\n")).split_whitespace().map(str::to_owned).collect()
    }

    /// Sets the environment in which a program reads from the server, or from a proxy before it.
    pub(crate) fn settings(&self, command: &mut Command, address: &str) {
        let [key, secret] = &self.keys;
        command.env("AWS_ACCESS_KEY_ID", key).env("AWS_SECRET_ACCESS_KEY", secret);
        command.env("AWS_ENDPOINT_URL", format!("http://{address}")).env("AWS_ALLOW_HTTP", "true");
    }

    fn answer(&self, command: &str) -> String {
        let mut pipes = self.pipes.lock().unwrap();
        pipes.0.write_all(command.as_bytes()).unwrap();
        let mut line = String::new();
        pipes.1.read_line(&mut line).unwrap();
        line
    }
}
