//! Output for people: stderr, and stdout on a terminal.

use std::io::{self, IsTerminal, Write};

use crate::printable::{line, lines};

/// Writer for people. Control characters are shown instead of obeyed, except line feeds and tabs;
/// output to a program is exact.
pub struct Screen<W> {
    out: W,
    is_shown: bool,
    /// Beginning of a character whose end comes with the next bytes.
    begun: Vec<u8>,
}

/// Returns the writer of results, which is made safe if it is a terminal.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "here it is made safe")]
pub fn stdout() -> Screen<io::Stdout> {
    let out = io::stdout();
    let is_shown = out.is_terminal();
    Screen { out, is_shown, begun: Vec::new() }
}

/// Returns the writer of messages, always made safe: people read them wherever they are kept.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "here it is made safe")]
pub fn stderr() -> Screen<io::Stderr> {
    Screen { out: io::stderr(), is_shown: true, begun: Vec::new() }
}

/// Returns the raw stderr, for lines already made safe by [`LogLines`].
#[must_use]
#[expect(clippy::disallowed_methods, reason = "what is written to it has been made safe")]
pub fn stderr_exact() -> io::Stderr {
    io::stderr()
}

impl<W: IsTerminal> Screen<W> {
    /// Returns true if the output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.out.is_terminal()
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_shown {
            return self.out.write(bytes);
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut shown = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            shown.push_str(&lines(chunk.valid()));
            let invalid = chunk.invalid();
            let is_begun = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_begun && chunks.peek().is_none() {
                self.begun = invalid.to_vec();
            } else if !invalid.is_empty() {
                shown.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.out.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writer of a log: takes each event in one write, and writes exactly one line for it.
pub struct LogLines<W> {
    out: W,
    is_coloured: bool,
}

impl<W: Write> LogLines<W> {
    /// Creates a writer. Where lines are coloured, colours pass unchanged: the caller must make
    /// sure that nothing else in an event looks like a colour.
    pub fn new(out: W, is_coloured: bool) -> Self {
        Self { out, is_coloured }
    }
}

impl<W: Write> Write for LogLines<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let mut rest = text.strip_suffix('\n').unwrap_or(&text);
        let mut shown = String::with_capacity(text.len());
        while let Some(colour) = rest.find("\x1b[").filter(|_| self.is_coloured) {
            let (before, after) = rest.split_at(colour);
            let parameters = after[2..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            // A colour ends in `m`; any other sequence is none.
            let len = if parameters.starts_with('m') { after.len() - parameters.len() + 1 } else { 0 };
            shown.push_str(&line(before));
            shown.push_str(&after[..len]);
            shown.push_str(if len == 0 { "\\u001b" } else { "" });
            rest = &after[len.max(1)..];
        }
        shown.push_str(&line(rest));
        shown.push('\n');
        self.out.write_all(shown.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_may_come_in_parts() {
        let text = "a字\u{9b}b\x1b[0m\n\t👩c";
        for len in 1..text.len() {
            let mut shown = Screen { out: Vec::new(), is_shown: true, begun: Vec::new() };
            text.as_bytes().chunks(len).for_each(|part| shown.write_all(part).unwrap());
            assert_eq!(String::from_utf8(shown.out).unwrap(), "a字\\u009bb\\u001b[0m\n\t👩c", "{len}");
        }
        let mut shown = Screen { out: Vec::new(), is_shown: true, begun: Vec::new() };
        shown.write_all(b"a\x9bb\xe5\xad").unwrap();
        shown.write_all(b"c").unwrap();
        assert_eq!(String::from_utf8(shown.out).unwrap(), "a\u{fffd}b\u{fffd}c");
        let mut exact = Screen { out: Vec::new(), is_shown: false, begun: Vec::new() };
        exact.write_all(b"a\x1b\x9b").unwrap();
        assert_eq!(exact.out, b"a\x1b\x9b");
    }

    #[test]
    fn events_are_lines() {
        let shown = |event: &str, is_coloured| {
            let mut lines = LogLines::new(Vec::new(), is_coloured);
            lines.write_all(event.as_bytes()).unwrap();
            String::from_utf8(lines.out).unwrap()
        };
        let event = "\x1b[2mnow\x1b[0m \x1b[1;33mWARN\x1b[0m a\nb\u{202e}\x1b]0;x\x07 \x1b[2J \x1b[\n";
        let expected =
            "\x1b[2mnow\x1b[0m \x1b[1;33mWARN\x1b[0m a\\nb\\u202e\\u001b]0;x\\u0007 \\u001b[2J \\u001b[\n";
        assert_eq!(shown(event, true), expected);
        assert!(!shown(event, false).contains('\x1b'));
        assert_eq!(shown("{\"a\":\"\u{85}\"}\n", false), "{\"a\":\"\\u0085\"}\n");
    }
}
