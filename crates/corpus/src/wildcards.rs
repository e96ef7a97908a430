//! Rules of globs, local and remote.

use glob::MatchOptions;

/// Rules of a shell: `*` stops at a slash and skips hidden files.
pub(super) const GLOB: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

pub(super) const GLOB_CHARACTERS: [char; 3] = ['*', '?', '['];

/// Returns a glob as the library reads it: a shell takes `^` for `!` at the beginning of a class.
pub(super) fn for_library(glob: &str) -> String {
    let (mut made, mut rest) = (String::new(), glob);
    while let Some((before, class)) = rest.split_once('[') {
        let members = class.strip_prefix(['!', '^']).unwrap_or(class);
        // The first member may be a bracket itself.
        let Some((end, _)) = members.char_indices().skip(1).find(|(_, member)| *member == ']') else { break };
        made.push_str(before);
        made.push_str(if members.len() < class.len() { "[!" } else { "[" });
        made.push_str(&members[..=end]);
        rest = &members[end + 1..];
    }
    made + rest
}

/// Returns what to say of a name that is not there, where it has braces.
pub(super) fn on_braces(name: &str) -> &'static str {
    let choice = name.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    if choice.is_some_and(|(choice, _)| choice.contains(',') || choice.contains("..")) {
        " (braces are not expanded within quotes: leave the quotes away, or name each file)"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use glob::Pattern;

    use super::super::{InputOptions, Inputs};
    use super::*;

    #[test]
    fn files_are_found_as_by_a_shell() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
        [&a, &b].iter().for_each(|path| std::fs::write(path, "{}").unwrap());
        for (glob, found) in [("[^a].jsonl", &b), ("[^b]*", &a), ("[!a].jsonl", &b), ("[a^].jsonl", &a)] {
            let inputs = Inputs::open(&InputOptions::of([folder.path().join(glob)])).unwrap();
            assert!(inputs.paths().eq([found]), "{glob}");
        }
    }

    #[test]
    fn classes_exclude_as_in_a_shell() {
        for (glob, name, expected) in [
            ("[^a].jsonl", "a.jsonl", false),
            ("[^a].jsonl", "b.jsonl", true),
            ("[!a].jsonl", "a.jsonl", false),
            ("x^[a^].jsonl", "x^^.jsonl", true),
            ("[[^].jsonl", "^.jsonl", true),
            ("[^]a]*[^\u{e9}]", "]\u{e9}", false),
            ("[^]a]*[^\u{e9}]", "b]", true),
            ("[]^a]", "^", true),
            ("[^]", "^", true),
            ("*.jsonl", "a.jsonl", true),
        ] {
            let matches = Pattern::new(&for_library(glob)).unwrap().matches_with(name, GLOB);
            assert_eq!(matches, expected, "{glob} {name}");
        }
        for glob in ["[a", "[!", "[!a", "[]", "[!]"] {
            assert_eq!(for_library(glob), glob);
            Pattern::new(glob).unwrap_err();
        }
    }

    #[test]
    fn braces_are_spoken_of_where_they_are_a_choice() {
        for name in ["none/{a,b}.jsonl", "none/{1..9}/*"] {
            let error = Inputs::open(&InputOptions::of([name])).err().unwrap().to_string();
            assert!(error.contains("leave the quotes away"), "{error}");
        }
        for name in ["{a}.jsonl", "a,b}{", "{", "}a,b{", "a.jsonl"] {
            assert_eq!(on_braces(name), "");
        }
    }
}
