//! `pigeonhole verify` and `pigeonhole repair`: reports or mends faults of an index.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::Context;
use index::{Examined, Finding, FindingKind, Index};
use program::settings::TASK;

use crate::first;
use crate::progress::Progress;
use crate::shell::of_shell;
use crate::stored::StoredArgs;

/// Description of each kind of finding, for the help.
const KINDS: &str = "\
What can be found:
  unfiled       a document that not all of its buckets lead to, so searches may miss it
  ghost         an entry of the index that leads to no document; it costs room, no answer is wrong
  dead claim    an insertion whose process died; its document is there only if inserted again
  half removed  a removal whose process died; the document is gone, and something of it is left
  image         an image of the search tables that is damaged, and so not used; mended, it is dropped
  text lost     a document whose text is gone; verdicts about it fail, or in HBase are estimates.
                Mended, it is one that came without a text, and estimates decide about it; index it
                again to count
  ahead         a document inserted by a clock that was ahead of this machine's by more than a day
                (or --clock-ahead-max); an index with a retention keeps it for so much longer
  foreign       a document under the keys of another scheme, by a program that took the index for
                another one; searches may miss it. Remove it, and index it again
  damaged       bytes that are not what was written; calls that meet them fail, or end their
                process where LMDB meets them in its own pages

