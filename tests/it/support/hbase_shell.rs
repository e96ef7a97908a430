//! A shell of HBase that stays: most of what a shell costs is its start.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::Run;

/// Runs the rest of the command line with its own input at descriptor 5: the start script gives a
/// shell no input.
const INPUT_ASIDE: &str = r#"exec "$@" 5<&0"#;

/// The script of the shell: for each line of input, runs the script that it names with its
/// variables, and prints a line with the outcome. Each script finds the environment of the first,
/// and no local variables. Its end is that of the input, even if a script still runs.
const ANSWER: &str = r#"
require 'json'
require 'stringio'
def answer(script, variables)
  environment = ENV.to_h
  $stdout, $stderr = StringIO.new, StringIO.new
  code = 0
  begin
    ENV.update(variables)
    eval(File.read(script, encoding: 'UTF-8'), get_binding, script)
  rescue Exception => e
    code = 1
    # As the shell says it of a script that it is started with.
    puts "ERROR #{e.class}: #{e.is_a?(java.lang.Exception) ? e.get_message : e}"
    warn e.backtrace
  end
  said = [$stdout, $stderr].map { |file| file.string.force_encoding('UTF-8') }
  [code, *said]
ensure
  $stdout, $stderr = STDOUT, STDERR
  ENV.replace(environment)
end
scripts = Queue.new
Thread.new do
  input = java.io.FileInputStream.new('/proc/self/fd/5')
  lines = java.io.BufferedReader.new(java.io.InputStreamReader.new(input, 'UTF-8'))
  while (line = lines.readLine)
    scripts << line
  end
  java.lang.Runtime.getRuntime.halt(0)
end
loop { asked = JSON.parse(scripts.pop); STDOUT.puts JSON.generate(answer(*asked)); STDOUT.flush }
"#;

/// The longest that a script may take.
const SCRIPT_MAX: Duration = Duration::from_secs(600);

/// A running shell. It ends with its input.
pub(super) struct HbaseShell {
    child: Child,
    scripts: ChildStdin,
    answers: Receiver<String>,
}

impl HbaseShell {
    /// The file in its folder for what it says beside the answers.
    pub(super) const ERRORS: &str = "answer.err";

    /// Starts a shell by a command of the start script, with files of its own in `folder`.
    pub(super) fn start(start_script: &Command, folder: &Path) -> Self {
        let script = folder.join("answer.rb");
        fs::write(&script, ANSWER).expect("the data folder can be written");
        let errors = File::create(folder.join(Self::ERRORS)).expect("the data folder can be written");
        let mut command = Command::new("sh");
        command.args(["-c", INPUT_ASIDE, "sh"]).arg(start_script.get_program()).args(start_script.get_args());
        for (name, value) in start_script.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.arg("shell").arg(script).current_dir(super::root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().expect("sh runs");
        let scripts = child.stdin.take().expect("stdin is piped");
        let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (lines, answers) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| lines.send(line)));
        Self { child, scripts, answers }
    }

    /// Runs a script. An error is of the shell itself, which is gone then.
    pub(super) fn run(&mut self, script: &Path, variables: &[(&str, &str)]) -> Result<Run, String> {
        let variables: serde_json::Map<_, _> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let asked = json!([script, variables]);
        writeln!(self.scripts, "{asked}").map_err(|error| error.to_string())?;
        loop {
            let line = self.answers.recv_timeout(SCRIPT_MAX).map_err(|error| error.to_string())?;
            // Other lines are the JVM's.
            if let Ok((code, stdout, stderr)) = serde_json::from_str(&line) {
                return Ok(Run { code: Some(code), stdout, stderr });
            }
        }
    }
}

impl Drop for HbaseShell {
    fn drop(&mut self) {
        self.child.kill().unwrap_or(());
        drop(self.child.wait());
    }
}

/// A script that fails says so, and changes nothing for the next one; a shell that ended is
/// replaced.
#[test]
fn a_script_that_fails_ends_alone() {
    let Some(hbase) = super::hbase() else { return };
    let run = |name, script| hbase.shell_text(name, script);
    let failed = run("fails", "ENV['TABLE'] = 'left'\nlist\nleft = 1\ndisable 'nowhere'\nputs 'went on'\n");
    let said = failed.expect(1).stdout;
    assert!(said.contains("ERROR ArgumentError: Table nowhere does not exist."), "{said}");
    assert!(!said.contains("went on"), "{said}");
    assert!(run("no_ruby", "puts(\n").expect(1).stdout.contains("ERROR SyntaxError"));
    assert_eq!(run("next", "p ENV['TABLE'], defined?(left)\n").expect(0).stdout, "nil\nnil\n");
    let ends = || run("ends", "java.lang.Runtime.getRuntime.halt(3)\n");
    std::panic::catch_unwind(ends).expect_err("the shell is gone");
    assert_eq!(run("again", "puts 'é'\n").expect(0).stdout, "é\n");
}
