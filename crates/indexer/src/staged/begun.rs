//! Uploads that are begun, and neither completed nor aborted: aborted on a failure and on a signal,
//! and written down for the run that follows a killed one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use corpus::{Upload, Uploads};
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use crate::durable;
use crate::progress::complain;
use crate::stop::left_over;

/// The uploads that are begun, in the folder of the local files.
pub(super) const UPLOADS: &str = "uploads.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begun {
    pub(super) address: String,
    pub(super) id: String,
}

/// All uploads of a run that are begun.
pub(super) struct BegunUploads {
    client: Uploads,
    note: PathBuf,
    begun: Arc<Mutex<Vec<Begun>>>,
}

impl BegunUploads {
    pub(super) fn new(client: Uploads, folder: &Folder) -> Self {
        let begun: Arc<Mutex<Vec<Begun>>> = Arc::default();
        let (of_signal, to_abort) = (client.clone(), Arc::clone(&begun));
        let temporary = folder.temporary().map(Path::to_owned);
        left_over::undone_on_a_signal(move || {
            for Begun { address, id } in &*to_abort.lock().unwrap_or_else(PoisonError::into_inner) {
                abort(&of_signal, address, id);
            }
            if let Some(folder) = &temporary {
                // The next run removes it otherwise.
                let _ = std::fs::remove_dir_all(folder);
            }
        });
        Self { client, note: folder.path().join(UPLOADS), begun }
    }

    /// Begins an upload.
    pub(super) fn begin(&self, address: &str) -> anyhow::Result<Upload> {
        left_over::without_a_signal(|| {
            let upload = self.client.begin(address)?;
            self.change(|begun| {
                begun.push(Begun { address: upload.address().to_owned(), id: upload.id().to_owned() });
            });
            Ok(upload)
        })
    }

    /// Makes the object of an upload visible.
    pub(super) fn complete(&self, upload: &Upload) -> anyhow::Result<()> {
        left_over::without_a_signal(|| {
            upload.complete()?;
            self.change(|begun| begun.retain(|begun| begun.id != upload.id()));
            Ok(())
        })
    }

    /// Aborts those of `uploads` that are not completed.
    pub(super) fn give_up(&self, uploads: &[Upload]) {
        left_over::without_a_signal(|| {
            for upload in uploads {
                let is_begun = |begun: &Begun| begun.id == upload.id();
                if self.begun.lock().unwrap_or_else(PoisonError::into_inner).iter().any(is_begun)
                    && abort(&self.client, upload.address(), upload.id())
                {
                    self.change(|begun| begun.retain(|begun| !is_begun(begun)));
                }
            }
        });
    }

    /// Aborts the uploads that a killed run of the same job has left.
    pub(super) fn give_up_left(&self) {
        if give_up_noted(&self.client, &self.note, |_| true) {
            self.change(|_| {});
        }
    }

    /// Changes the uploads, and writes them down.
    fn change(&self, change: impl FnOnce(&mut Vec<Begun>)) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut begun);
        // Without the note a killed run leaves uploads that only the rules of the bucket remove.
        if let Err(error) = durable::write_json(&self.note, &*begun) {
            complain(format_args!("failed to write {}: {error}", self.note.display()));
        }
    }
}

/// Aborts the uploads of a note whose addresses fit. Returns true if there were any.
pub(super) fn give_up_noted(client: &Uploads, note: &Path, fits: impl Fn(&str) -> bool) -> bool {
    let begun: Vec<Begun> = durable::read_json(note).ok().flatten().unwrap_or_default();
    for Begun { address, id } in begun.iter().filter(|begun| fits(&begun.address)) {
        if abort(client, address, id) {
            complain(format_args!("aborted an upload to {address}, which a killed run has left"));
        }
    }
    !begun.is_empty()
}

/// Aborts an upload, or names it.
fn abort(client: &Uploads, address: &str, id: &str) -> bool {
    let aborted = client.abort(address, id);
    if let Err(error) = &aborted {
        complain(format_args!(
            "an unfinished upload to {address} stays there, with the id {id}, until it is aborted or a rule of the \
             bucket removes it: {error:#}"
        ));
    }
    aborted.is_ok()
}
