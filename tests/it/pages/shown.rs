//! Output that differs in every run, and is left out of comparisons with a page.

use std::sync::LazyLock;

use regex::Regex;

/// Patterns and their replacements, in this order.
static VARIES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let patterns = [
        (r"(?m)^(seconds|Took) .*\n", ""),
        // Progress, printed every ten seconds.
        (r"(?m)^bulk-load: writing the HFiles of .*\n", ""),
        // Log lines of HBase's client on a slow machine.
        (r"(?m)^\d{4}-\d\d-\d\d[T ][\d:]{8}[,.]\d+ +(DEBUG|INFO|WARN|ERROR) .*\n", ""),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
        (r#"identity"?[: ]+"?[0-9a-f]{32}"#, "IDENTITY"),
        (r"\d{8}T\d{9}Z-[0-9a-f]{8}", "ROUND"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME"),
        (r"date=\d{4}-\d\d-\d\d/half=(am|pm)", "HALF-DAY"),
        (r"\b1[6-9]\d{11}\b", "MILLISECONDS"),
        // In a column.
        (r"pid +\d+ *", "PID "),
        (r"port +\d+", "PORT"),
        (r"\d[\d,.]* (ms|s|us|documents/s|queries/s|rows/s)\b", "N $1"),
        (r"p(50|99) \d+", "p$1 N"),
        (r"(?m)[ \t]+$", ""),
    ];
    patterns.map(|(pattern, name)| (Regex::new(pattern).unwrap(), name)).into()
});

/// A line of a page that stands for any lines, or none.
const LEFT_OUT: &str = "…";

/// Returns true if a page shows the output of a command, but for what varies and lines left out.
pub(super) fn shows(shown: &str, said: &str) -> bool {
    let (shown, said) = (without_what_varies(shown), without_what_varies(said));
    let (shown, said): (Vec<&str>, Vec<&str>) = (shown.lines().collect(), said.lines().collect());
    let parts: Vec<&[&str]> = shown.split(|line| *line == LEFT_OUT).collect();
    let [first, between @ .., last] = &parts[..] else { return shown == said };
    let Some(mut rest) = said.strip_prefix(*first).and_then(|rest| rest.strip_suffix(*last)) else {
        return false;
    };
    for part in between.iter().filter(|part| !part.is_empty()) {
        let Some(at) = rest.windows(part.len()).position(|lines| lines == *part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

pub(super) fn without_what_varies(text: &str) -> String {
    let mut text = text.trim_end().to_owned() + "\n";
    for (pattern, name) in VARIES.iter() {
        text = pattern.replace_all(&text, *name).into_owned();
    }
    text.trim_end().to_owned()
}

#[test]
fn a_process_with_a_short_number_is_none_other() {
    let line = |pid: &str| without_what_varies(&format!("  zookeeper       up         pid {pid}port 2181"));
    assert_eq!(line("20946    "), line("478      "));
    assert_ne!(line("20946    "), line("-        "));
}

#[test]
fn lines_are_left_out_where_the_page_says_so() {
    for (shown, said, expected) in [
        ("a\nb\n", "a\nb\n", true),
        ("a\nb\n", "a\nb\nc\n", false),
        ("a\n…\n", "a\nb\nc\n", true),
        ("…\nc\n", "a\nb\nc\n", true),
        ("…\nb\n…\n", "a\nb\nc\n", true),
        ("a\n…\nc\n…\ne\n", "a\nb\nc\nd\ne\n", true),
        ("a\n…\nd\n…\nc\n…\n", "a\nb\nc\nd\n", false),
        ("a\n…\na\n", "a\n", false),
        ("b\n…\n", "a\nb\n", false),
        ("a\n…\n", "a\n", true),
        ("…\n", "", true),
    ] {
        assert_eq!(shows(shown, said), expected, "{shown:?} {said:?}");
    }
}