`repair --apply` mends all but ahead, foreign and damaged. What is ahead is right if this
machine's clock is behind. Else set the clocks right, take those documents out with `pigeonhole
remove --inserted-from TIME`, and index them again.

A document whose fingerprint is of another recipe, such as another seed, looks like any other, and
cannot be found out. No program of this version writes one: each call makes sure that the index is
the one that was opened (`pigeonhole info` shows its identity).

What is damaged no program can mend: what was there is not known any more. Restore the store
from a backup, or build the index anew from the texts; or, where you can do without what is
named, delete that with the store's own tools and index its document again.";

#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
{KINDS}

Exit status: 0 nothing was found, 1 something was, 2 could not run."))]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    examine: ExamineArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
{KINDS}

Exit status: 0 nothing is left to mend, 1 something is (without --apply all that is found), 2 could
not run."))]
pub(crate) struct RepairArgs {
    #[command(flatten)]
    examine: ExamineArgs,
    /// Mend what is found; without it nothing is changed
    #[arg(long, help_heading = TASK)]
    apply: bool,
}

#[derive(Debug, clap::Args)]
struct ExamineArgs {
    #[command(flatten)]
    stored: StoredArgs,
    /// The most findings of each kind that are listed; all are counted
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
    /// No progress on stderr
    #[arg(long, short)]
    quiet: bool,
}

/// Examines the index, and changes nothing.
pub(crate) fn verify(args: &VerifyArgs, out: &mut dyn Write) -> anyhow::Result<u8> {
    if let Some(told) = first::in_child(&args.examine.stored.store, out)? {
        return Ok(told);
    }
    let done = look(args, out);
    first::or_damaged(done, &args.examine.stored.store, out)
}

fn look(args: &VerifyArgs, out: &mut dyn Write) -> anyhow::Result<u8> {
    let index = args.examine.stored.open(BTreeMap::new())?;
    let mut findings = examine(&args.examine, &index, false, out)?;
    findings.print(|out, findings| {
        for kind in FindingKind::ALL {
            writeln!(out, "{kind:<12}{:>10}", findings.of(kind).n_found)?;
        }
        Ok(())
    })?;
    findings.advise(&args.examine.stored.store)?;
    findings.finish()
}

/// Examines the index, and mends it with `--apply`.
pub(crate) fn repair(args: &RepairArgs, out: &mut dyn Write) -> anyhow::Result<u8> {
    if let Some(told) = first::in_child(&args.examine.stored.store, out)? {
        return Ok(told);
    }
    let done = mend(args, out);
    first::or_damaged(done, &args.examine.stored.store, out)
}

fn mend(args: &RepairArgs, out: &mut dyn Write) -> anyhow::Result<u8> {
    let index = args.examine.stored.open(BTreeMap::new())?;
    let mut findings = examine(&args.examine, &index, args.apply, out)?;
    findings.print(|out, findings| {
        writeln!(out, "{:<12}{:>10}{:>10}{:>10}", "", "found", "mended", "left")?;
        for kind in FindingKind::ALL {
            let Counts { n_found, n_mended } = *findings.of(kind);
            writeln!(out, "{kind:<12}{n_found:>10}{n_mended:>10}{:>10}", n_found - n_mended)?;
        }
        Ok(())
    })?;
    if !args.apply {
        findings.print(|out, _| writeln!(out, "# this was a trial run, and nothing was changed"))?;
    }
    findings.advise(&args.examine.stored.store)?;
    findings.finish()
}

/// Counts of one kind of finding.
#[derive(Clone, Copy, Default)]
struct Counts {
    n_found: u64,
    n_mended: u64,
}

/// The findings so far, the first of each kind written out.
struct Findings<'a> {
    out: &'a mut dyn Write,
    /// True once the reader is gone, as in `pigeonhole verify … | head`. The examination still
    /// completes.
    is_unread: bool,
    counts: BTreeMap<FindingKind, Counts>,
    limit: u64,
    says_mended: bool,
}

fn examine<'a>(
    args: &ExamineArgs,
    index: &Index,
    mends: bool,
    out: &'a mut dyn Write,
) -> anyhow::Result<Findings<'a>> {
    let counts = FindingKind::ALL.map(|kind| (kind, Counts::default())).into();
    let mut findings = Findings { out, is_unread: false, counts, limit: args.limit, says_mended: mends };
    let mut progress = Progress::start(args.quiet);
    let mut n_items = 0;
    let mut written = Ok(());
    let done = index.examine(mends, &mut |examined| {
        match examined {
            Examined::Items(n) => n_items += n,
            Examined::Found(finding) if written.is_ok() => written = findings.take(&finding),
            Examined::Found(finding) => findings.count(&finding),
        }
        let (rate, n_found) = (progress.rate(n_items), findings.n_found());
        progress.show(format_args!("{n_items} items looked at, {rate}/s, {n_found} findings"));
    });
    written?;
    done.context(match mends {
        true => {
            "failed to look at everything; what was mended stays so, and the same command again does the rest"
        }
        false => "failed to look at everything",
    })?;
    findings.print(|out, findings| {
        for (kind, counts) in &findings.counts {
            if counts.n_found > findings.limit {
                writeln!(out, "{kind}\tand {} more", counts.n_found - findings.limit)?;
            }
        }
        writeln!(out, "{:<12}{n_items:>10}", "looked at")
    })?;
    Ok(findings)
}

impl Findings<'_> {
    fn of(&self, kind: FindingKind) -> &Counts {
        &self.counts[&kind]
    }

    fn n_found(&self) -> u64 {
        self.counts.values().map(|counts| counts.n_found).sum()
    }

    fn n_left(&self) -> u64 {
        self.counts.values().map(|counts| counts.n_found - counts.n_mended).sum()
    }

    fn count(&mut self, finding: &Finding) {
        let counts = self.counts.entry(finding.kind).or_default();
        counts.n_found += 1;
        counts.n_mended += u64::from(finding.is_mended);
    }

    /// Counts a finding, and writes it at once if it is among the first of its kind.
    fn take(&mut self, finding: &Finding) -> io::Result<()> {
        self.count(finding);
        if self.of(finding.kind).n_found > self.limit {
            return Ok(());
        }
        let Finding { kind, place, is_mended } = finding;
        self.print(|out, findings| match (findings.says_mended, is_mended) {
            (false, _) => writeln!(out, "{kind}\t{place}"),
            (true, true) => writeln!(out, "{kind}\t{place}\tmended"),
            (true, false) => writeln!(out, "{kind}\t{place}\tleft"),
        })
    }

    /// Writes until the reader is gone.
    fn print(
        &mut self,
        write: impl FnOnce(&mut dyn Write, &Findings<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_unread {
            return Ok(());
        }
        let mut text = Vec::new();
        write(&mut text, self)?;
        match self.out.write_all(&text).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.is_unread = true,
            written => written?,
        }
        Ok(())
    }

    /// Prints advice for the remaining findings.
    fn advise(&mut self, store: &str) -> io::Result<()> {
        let [n_ahead, n_foreign, n_damaged] =
            [FindingKind::Ahead, FindingKind::Foreign, FindingKind::Damaged]
                .map(|kind| self.of(kind).n_found);
        let store = of_shell(store);
        let n_lasting = n_foreign + n_damaged;
        let (is_damaged, is_mendable) = (n_lasting > 0, self.n_left() > n_lasting + n_ahead);
        self.print(|out, findings| {
            match findings.says_mended {
                _ if !is_mendable => {}
                true => writeln!(out, "# others were writing at the same places; run the same again")?,
                false => writeln!(out, "# to mend it: pigeonhole repair --store {store} --apply")?,
            }
            if n_ahead > 0 {
                writeln!(
                    out,
                    "# what is ahead was inserted by a clock that was; `pigeonhole verify --help` says what to do"
                )?;
            }
            if is_damaged {
                writeln!(
                    out,
                    "# what is foreign or damaged cannot be mended; `pigeonhole repair --help` says what to do"
                )?;
            }
            Ok(())
        })
    }

    /// The exit code: 1 if findings remain.
    fn finish(self) -> anyhow::Result<u8> {
        Ok(if self.n_left() == 0 { 0 } else { 1 })
    }
}
