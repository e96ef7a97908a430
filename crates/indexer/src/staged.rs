//! Outputs in buckets: written to local files, and uploaded at the end of the run.
//!
//! All objects are sent first and made visible then, the kept documents last. A job with a journal
//! has the local files in the folder of the journal, where a rerun finds them.

mod begun;
mod folder;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use corpus::{Upload, Uploads, is_in_bucket};

use self::begun::BegunUploads;
use self::folder::Folder;
use crate::durable;
use crate::output::Numbered;
use crate::progress::complain;
use crate::stop::Stop;

/// The addresses and lengths of the objects of a job whose outputs are uploaded.
const UPLOADED: &str = "uploaded.json";

/// The local files of outputs in buckets, and the way to there.
pub(crate) struct Staged {
    folder: Folder,
    outputs: Vec<StagedOutput>,
    client: Uploads,
    begun: BegunUploads,
}

/// An output in a bucket: one object, or parts.
struct StagedOutput {
    /// As named by the user.
    address: String,
    /// The file, or the name of parts, in a folder of its own.
    local: PathBuf,
}

/// Where the local files go.
pub(crate) enum Place<'a> {
    Journal(&'a Path),
    /// A folder for temporary files.
    Temporary(&'a Path),
}

impl Staged {
    /// Puts local files into the place of `outputs` that are in buckets. The last output is made
    /// visible last. Returns `None` if all outputs are local.
    pub(crate) fn of(
        outputs: Vec<&mut PathBuf>,
        place: &Place<'_>,
        wait: Duration,
    ) -> anyhow::Result<Option<Self>> {
        let mut elsewhere: Vec<_> = outputs.into_iter().filter(|path| is_in_bucket(path)).collect();
        if elsewhere.is_empty() {
            return Ok(None);
        }
        let addresses: Vec<String> = elsewhere.iter().map(|path| path.display().to_string()).collect();
        let distinct: BTreeSet<_> = addresses.iter().collect();
        ensure!(distinct.len() == addresses.len(), "two outputs go to one object; name one for each");
        let folder = Folder::create(place, &addresses)?;
        let client = Uploads::new(wait)?;
        let begun = BegunUploads::new(client.clone(), &folder);
        let mut staged = Vec::new();
        for (n, (path, address)) in elsewhere.iter_mut().zip(addresses).enumerate() {
            let Some(name) = path.file_name().filter(|_| !address.ends_with('/')) else {
                bail!("{address} names no file in the bucket; give it as {address}NAME");
            };
            let below = folder.path().join(n.to_string());
            durable::create_folder(&below)
                .with_context(|| format!("failed to make the folder {}", below.display()))?;
            let local = below.join(name);
            path.clone_from(&local);
            staged.push(StagedOutput { address, local });
        }
        Ok(Some(Self { folder, outputs: staged, client, begun }))
    }

    /// Returns true if `path` is the local file of an output in a bucket.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.outputs.iter().any(|output| output.local == path)
    }

    /// Gives up what killed runs have left, and refuses outputs that are among the inputs, exist
    /// (unless they are to be replaced) or cannot be written. The inputs were found under the names
    /// `named`; a job that was begun `goes_on`.
    pub(crate) fn check<'a>(
        &self,
        inputs: impl Iterator<Item = &'a Path>,
        named: &[PathBuf],
        replaces: bool,
        goes_on: bool,
    ) -> anyhow::Result<()> {
        self.folder.remove_left(&self.client);
        self.begun.give_up_left();
        let inputs: BTreeSet<&str> = inputs.filter_map(Path::to_str).collect();
        for output in &self.outputs {
            let is_input = inputs.iter().any(|input| output.is(input));
            ensure!(!is_input, "{} is an input; write elsewhere", output.address);
            if let Some(folder) = named.iter().find(|folder| output.is_in(folder)) {
                let (output, folder) = (&output.address, folder.display());
                bail!(
                    "{output} lies in {folder}, all of which is read, by the next run too; write elsewhere"
                );
            }
        }
        if goes_on {
            return Ok(());
        }
        durable::remove(&self.folder.path().join(UPLOADED)).context("failed to remove an old note")?;
        for output in &self.outputs {
            if !replaces && let Some(there) = output.there(&self.client)?.first() {
                let what = if output.parts().is_some() { "all such parts" } else { "it" };
                bail!("{there} exists: give --force to replace {what}, or another name");
            }
            // A refusal after hours would cost most.
            let trial = self.begun.begin(&output.addresses(1)[0])?;
            self.begun.give_up(&[trial]);
        }
        Ok(())
    }

    /// Returns true if all outputs are uploaded. Fails if one is not as it was left.
    pub(crate) fn is_uploaded(&self) -> anyhow::Result<bool> {
        let note = self.folder.path().join(UPLOADED);
        let uploaded: Option<Vec<(String, u64)>> =
            durable::read_json(&note).with_context(|| format!("failed to read {}", note.display()))?;
        for (address, len) in uploaded.iter().flatten() {
            let what = match self.client.len_of(address)? {
                None => "is not there any more",
                Some(now) if now != *len => "is not as it was left",
                Some(_) => continue,
            };
            bail!("this job was done before, and {address} {what}; to do it once more remove its journal");
        }
        Ok(uploaded.is_some())
    }

    /// Uploads all files, which are whole. Without a journal they stay if that fails.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let uploaded = self.upload();
        if uploaded.is_err()
            && let Some(kept) = self.folder.keep()
        {
            complain(format_args!("the outputs are whole in {}, to be copied from there", kept.display()));
        }
        uploaded
    }

    fn upload(&self) -> anyhow::Result<()> {
        let mut sent: Vec<Vec<Upload>> = Vec::new();
        for output in &self.outputs {
            let files = output.files();
            let mut of_output = Vec::new();
            for (address, file) in output.addresses(files.len()).iter().zip(&files) {
                match self.send(address, file) {
                    Ok(upload) => of_output.push(upload),
                    Err(error) => {
                        self.begun.give_up(&sent.into_iter().flatten().chain(of_output).collect::<Vec<_>>());
                        return Err(error);
                    }
                }
            }
            sent.push(of_output);
        }
        let mut uploaded = Vec::new();
        let mut left: Vec<Upload> = Vec::new();
        let mut failed = None;
        for (output, uploads) in self.outputs.iter().zip(sent) {
            let completed = match &failed {
                None => self.complete(output, &uploads, &mut uploaded),
                Some(_) => Ok(()),
            };
            if completed.is_err() {
                failed = completed.err();
            }
            left.extend(uploads);
        }
        if let Some(error) = failed {
            self.begun.give_up(&left);
            return Err(error);
        }
        if self.folder.is_of_a_journal() {
            durable::write_json(&self.folder.path().join(UPLOADED), &uploaded)
                .context("failed to write to the journal that the outputs are uploaded")?;
            for file in self.outputs.iter().flat_map(StagedOutput::files) {
                durable::remove(&file).with_context(|| format!("failed to remove {}", file.display()))?;
            }
        }
        Ok(())
    }

    /// Sends a file, which is not visible yet.
    fn send(&self, address: &str, file: &Path) -> anyhow::Result<Upload> {
        let failed = || format!("failed to read {}", file.display());
        let file = File::open(file).with_context(failed)?;
        let mut upload = self.begun.begin(address)?;
        let may_go_on = || Ok(Stop::check_heard()?);
        if let Err(error) = upload.send(&file, may_go_on) {
            self.begun.give_up(&[upload]);
            return Err(error);
        }
        Ok(upload)
    }

    /// Makes an output visible, of parts the first one last: where it is, all are.
    fn complete(
        &self,
        output: &StagedOutput,
        uploads: &[Upload],
        uploaded: &mut Vec<(String, u64)>,
    ) -> anyhow::Result<()> {
        if output.parts().is_some() {
            let there = output.there(&self.client)?;
            let names: BTreeSet<&str> = uploads.iter().skip(1).map(Upload::address).collect();
            for replaced in there.iter().filter(|name| !names.contains(name.as_str())) {
                self.client.remove(replaced)?;
            }
        }
        for upload in uploads.iter().rev() {
            self.begun.complete(upload)?;
            uploaded.push((upload.address().to_owned(), upload.n_bytes()));
        }
        Ok(())
    }
}

