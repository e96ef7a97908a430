//! The messages of a running program, read while it runs.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr};

/// The stderr of a program. Kept open, because a program must never write into a closed pipe.
pub(crate) struct Log(BufReader<ChildStderr>);

impl Log {
    /// Takes the stderr of a program, which is piped.
    pub(crate) fn of(child: &mut Child) -> Self {
        Self(BufReader::new(child.stderr.take().expect("stderr is piped")))
    }

    /// Reads up to a line that holds `part`, and returns the line.
    pub(crate) fn until(&mut self, part: &str) -> String {
        let mut before = String::new();
        loop {
            let mut line = String::new();
            let n = self.0.read_line(&mut line).expect("messages are UTF-8");
            assert!(n > 0, "the program ended before it said {part:?}:\n{before}");
            if line.contains(part) {
                return line;
            }
            before.push_str(&line);
        }
    }

    /// Reads to the end of the program.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).expect("messages are UTF-8");
        rest
    }
}
