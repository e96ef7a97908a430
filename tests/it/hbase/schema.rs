//! The scripts in `schema/`, run by HBase's shell on a real HBase: the tables that they make, their
//! refusals and their output. Most run in the shell that stays, and each of both scripts also as an
//! operator runs it.

mod create;
mod inspect;

use std::collections::BTreeMap;
use std::path::Path;

use index::{DocumentId, Index, OpenOptions, Profile};

use crate::support::{Hbase, Run, root};

/// Ruby definitions: `say` prints lines under a name; `ask` loads a script with some variables and
/// says its output; `tables` returns the names of all tables with a prefix.
const PRELUDE: &str = r#"
require 'stringio'
HC ||= Java::OrgApacheHadoopHbaseClient
TN ||= Java::OrgApacheHadoopHbase::TableName
$connection = TOPLEVEL_BINDING.receiver.instance_variable_get(:@hbase).instance_variable_get(:@connection)
def ask(name, script, variables)
  ENV.update(variables)
  before, $stdout = $stdout, StringIO.new
  failed = begin load("schema/#{script}.rb"); nil; rescue StandardError => e; e; end
  text, $stdout = $stdout.string, before
  variables.each_key { |variable| ENV.delete(variable) }
  trace = failed && failed.class.name !~ /Refused/ ? failed.backtrace.first(5) : []
  say(name, text, failed ? "ERROR #{failed.message}" : [], trace)
  text
end
def say(name, *lines)
  puts "@@ #{name}", lines, '@@'
end
def tables(prefix)
  $connection.getAdmin.listTableNames.map(&:getNameAsString).select { |name| name.start_with?(prefix) }.sort
end
def table(name)
  $connection.getTable(TN.valueOf(name))
end
"#;

/// Returns the output of a script, by name.
fn answers(hbase: &Hbase, name: &str, script: &str) -> BTreeMap<String, Vec<String>> {
    let printed = hbase.shell_text(name, &format!("{PRELUDE}{script}")).expect(0).stdout;
    let mut answers = BTreeMap::new();
    // Output outside of the marks, such as the time of a command, is the shell's own.
    let mut name: Option<&str> = None;
    for line in printed.lines().filter(|line| !line.is_empty()) {
        if line == "@@" {
            name = None;
        } else if let Some(begun) = line.strip_prefix("@@ ") {
            name = Some(begun);
            assert!(answers.insert(begun.to_owned(), Vec::new()).is_none(), "two answers are named {begun}");
        } else if let Some(lines) = name.and_then(|name| answers.get_mut(name)) {
            lines.push(line.to_owned());
        }
    }
    answers
}

#[track_caller]
fn check(answers: &BTreeMap<String, Vec<String>>, name: &str, expected: &[&str]) {
    assert_eq!(answers[name], expected, "{name}");
}

/// Checks that the answer is one line, an error with `part`.
#[track_caller]
fn check_refused(answers: &BTreeMap<String, Vec<String>>, name: &str, part: &str) {
    let lines = &answers[name];
    assert!(
        lines.len() == 1 && lines[0].starts_with("ERROR ") && lines[0].contains(part),
        "{name}: {lines:?}"
    );
}

/// Returns an index behind the gateway, with tables made by the script. An index of simhashes alone
/// verifies nothing.
fn open(hbase: &Hbase, table: &str, profile: Profile, scheme: &str, n_regions: u32) -> Index {
    let n_regions = n_regions.to_string();
    let variables =
        [("TABLE", table), ("PROFILE", profile.name()), ("SCHEME", scheme), ("REGIONS", &n_regions)];
    hbase.script(&root().join("schema/create.rb"), &variables).expect(0);
    let options = OpenOptions {
        profile: Some(profile),
        verify: Some(profile != Profile::Classic),
        // A profile without tables has no scheme.
        scheme: Some(scheme.to_owned()).filter(|_| profile != Profile::Minhash),
        recipe: [("segmenter", "jieba \"0.11\""), ("note", "é\u{1}")]
            .map(|(field, value)| (field.to_owned(), value.to_owned()))
            .into(),
        ..OpenOptions::default()
    };
    engine::open_index(&format!("hbase://{}/{table}", hbase.gateway), &options).unwrap()
}

fn id(text: &str) -> DocumentId {
    DocumentId::new(text).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A way to run a script: [`Hbase::script`], or [`Hbase::shell`] as an operator does.
type Way = fn(&Hbase, &Path, &[(&str, &str)]) -> Run;

/// Runs `inspect.rb` and returns the output of each command. All must succeed.
fn inspect(hbase: &Hbase, way: Way, table: &str, commands: &[String]) -> Vec<Vec<String>> {
    // A comment would not do: the shell must echo each command, because answers are numbered by the
    // echoes.
    let joined = format!("help\n{}", commands.join("\n"));
    let script = root().join("schema/inspect.rb");
    let printed = way(hbase, &script, &[("TABLE", table), ("COMMAND", &joined)]).expect(0).stdout;
    assert!(!printed.chars().any(|c| c.is_control() && c != '\n'), "{printed:?}");
    let mut answers: Vec<Vec<String>> = Vec::new();
    for line in printed.lines() {
        match line.strip_prefix("> ") {
            Some(_) => answers.push(Vec::new()),
            None if line.is_empty() => {}
            None => answers.last_mut().expect("a command comes first").push(line.to_owned()),
        }
    }
    assert_eq!(answers.len(), commands.len() + 1, "{printed}");
    answers.remove(0);
    answers
}
