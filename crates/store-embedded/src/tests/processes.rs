//! Several processes at one store: this test program, started again in the role of another.
#![expect(clippy::disallowed_methods, reason = "what is printed goes to the test that has started it")]

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, io, thread};

use super::*;

const ROLE: &str = "PIGEONHOLE_TEST_ROLE";
const STORE: &str = "PIGEONHOLE_TEST_STORE";
/// Marks the lines of a role among the output of the test program.
const MARK: &str = "role: ";

/// Another process, which talks in lines. It ends when its standard input does.
pub(super) struct Other {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    /// Starts a role with the store at `path`.
    pub(super) fn start(role: &str, path: &Path) -> Self {
        Self::spawn(Command::new(env::current_exe().unwrap()), role, path)
    }

    /// Starts a role that survives a full disk: by default the signal about it kills the process.
    pub(super) fn start_ignoring_full_disks(role: &str, path: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(env::current_exe().unwrap());
        Self::spawn(shell, role, path)
    }

    fn spawn(mut command: Command, role: &str, path: &Path) -> Self {
        command.args(["tests::processes::role", "--exact", "--ignored", "--nocapture"]);
        command.env(ROLE, role).env(STORE, path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { stdin: child.stdin.take(), child, lines }
    }

    pub(super) fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line of the process, `None` when it has ended.
    pub(super) fn hear(&mut self) -> Option<String> {
        self.lines.find_map(|line| line.ok()?.strip_prefix(MARK).map(str::to_owned))
    }

    /// Lets the process run to its end, and checks that it succeeded.
    pub(super) fn finish(mut self) {
        self.stdin = None;
        while self.hear().is_some() {}
        assert!(self.child.wait().unwrap().success());
    }

    /// Kills the process on the spot, and returns its remaining lines.
    pub(super) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let said = std::iter::from_fn(|| self.hear()).collect();
        assert!(!self.child.wait().unwrap().success());
        said
    }
}

pub(super) fn tell(line: &str) {
    // The test program writes the test's name first, without an end of line.
    writeln!(io::stdout(), "\n{MARK}{line}").unwrap();
    io::stdout().flush().unwrap();
}

/// The entry of another process: not a test, but started by [`Other`].
#[test]
#[ignore = "started by other tests, in a process of its own"]
fn role() {
    let (Ok(role), Ok(path)) = (env::var(ROLE), env::var(STORE)) else { return };
    let lines = io::stdin().lines().map(Result::unwrap);
    match role.as_str() {
        "retainer" => return retaining::inserts_at(path.as_ref(), lines),
        "teller" => return texts::calls(path.as_ref(), lines),
        "teller on" => return texts::calls_on(path.as_ref(), lines),
        _ => {}
    }
    let store = open(path.as_ref());
    match role.as_str() {
        "caller" => calls(&store, lines),
        "inserter" => inserts(&store, lines),
        "reader" => reads(&store, lines),
        "poster" => posts(&store, lines),
        "remover" => retaining::removes(&store, lines),
        "imager" => image::killed::images_on(&store, lines),
        "hurrier" => hurries(&store, lines),
        "filler" => full_disk::fills(&store, lines),
        other => panic!("no role {other}"),
    }
}

/// Makes one call after another, from the number in the first line on, and confirms each.
fn calls(store: &EmbeddedStore, mut lines: impl Iterator<Item = String>) {
    for n in lines.next().unwrap().parse::<u64>().unwrap().. {
        call(store, n).unwrap();
        tell(&n.to_string());
    }
}

/// Takes the locks of readers and of writers as often as each line says.
fn hurries(store: &EmbeddedStore, lines: impl Iterator<Item = String>) {
    let absent = [document(u64::MAX).id];
    for line in lines {
        tell("begun");
        for _ in 0..line.parse::<u64>().unwrap() {
            store.get(&absent).unwrap();
            store.remove(&absent).unwrap();
        }
        tell("done");
    }
}

/// Inserts the documents `from..to` of each line.
fn inserts(store: &EmbeddedStore, lines: impl Iterator<Item = String>) {
    for line in lines {
        let (from, to) = line.split_once("..").unwrap();
        store.insert(&documents(from.parse().unwrap()..to.parse().unwrap())).unwrap();
        tell("done");
    }
}

