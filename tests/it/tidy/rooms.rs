//! The rooms of a crate, which are the files and folders right below its `src`, and the names of
//! rooms in other rooms.
//!
//! The reader follows paths that begin with `crate`, `self` or `super`, as rustfmt lays them out;
//! code compiled only for tests does not count. A path through a re-exported name counts as naming
//! the room that re-exports the name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The file at the top of a crate, as a room. It may name all others, and none may name it.
const ROOT: &str = "lib";

/// For each room, the rooms that it names, and the paths and files in which it does.
type Edges = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

pub(crate) struct Rooms {
    names: BTreeSet<String>,
    edges: Edges,
}

impl Rooms {
    /// Returns the rooms of the crate in a folder, which has a `src/lib.rs` or a `src/main.rs`.
    pub(crate) fn of(crate_dir: &Path) -> Self {
        let src = crate_dir.join("src");
        let root = ["lib.rs", "main.rs"].map(|name| src.join(name)).into_iter().find(|root| root.is_file());
        let root = root.unwrap();
        let mut sources = BTreeMap::new();
        read(&root, &mut sources);
        read_below(&src, &mut sources);
        // `main.rs` beside `lib.rs` is another crate.
        sources.retain(|path, _| *path == root || *path != src.join("main.rs"));
        let sources: Vec<_> = sources
            .into_iter()
            .map(|(path, source)| (path.strip_prefix(&src).unwrap().to_owned(), source))
            .collect();
        Self::within(&sources)
    }

    /// Returns the rooms of some files, by their paths below `src`.
    fn within(sources: &[(PathBuf, String)]) -> Self {
        let module_of = |path: &Path| -> Vec<String> {
            let parts = path.with_extension("");
            let parts = parts.iter().map(|part| part.to_str().unwrap().to_owned());
            parts.filter(|part| !["lib", "main", "mod"].contains(&part.as_str())).collect()
        };
        let modules: Vec<_> = sources.iter().map(|(path, _)| module_of(path)).collect();
        let names: BTreeSet<String> = modules.iter().filter_map(|module| module.first().cloned()).collect();
        // A name re-exported by the root belongs to its original room.
        let mut exported = BTreeMap::new();
        for ((_, source), module) in sources.iter().zip(&modules) {
            if module.is_empty() {
                for path in paths(source, &names) {
                    if let [room, .., name] = &resolved(&path, &[])[..] {
                        exported.insert(name.clone(), room.clone());
                    }
                }
            }
        }
        let room_of = |path: &[String]| match path.first() {
            Some(room) if names.contains(room) => room.clone(),
            Some(name) => exported.get(name).map_or(ROOT, String::as_str).to_owned(),
            None => ROOT.to_owned(),
        };
        let mut edges = Edges::new();
        for ((file, source), module) in sources.iter().zip(&modules) {
            let from = module.first().map_or(ROOT, String::as_str);
            let of_root = if module.is_empty() { names.clone() } else { BTreeSet::new() };
            for path in paths(source, &of_root) {
                let to = room_of(&resolved(&path, module));
                if to != from {
                    let seen = format!("{}: {}", file.display(), path.join("::"));
                    edges.entry(from.to_owned()).or_default().entry(to).or_default().insert(seen);
                }
            }
        }
        Self { names, edges }
    }

    /// Returns the number of rooms, without the root.
    pub(crate) fn n(&self) -> usize {
        self.names.len()
    }

