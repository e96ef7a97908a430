//! Passes each document once, even if it is replaced during the scan.
//!
//! A store with numbered writes is scanned in the order of their numbers, so a replaced document
//! comes again at the end. Only there, earlier documents have to be known.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use index::{DocumentId, Page, Result, WriteMark};

/// The documents passed so far.
///
/// Memory: 16 bytes for each, if the store numbers its writes.
pub(super) struct Once {
    /// The last write before the first page; `None` for a store without numbered writes, whose scan
    /// passes each document once.
    begun: Option<u64>,
    /// Hashes of the ids of documents written up to `begun`; sorted once later writes come.
    before: Vec<IdHash>,
    is_sorted: bool,
    later: HashSet<IdHash>,
}

/// Long enough to exclude equal hashes by chance.
type IdHash = [u64; 2];

impl Once {
    /// A filter for the scan of an index whose last write is `begun`.
    pub(super) fn new(begun: Option<WriteMark>) -> Self {
        let begun = begun.map(|begun| begun.number);
        Self { begun, before: Vec::new(), is_sorted: false, later: HashSet::new() }
    }

    /// Removes documents from the next page that came before, perhaps in other versions.
    pub(super) fn retain_new(&mut self, page: &mut Page) -> Result<()> {
        let Some(begun) = self.begun else { return Ok(()) };
        let ends_before = match &page.next {
            Some(next) => next.number()? <= begun,
            None => false,
        };
        if ends_before {
            self.before.extend(page.documents.iter().map(|stored| hash(&stored.document.id)));
            return Ok(());
        }
        if !std::mem::replace(&mut self.is_sorted, true) {
            self.before.sort_unstable();
        }
        page.documents.retain(|stored| {
            let hash = hash(&stored.document.id);
            self.before.binary_search(&hash).is_err() && self.later.insert(hash)
        });
        Ok(())
    }
}

fn hash(id: &DocumentId) -> IdHash {
    [0_u8, 1].map(|half| {
        let mut hasher = DefaultHasher::new();
        (half, id.as_str()).hash(&mut hasher);
        hasher.finish()
    })
}

#[cfg(test)]
mod tests {
    use index::{Cursor, OpenOptions};
    use simhash::Fingerprint;

    use super::*;

    /// A replaced document was exported twice, in both versions.
    #[test]
    fn a_document_that_is_replaced_meanwhile_comes_once() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("embedded:{}", folder.path().join("index").display());
        let index = engine::open_index(&url, &OpenOptions::default()).unwrap();
        let id = |n: u64| n.to_string().parse::<DocumentId>().unwrap();
        let insert = |numbers: std::ops::Range<u64>, bits: u64| {
            let documents: Vec<_> = numbers.map(|n| (id(n), Fingerprint(bits + (n << 32)))).collect();
            index.insert(&documents).unwrap();
        };
        insert(0..20, 0);
        let mut once = Once::new(index.last_write().unwrap());
        let (mut came, mut next, mut n_pages) = (Vec::new(), Some(Cursor::start()), 0);
        while let Some(after) = next {
            let mut page = index.scan(after, 5).unwrap();
            once.retain_new(&mut page).unwrap();
            came.extend(page.documents.into_iter().map(|stored| stored.document.id));
            next = page.next;
            n_pages += 1;
            // Replaces some documents before the cursor and some after, and inserts new ones,
            // repeatedly.
            match n_pages {
                2 => insert(5..15, 1),
                4 => insert(0..20, 2),
                6 => insert(18..22, 3),
                _ => {}
            }
        }
        came.sort();
        let mut expected: Vec<DocumentId> = (0..22).map(id).collect();
        expected.sort();
        assert_eq!(came, expected);
    }
}