/// Holds a snapshot until its standard input ends.
fn reads(store: &EmbeddedStore, lines: impl Iterator<Item = String>) {
    let mut lines = Some(lines);
    let held = store.shared.environment.with(|opened| {
        let _txn = opened.read_txn()?;
        tell("reading");
        lines.take().into_iter().flatten().for_each(drop);
        Ok(())
    });
    held.unwrap();
}

/// The groups of near-duplicates, enough for posters to meet at the lock many times.
const N_GROUPS: u64 = 400;

/// Posts one document of each group, and returns the number of those kept. Names differ in at most
/// two bits, and so do the posts.
fn post(store: &EmbeddedStore, name: &str) -> usize {
    let kept = (0..N_GROUPS).filter(|&group| {
        let sketch = SketchKind::default().sketch(Fingerprint(spread(group) ^ u64::from(name.as_bytes()[0])));
        let id = DocumentId::new(format!("{name} {group}")).unwrap();
        store.insert_if_new(&[Document { id, sketch, source: None }], &within(3)).unwrap()
            == [Insertion::Inserted]
    });
    kept.count()
}

/// Posts under the name in each line.
fn posts(store: &EmbeddedStore, lines: impl Iterator<Item = String>) {
    store.prepare().unwrap();
    tell("ready");
    for name in lines {
        tell(&post(store, &name).to_string());
    }
}

#[test]
fn a_reader_sees_each_commit_of_another_process_at_once() {
    let directory = directory();
    let store = open(directory.path());
    assert_not_found(&store, &documents([0]));
    let mut writer = Other::start("inserter", directory.path());
    // The last ones make the map grow, under the feet of this process.
    for range in [0..1, 1..100, 100..101, 101..4_000, 4_000..8_000] {
        writer.say(&format!("{}..{}", range.start, range.end));
        assert_eq!(writer.hear().as_deref(), Some("done"));
        assert_eq!(store.status().unwrap().n_documents, Some(range.end));
        assert_found(&store, &documents([range.start, range.end - 1]));
    }
    // And the other way round, with a removal in between.
    store.remove(&[document(7).id]).unwrap();
    writer.say("7..9");
    assert_eq!(writer.hear().as_deref(), Some("done"));
    assert_found(&store, &documents([7, 8]));
    writer.finish();
}

/// "Two texts posted at the same moment: keep only one", by two processes and a thread of this one.
#[test]
fn near_duplicates_from_several_processes() {
    let directory = directory();
    let store = open(directory.path());
    store.prepare().unwrap();
    let mut posters = ["a", "b"].map(|name| (name, Other::start("poster", directory.path())));
    for (_, poster) in &mut posters {
        assert_eq!(poster.hear().as_deref(), Some("ready"));
    }
    for (name, poster) in &mut posters {
        poster.say(name);
    }
    let mut n_kept = post(&store, "c");
    for (_, mut poster) in posters {
        n_kept += poster.hear().unwrap().parse::<usize>().unwrap();
        poster.finish();
    }
    assert_eq!(n_kept as u64, N_GROUPS);
    assert_eq!(store.status().unwrap().n_documents, Some(N_GROUPS));
}

/// The snapshot of a killed reader pins no pages: the file stays level under a long series of
/// writes.
#[test]
fn a_reader_that_was_killed_does_not_make_the_file_grow() {
    let directory = directory();
    let store = open(directory.path());
    let all = documents(0..200);
    let write = |n_rounds: u32| {
        for _ in 0..n_rounds {
            store.insert(&all).unwrap();
            store.remove(&all.iter().map(|document| document.id.clone()).collect::<Vec<_>>()).unwrap();
        }
        store.status().unwrap().n_disk_bytes.unwrap()
    };
    let before = write(20);
    for _ in 0..3 {
        let mut reader = Other::start("reader", directory.path());
        assert_eq!(reader.hear().as_deref(), Some("reading"));
        reader.kill();
        let after = write(60);
        assert!(after < 2 * before, "{before} bytes became {after}");
    }
}