    /// Returns the rooms that are reachable from themselves, each circle separately.
    pub(crate) fn circles(&self) -> Vec<BTreeSet<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.edges.keys().map(|room| (room.as_str(), self.reached(room))).collect();
        let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|reached| reached.contains(to));
        let circles: BTreeSet<BTreeSet<&str>> = reached
            .keys()
            .filter(|room| reaches(room, room))
            .map(|room| {
                reached.keys().copied().filter(|other| reaches(room, other) && reaches(other, room)).collect()
            })
            .collect();
        circles.into_iter().collect()
    }

    fn reached(&self, from: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut left = vec![from];
        while let Some(room) = left.pop() {
            for next in self.edges.get(room).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(next.as_str()) {
                    left.push(next);
                }
            }
        }
        reached
    }

    /// Returns the paths by which the rooms of a circle name each other.
    pub(crate) fn shown(&self, circle: &BTreeSet<&str>) -> String {
        let mut shown = String::new();
        for from in circle {
            for (to, seen) in self.edges.get(*from).into_iter().flatten() {
                if circle.contains(to.as_str()) {
                    let seen = seen.iter().cloned().collect::<Vec<_>>().join("\n    ");
                    writeln!(shown, "{from} names {to}\n    {seen}").unwrap();
                }
            }
        }
        shown
    }
}

/// Reads the Rust files below a folder, except files of tests.
fn read_below(folder: &Path, sources: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_below(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            read(&path, sources);
        }
    }
    let of_tests: Vec<PathBuf> = sources
        .iter()
        .flat_map(|(path, source)| {
            modules_of_tests(source).map(|module| folder_of_modules(path).join(module))
        })
        .collect();
    sources.retain(|path, _| !of_tests.iter().any(|tests| path.with_extension("").starts_with(tests)));
}

/// Returns the modules that a file declares for tests only.
fn modules_of_tests(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines().map(str::trim);
    let after_test = lines.clone().zip(lines.skip(1)).filter(|(line, _)| *line == "#[cfg(test)]");
    after_test.filter_map(|(_, line)| Some(line.strip_suffix(';')?.split_once("mod ")?.1))
}

/// Returns the folder of the modules that a file declares.
fn folder_of_modules(path: &Path) -> PathBuf {
    let is_root = path.ends_with("lib.rs") || path.ends_with("main.rs");
    path.with_extension("").ancestors().nth(is_root.into()).unwrap().to_owned()
}

fn read(path: &Path, sources: &mut BTreeMap<PathBuf, String>) {
    sources.insert(path.to_owned(), fs::read_to_string(path).unwrap());
}

/// Returns the paths in a source that begin with `crate`, `self`, `super`, or one of `rooms`.
fn paths(source: &str, rooms: &BTreeSet<String>) -> Vec<Vec<String>> {
    let source = without_tests(source);
    let mut begins = r"(?:^|[^:\w$])(?:crate|self|super".to_owned();
    for room in rooms {
        write!(begins, "|{room}").unwrap();
    }
    let begins = Regex::new(&format!("{begins})::")).unwrap();
    let mut paths = Vec::new();
    for found in begins.find_iter(&source) {
        let begun = found.start() + found.as_str().find(|c: char| c.is_alphanumeric()).unwrap();
        branches(&mut source.get(begun..).unwrap().chars().peekable(), &mut Vec::new(), &mut paths);
    }
    paths
}

/// Follows a path, or a tree of `use`, to each of its ends.
fn branches(
    source: &mut std::iter::Peekable<std::str::Chars<'_>>,
    path: &mut Vec<String>,
    paths: &mut Vec<Vec<String>>,
) {
    let n_before = path.len();
    loop {
        while source.next_if(|c| c.is_whitespace()).is_some() {}
        if source.next_if_eq(&'{').is_some() {
            while source.peek().is_some_and(|&c| c != '}') {
                branches(source, path, paths);
                // The name after `as`, and the comma before the next item.
                while source.next_if(|&c| c != ',' && c != '}').is_some() {}
                source.next_if_eq(&',');
                while source.next_if(|c| c.is_whitespace()).is_some() {}
            }
            source.next();
            break;
        }
        let mut name = String::new();
        while let Some(c) = source.next_if(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
        }
        if name.is_empty() {
            // The end of a list, of a path with `*`, or of one with types.
            if path.len() > n_before {
                paths.push(path.clone());
            }
            break;
        }
        path.push(name);
        let is_longer = source.next_if_eq(&':').is_some() && source.next_if_eq(&':').is_some();
        if !is_longer {
            paths.push(path.clone());
            break;
        }
    }
    path.truncate(n_before);
}

