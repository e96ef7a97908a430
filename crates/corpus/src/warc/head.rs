//! The head of a server's answer, as crawlers store it: what no browser would choke on is read,
//! however little it is like the standard.

/// Maximum number of heads before the one that counts: interim answers, and those of proxies.
const INTERIM_MAX: usize = 8;

const PROTOCOL: &[u8] = b"HTTP";

/// Status and fields of an answer.
#[derive(Debug, Default)]
pub(super) struct Head<'a> {
    pub(super) status: u16,
    /// Lines of the fields; one that goes on follows as a line of its own, which begins with a
    /// blank.
    lines: Vec<&'a [u8]>,
}

impl<'a> Head<'a> {
    /// Returns true if `block` begins as an answer does.
    pub(super) fn begins(block: &[u8]) -> bool {
        let block = block.trim_ascii_start();
        block.get(..PROTOCOL.len()).is_some_and(|start| start.eq_ignore_ascii_case(PROTOCOL))
    }

    /// Splits an answer into its head and its body.
    pub(super) fn split(answer: &'a [u8]) -> Result<(Self, &'a [u8]), String> {
        let mut rest = answer.trim_ascii_start();
        for _ in 0..=INTERIM_MAX {
            let (head, body) = Self::split_one(rest)?;
            let is_interim = (100..200).contains(&head.status) || head.lines.is_empty();
            if !(is_interim && Self::begins(body)) {
                return Ok((head, body));
            }
            rest = body.trim_ascii_start();
        }
        Err("no HTTP response: only interim ones".to_owned())
    }

    fn split_one(answer: &'a [u8]) -> Result<(Self, &'a [u8]), String> {
        let mut rest = answer;
        if !Self::begins(answer) {
            return Err("no HTTP response: no status line begins it".to_owned());
        }
        let does_not_end = || "the HTTP header does not end".to_owned();
        let status_line = line(&mut rest).ok_or_else(does_not_end)?;
        let mut words = status_line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let status = words.nth(1).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        let Some(status) = status else {
            return Err("no HTTP response: its status line names no status".to_owned());
        };
        let mut lines = Vec::new();
        loop {
            let line = line(&mut rest).ok_or_else(does_not_end)?;
            if line.is_empty() {
                return Ok((Self { status, lines }, rest));
            }
            lines.push(line);
        }
    }

    /// Returns all values of a field, in order, in lowercase and with commas between them; empty if
    /// there is none. A line without a colon is passed over.
    pub(super) fn get(&self, name: &str) -> String {
        let mut values = String::new();
        let mut is_found = false;
        for line in &self.lines {
            let goes_on = line.first().is_some_and(u8::is_ascii_whitespace);
            let value = if goes_on {
                if !is_found {
                    continue;
                }
                line
            } else {
                let mut parts = line.splitn(2, |byte| *byte == b':');
                let found = parts.next().unwrap_or_default().trim_ascii();
                let value = parts.next();
                is_found = value.is_some() && found.eq_ignore_ascii_case(name.as_bytes());
                let (true, Some(value)) = (is_found, value) else { continue };
                value
            };
            if !values.is_empty() {
                values.push_str(if goes_on { " " } else { ", " });
            }
            values.push_str(&String::from_utf8_lossy(value.trim_ascii()).to_ascii_lowercase());
        }
        values
    }
}

/// Takes a line off `rest`, without the blanks at its end; `None` if no line ends there.
fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = memchr::memchr(b'\n', rest)?;
    let line = &rest[..end];
    *rest = &rest[end + 1..];
    Some(line.trim_ascii_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_as_servers_write_them() {
        for (line, status) in [
            ("HTTP/1.1 200 OK", 200),
            ("HTTP/1.1 200", 200),
            ("HTTP/2 200", 200),
            ("HTTP/2.0 200 ", 200),
            ("http/1.1 200 ok", 200),
            ("HTTP/1.0  404 \u{fc}ber", 404),
            ("HTTP 200 OK", 200),
            ("\r\nHTTP/1.1\t301", 301),
        ] {
            for end in ["\r\n", "\n"] {
                let answer = format!("{line}{end}A: b{end}{end}body");
                let (head, body) = Head::split(answer.as_bytes()).unwrap();
                assert_eq!((head.status, body), (status, &b"body"[..]), "{line:?}");
            }
        }
        for (answer, reason) in [
            ("hello\r\n\r\n", "no status line"),
            ("<html>", "no status line"),
            ("HTTP/1.1\r\n\r\n", "names no status"),
            ("HTTP/1.1 OK\r\n\r\n", "names no status"),
            ("HTTP/1.1 200 OK\r\nContent-", "does not end"),
            ("HTTP/1.1 200 OK", "does not end"),
        ] {
            let why = Head::split(answer.as_bytes()).unwrap_err();
            assert!(why.contains(reason), "{answer:?}: {why}");
        }
    }

    #[test]
    fn interim_answers_come_before_the_one_that_counts() {
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 Connection established\r\n\r\n";
        let answer = format!("{interim}HTTP/1.1 404 Not Found\r\nA: b\r\n\r\nHTTP/ in the body");
        let (head, body) = Head::split(answer.as_bytes()).unwrap();
        assert_eq!((head.status, body), (404, &b"HTTP/ in the body"[..]));
        let many = interim.repeat(INTERIM_MAX);
        assert!(Head::split(many.as_bytes()).unwrap_err().contains("interim"));
    }

    #[test]
    fn fields_as_servers_write_them() {
        let answer = "HTTP/1.1 200 OK\r\nP3P : CP=\"ALL\"\r\nSet cookies\r\nX: a\u{1}b\r\nx:C\r\n d\r\n: e\r\nY\r\n f\r\n\r\n";
        let (head, body) = Head::split(answer.as_bytes()).unwrap();
        let get = |name| head.get(name);
        assert_eq!((get("p3p"), get("X")), ("cp=\"all\"".to_owned(), "a\u{1}b, c d".to_owned()));
        assert_eq!((get("y"), get("set cookies"), body), (String::new(), String::new(), &b""[..]));
    }
}
