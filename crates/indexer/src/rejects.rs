//! Rejected records: counted, named on stderr, and written to a file on request.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::path::Path;

use corpus::{Fields, Origin};
use index::DocumentId;
use serde_json::{Value, json};

use crate::journal::{Checkpoint, Journal};
use crate::output::{Output, REJECTS};
use crate::progress::Console;
use crate::reasons::Reasons;

/// Number of records named on stderr.
const NAMED_MAX: u64 = 5;

/// The error of a run that rejected all of this many records, and so replaced no output.
#[derive(Debug)]
pub(crate) struct AllRejected {
    n: u64,
    suggested: Option<String>,
}

impl AllRejected {
    pub(crate) fn new(n: u64, fields: &Fields) -> Self {
        Self { n, suggested: fields.suggested().map(str::to_owned) }
    }
}

impl fmt::Display for AllRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "every record was rejected ({}), see above; outputs are left as they were", self.n)?;
        self.suggested.as_ref().map_or(Ok(()), |flags| write!(f, "; give {flags}"))
    }
}

impl Error for AllRejected {}

pub(crate) struct Rejects {
    file: Option<Output>,
    console: Console,
    n_rejected: u64,
    reasons: Reasons,
    n_named: u64,
}

impl Rejects {
    /// Starts at the checkpoint of the job, if it has a journal.
    pub(crate) fn new(
        path: Option<&Path>,
        console: Console,
        journal: Option<&Journal>,
    ) -> anyhow::Result<Self> {
        let (n_rejected, n_named) = journal
            .map(Journal::checkpoint)
            .map_or((0, 0), |checkpoint| (checkpoint.n_rejected, checkpoint.n_named));
        let open = |path: &Path| {
            journal.map_or_else(|| Output::create(path), |journal| journal.output(REJECTS, path))
        };
        Ok(Self {
            file: path.map(open).transpose()?,
            console,
            n_rejected,
            reasons: Reasons::default(),
            n_named,
        })
    }

    /// Rejects a record.
    pub(crate) fn reject(&mut self, origin: &Origin, number: u64, reason: &str) -> anyhow::Result<()> {
        self.n_rejected += 1;
        self.reasons.add(reason);
        self.name("rejected", origin, number, reason)
    }

    /// Names a record without features. It does not count as rejected, because the record is valid.
    pub(crate) fn not_indexed(&mut self, origin: &Origin, number: u64) -> anyhow::Result<()> {
        self.name("not_indexed", origin, number, "the text has no features")
    }

    /// Names a document of an index that is missing in another one. It does not count as rejected,
    /// because it is no record.
    pub(crate) fn missing(&mut self, id: &DocumentId) -> anyhow::Result<()> {
        self.say("missing", format_args!("{id}"), "");
        self.write(&json!({ "kind": "missing", "id": id.as_str() }))
    }

    /// Makes the file durable, and adds counts and length to the checkpoint.
    pub(crate) fn checkpoint(&mut self, checkpoint: &mut Checkpoint) -> anyhow::Result<()> {
        checkpoint.n_rejected = self.n_rejected;
        checkpoint.n_named = self.n_named;
        self.file.as_mut().map_or(Ok(()), |file| file.checkpoint(&mut checkpoint.lengths))
    }

    /// Reasons of the rejections so far.
    pub(crate) fn reasons(&self) -> &Reasons {
        &self.reasons
    }

    pub(crate) fn n_rejected(&self) -> u64 {
        self.n_rejected
    }

    /// Moves the file into its place. Returns the number of rejected records.
    pub(crate) fn finish(self) -> anyhow::Result<u64> {
        if let Some(file) = self.file {
            file.finish()?;
        }
        Ok(self.n_rejected)
    }

    fn name(&mut self, kind: &str, origin: &Origin, number: u64, reason: &str) -> anyhow::Result<()> {
        let source = origin.name();
        self.say(kind, format_args!("{source}:{number}: "), reason);
        self.write(&json!({ "kind": kind, "source": source, "line": number, "reason": reason }))
    }

    fn say(&mut self, kind: &str, what: fmt::Arguments<'_>, reason: &str) {
        self.n_named += 1;
        if self.n_named <= NAMED_MAX {
            let kind = kind.replace('_', " ");
            self.console.print(format_args!("{kind} {what}{reason}"));
        } else if self.n_named == NAMED_MAX + 1 {
            let all =
                if self.file.is_some() { "the file of rejects has all" } else { "--rejects FILE lists all" };
            self.console.print(format_args!("and more; {all}"));
        }
    }

    fn write(&mut self, line: &Value) -> anyhow::Result<()> {
        if let Some(file) = &mut self.file {
            writeln!(file, "{line}").map_err(|error| file.failed(error))?;
        }
        Ok(())
    }
}