/// Replaced pages stay out of use while another process holds an older snapshot, and the status
/// counts them.
#[test]
fn a_reader_that_stands_still_shows_in_the_free_bytes() {
    let directory = directory();
    let store = open(directory.path());
    let all = documents(0..200);
    let ids: Vec<_> = all.iter().map(|document| document.id.clone()).collect();
    let free_after_writes = || {
        for _ in 0..20 {
            store.insert(&all).unwrap();
            store.remove(&ids).unwrap();
        }
        store.status().unwrap().n_free_bytes.unwrap()
    };
    let level = [free_after_writes(), free_after_writes(), free_after_writes()];
    assert!(level[2] < 2 * level[0], "{level:?}");
    let mut reader = Other::start("reader", directory.path());
    assert_eq!(reader.hear().as_deref(), Some("reading"));
    let pinned = [free_after_writes(), free_after_writes()];
    assert!(pinned[0] > 2 * level[2] && pinned[1] > pinned[0] + level[2], "{pinned:?} after {level:?}");
    reader.finish();
    // What was pinned is written again.
    let after = free_after_writes();
    assert!(after < pinned[1] + level[2], "{after} after {pinned:?}");
}

/// A killed writer leaves every acknowledged call, and all or nothing of the call under way.
#[test]
fn kill_9_at_any_moment() {
    const N_ROUNDS: u64 = 25;
    let directory = directory();
    let store = open(directory.path());
    // An open handle that searches, whose tables must survive every kill.
    store.prepare().unwrap();
    let undisturbed = MemoryStore::new();
    undisturbed.create(&metadata()).unwrap();
    let mut n_undisturbed = 0;
    let mut catch_up = |n_calls| {
        for n in n_undisturbed..n_calls {
            call(&undisturbed, n).unwrap();
        }
        n_undisturbed = n_calls;
        Index::digest_of(&undisturbed).unwrap()
    };
    let mut n_done = 0;
    for round in 0..N_ROUNDS {
        let mut writer = Other::start("caller", directory.path());
        writer.say(&n_done.to_string());
        for _ in 0..=round % 4 {
            n_done = writer.hear().unwrap().parse::<u64>().unwrap() + 1;
        }
        // At some moment of one of the next calls.
        for _ in 0..spread(round) % 200_000 {
            std::hint::spin_loop();
        }
        if let Some(last) = writer.kill().last() {
            n_done = last.parse::<u64>().unwrap() + 1;
        }
        // The same calls without a kill: the acknowledged ones, and one more.
        let acknowledged = catch_up(n_done);
        let found = Index::digest_of(&store).unwrap();
        let in_flight = catch_up(n_done + 1);
        assert!(
            found == acknowledged || found == in_flight,
            "round {round}: neither {n_done} calls nor one more"
        );
        assert_tables_agree(&store);
        // The interrupted call is made again, written or not.
        call(&store, n_done).unwrap();
        n_done += 1;
        assert_eq!(Index::digest_of(&store).unwrap(), in_flight, "round {round}");
    }
}

/// A process killed while it waits for its turn does not take the turns of others with it.
#[test]
fn kill_9_while_others_wait() {
    const N_ROUNDS: u64 = 400;
    const N_CALLS: u64 = 1_000;
    const PATIENCE: Duration = Duration::from_secs(20);
    let directory = directory();
    open(directory.path());
    let begin = |mut other: Other, n_calls: u64| {
        other.say(&n_calls.to_string());
        assert_eq!(other.hear().as_deref(), Some("begun"));
        other
    };
    let start = || Other::start("hurrier", directory.path());
    let mut others = [start(), start()];
    for round in 0..N_ROUNDS {
        let victim = begin(start(), u64::MAX);
        others = others.map(|other| begin(other, N_CALLS));
        for _ in 0..spread(round) % 1_000_000 {
            std::hint::spin_loop();
        }
        victim.kill();
        others = others.map(|mut other| {
            let (sender, receiver) = mpsc::channel();
            thread::spawn(move || {
                assert_eq!(other.hear().as_deref(), Some("done"));
                sender.send(other).unwrap();
            });
            let done = receiver.recv_timeout(PATIENCE);
            done.unwrap_or_else(|_| panic!("round {round}: it waits for somebody who is dead"))
        });
    }
    for other in others {
        other.finish();
    }
}

/// Asserts that every document is found by its sketch.
fn assert_tables_agree(store: &EmbeddedStore) {
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = store.scan(after, 1000).unwrap();
        let documents: Vec<_> = page.documents.into_iter().map(|stored| stored.document).collect();
        let sketches: Vec<_> = documents.iter().map(|document| document.sketch.clone()).collect();
        for (found, document) in store.near(&sketches, &within(0), usize::MAX).unwrap().iter().zip(&documents)
        {
            assert!(found.matches.iter().any(|found| found.id == document.id), "{document:?}");
        }
        next = page.next;
    }
}