/// Returns a path of a module as a path from the root of the crate.
fn resolved(path: &[String], module: &[String]) -> Vec<String> {
    let mut whole = match path.first().map(String::as_str) {
        Some("self" | "super") => module.to_vec(),
        _ => Vec::new(),
    };
    for (n, part) in path.iter().enumerate() {
        match part.as_str() {
            "crate" | "self" if n == 0 => {}
            // After a brace, `self` is the path before the brace.
            "self" => {}
            "super" => drop(whole.pop()),
            part => whole.push(part.to_owned()),
        }
    }
    whole
}

/// Returns a source without comments and without code compiled only for tests.
fn without_tests(source: &str) -> String {
    let mut kept = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        if code != "#[cfg(test)]" {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let end = format!("{}}}", " ".repeat(line.len() - code.len()));
        let mut item = lines.by_ref().skip_while(|line| line.trim_start().starts_with("#["));
        let is_one_line = item.next().is_none_or(|line| line.ends_with(';') || line.ends_with('}'));
        if !is_one_line {
            lines.by_ref().find(|line| *line == end);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(sources: &[(&str, &str)]) -> String {
        let sources: Vec<_> =
            sources.iter().map(|(path, source)| (PathBuf::from(path), (*source).to_owned())).collect();
        let rooms = Rooms::within(&sources);
        let circles = rooms.circles();
        circles.iter().map(|circle| rooms.shown(circle)).collect()
    }

    #[test]
    fn circles_are_found_by_any_path() {
        let named =
            ["use crate::b::X;", "fn f() { crate::b::f() }", "use super::b;", "use crate::{c, b::{X, Y}};"];
        for named in named {
            let found = circles(&[("lib.rs", ""), ("a.rs", named), ("b.rs", "use crate::a;"), ("c.rs", "")]);
            assert!(found.contains("a names b") && found.contains("b names a"), "{named}: {found}");
        }
        for named in ["use super::super::b;", "use crate::b::c as d;", "body = crate::b::Body, x = 1"] {
            let found = circles(&[("a/deep.rs", named), ("a.rs", ""), ("b/c.rs", "use crate::a::deep;")]);
            assert!(found.contains("a/deep.rs: "), "{named}: {found}");
        }
        // Through a third, and through a name that the root re-exports.
        let found = circles(&[
            ("lib.rs", "mod a;\npub use self::c::Name;"),
            ("a.rs", "use crate::b;"),
            ("b.rs", "use crate::Name;"),
            ("c.rs", "use super::a::{self, X};"),
        ]);
        assert_eq!(found.matches(" names ").count(), 3, "{found}");
        // A room that names an item of the root itself.
        let found = circles(&[("lib.rs", "fn main() { a::f() }"), ("a.rs", "use crate::main;")]);
        assert!(found.contains("a names lib"), "{found}");
    }

    #[test]
    fn modules_of_tests_are_known_by_their_declarations() {
        let source = "mod a;\n#[cfg(test)]\nmod tests;\n    #[cfg(test)]\n    pub(super) mod oracle;\n#[cfg(test)]\nuse x;\n\
                      #[cfg(test)]\nmod inline {\n}\n";
        assert_eq!(modules_of_tests(source).collect::<Vec<_>>(), ["tests", "oracle"]);
        for (file, folder) in [("src/lib.rs", "src"), ("src/a.rs", "src/a"), ("src/a/b.rs", "src/a/b")] {
            assert_eq!(folder_of_modules(Path::new(file)), Path::new(folder));
        }
    }

    #[test]
    fn what_is_no_circle() {
        for named in [
            "// crate::b",
            "#[cfg(test)]\nmod tests {\n    use crate::b;\n}",
            "#[cfg(test)]\nuse crate::b;",
            "use super::c;",
            "use self::b::X;",
            "fn f() { other::crate_::b() }",
        ] {
            let found = circles(&[("a.rs", named), ("b.rs", "use crate::a;"), ("c.rs", "")]);
            assert_eq!(found, "", "{named}");
        }
    }
}
