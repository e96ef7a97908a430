//! The texts of a corpus, over which its pairs are counted.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;

use index::{Features, Result, Text, TextPlace};

use crate::Spool;

/// The texts of documents by position, as a [`Join`](super::Join) reads them.
pub trait Texts {
    /// The text of a document, if at hand.
    ///
    /// # Errors
    /// A failed read.
    fn text(&self, document: u32) -> Result<Option<Text>>;

    /// A number that two documents share if their texts are equal byte by byte. No outsider can
    /// make other texts share one. `None` if the number is not known.
    fn digest(&self, document: u32) -> Option<u64>;
}

/// No texts: estimates decide.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTexts;

impl Texts for NoTexts {
    fn text(&self, _: u32) -> Result<Option<Text>> {
        Ok(None)
    }

    fn digest(&self, _: u32) -> Option<u64> {
        None
    }
}

/// The texts carried by features.
pub struct TextsInMemory<'a> {
    features: &'a [Features],
    digests: Vec<Option<u64>>,
}

impl<'a> TextsInMemory<'a> {
    /// The texts of a corpus.
    #[must_use]
    pub fn of(features: &'a [Features]) -> Self {
        let keys = RandomState::new();
        let digest = |features: &Features| features.text.as_ref().map(|text| keys.hash_one(&**text));
        Self { features, digests: features.iter().map(digest).collect() }
    }
}

impl Texts for TextsInMemory<'_> {
    fn text(&self, document: u32) -> Result<Option<Text>> {
        Ok(self.features.get(document as usize).and_then(|features| features.text.clone()))
    }

    fn digest(&self, document: u32) -> Option<u64> {
        self.digests.get(document as usize).copied().flatten()
    }
}

/// The texts of the documents of a run in their order, in a file that is gone when the run ends.
///
/// Memory: 20 bytes a document, and up to twice the bytes given for recently read blocks and texts.
pub struct RunTexts {
    spool: Spool,
    keys: RandomState,
    digests: Vec<Option<u64>>,
}

impl RunTexts {
    /// Bytes of recently read blocks beyond which there is hardly a gain: pairs are counted bucket
    /// by bucket, so a text is read several times.
    pub const CACHE_BYTES: usize = 128 << 20;

    /// Makes a file without documents in a folder, with `n_cached_bytes` for recently read blocks.
    ///
    /// # Errors
    /// Where no file can be made there.
    pub fn create(folder: &Path, n_cached_bytes: usize) -> io::Result<Self> {
        let spool = Spool::caching(folder, n_cached_bytes)?;
        Ok(Self { spool, keys: RandomState::new(), digests: Vec::new() })
    }

    /// Gives recently read blocks `n_cached_bytes` from now on.
    pub fn set_cache(&mut self, n_cached_bytes: usize) {
        self.spool.set_cache(n_cached_bytes);
    }

    /// Takes the text of the next document; `None` for a document without a text.
    ///
    /// # Errors
    /// A failed write.
    pub fn push(&mut self, text: Option<&Text>) -> Result<()> {
        if let Some(text) = text {
            self.spool.put(self.digests.len() as u64, text)?;
        }
        self.digests.push(text.map(|text| self.keys.hash_one(&**text)));
        Ok(())
    }

    /// The number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Returns true if there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }
}

impl Texts for RunTexts {
    fn text(&self, document: u32) -> Result<Option<Text>> {
        self.spool.get(document.into())
    }

    fn digest(&self, document: u32) -> Option<u64> {
        self.digests.get(document as usize).copied().flatten()
    }
}
