//! The digest of an index: a few digits, equal for equal contents.

use sha2::{Digest, Sha256};

use super::Index;
use crate::{Cursor, Document, Result, Store};

impl Index {
    /// Reads everything, and returns the number of documents and 64 hexadecimal digits, equal for
    /// equal contents, whatever the store and the order of insertion.
    ///
    /// The digits are the SHA-256 of the sorted SHA-256s of all documents, each over the length of
    /// the id, the id, the fingerprint, the keys and the signature. Searches depend on these fields
    /// only, so sources and times are left out. Sorting digests and not ids bounds the memory at 32
    /// bytes a document. Contents that change meanwhile give a digest of neither state.
    ///
    /// # Errors
    /// Those of the store.
    pub fn digest(&self) -> Result<(u64, String)> {
        Self::digest_of(&*self.store)
    }

    /// The [`digest`](Self::digest) of a store.
    ///
    /// # Errors
    /// Those of the store.
    pub fn digest_of(store: &dyn Store) -> Result<(u64, String)> {
        let mut digests = Vec::new();
        let mut next = Some(Cursor::start());
        while let Some(after) = next {
            let page = store.scan(after, crate::MAX_BATCH)?;
            digests.extend(page.documents.iter().map(|stored| digest_of_document(&stored.document)));
            next = page.next;
        }
        digests.sort_unstable();
        let mut whole = Sha256::new();
        for digest in &digests {
            whole.update(digest);
        }
        let whole = whole.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((digests.len() as u64, whole))
    }
}

fn digest_of_document(document: &Document) -> [u8; 32] {
    let id = document.id.as_str();
    let mut hash = Sha256::new();
    hash.update((id.len() as u64).to_be_bytes());
    hash.update(id);
    hash.update(document.sketch.fingerprint().0.to_be_bytes());
    for key in document.sketch.keys() {
        hash.update([key.flag]);
        hash.update(key.segment.to_be_bytes());
    }
    if let Some(signature) = document.sketch.signature() {
        hash.update(signature.as_bytes());
    }
    hash.finalize().into()
}