impl StagedOutput {
    fn parts(&self) -> Option<Numbered> {
        Numbered::of(&self.local)
    }

    /// The address of the folder, with a slash at its end.
    fn folder(&self) -> &str {
        &self.address[..self.address.rfind('/').map_or(0, |slash| slash + 1)]
    }

    /// The addresses of the first `n` files.
    fn addresses(&self, n: usize) -> Vec<String> {
        let Some(names) = self.parts() else { return vec![self.address.clone(); n.min(1)] };
        let name = |n| names.path(n).file_name().unwrap_or_default().to_string_lossy().into_owned();
        (0..n as u64).map(|n| format!("{}{}", self.folder(), name(n))).collect()
    }

    /// The local files, in the order of the parts.
    fn files(&self) -> Vec<PathBuf> {
        match self.parts() {
            None => Some(self.local.clone()).filter(|path| fs::metadata(path).is_ok()).into_iter().collect(),
            Some(names) => names.there().into_iter().map(|(_, path)| path).collect(),
        }
    }

    /// The addresses of the objects that are there.
    fn there(&self, client: &Uploads) -> anyhow::Result<Vec<String>> {
        let Some(names) = self.parts() else {
            return Ok(client.len_of(&self.address)?.map(|_| self.address.clone()).into_iter().collect());
        };
        let mut there = client.names_in(self.folder())?;
        there.retain(|name| names.number(name).is_some());
        there.sort_unstable();
        Ok(there.into_iter().map(|name| format!("{}{name}", self.folder())).collect())
    }

    /// Returns true if `address` is that of the object or of a part.
    fn is(&self, address: &str) -> bool {
        let is_part = |name: &str| self.parts().is_some_and(|names| names.number(name).is_some());
        address == self.address || address.strip_prefix(self.folder()).is_some_and(is_part)
    }

    /// Returns true if the output lies in a folder of this name.
    fn is_in(&self, folder: &Path) -> bool {
        let below =
            folder.to_str().and_then(|folder| self.address.strip_prefix(folder.trim_end_matches('/')));
        is_in_bucket(folder) && below.is_some_and(|below| below.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_addresses() {
        let output = StagedOutput {
            address: "s3://b/out/part-{}.jsonl".to_owned(),
            local: "job/outputs/0/part-{}.jsonl".into(),
        };
        assert_eq!(output.addresses(2), ["s3://b/out/part-00000.jsonl", "s3://b/out/part-00001.jsonl"]);
        assert!(output.is("s3://b/out/part-00007.jsonl"));
        assert!(!output.is("s3://b/part-00007.jsonl") && !output.is("s3://b/out/part-7.jsonl"));
        let output = StagedOutput { address: "gs://b/kept.csv".to_owned(), local: "0/kept.csv".into() };
        assert_eq!((output.addresses(1), output.folder()), (vec!["gs://b/kept.csv".to_owned()], "gs://b/"));
        let lies_in =
            ["gs://b", "gs://b/", "gs://b/kept.cs", "s3://b"].map(|folder| output.is_in(Path::new(folder)));
        assert_eq!(lies_in, [true, true, false, false]);
        assert!(output.is("gs://b/kept.csv") && !output.is("gs://b/kept.csv.gz"));
    }
}
