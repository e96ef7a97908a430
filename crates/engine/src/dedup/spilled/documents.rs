//! The documents of a spilled run, by number.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use index::backend::search;
use index::{DocumentId, Error, Features, Result, Text};
use minhash::Signature;
use runs::{Packing, Place, Records};
use simhash::Fingerprint;

use super::Taken;

const HAS_FEATURES: u8 = 1;
const HAS_SIMHASH: u8 = 2;
const HAS_SIGNATURE: u8 = 4;

/// Documents in records. A record has flags, the bytes of the text, the simhash, the length and the
/// bytes of the signature where there are such, and the id. The text has a record of its own.
pub(super) struct Documents {
    features: Records,
    texts: Records,
}

/// A record in parts.
pub(super) struct Record<'a> {
    pub(super) n_text_bytes: u64,
    pub(super) has_features: bool,
    simhash: Option<u64>,
    signature: Option<&'a [u8]>,
    pub(super) id: &'a str,
}

/// The place of a reader that reads documents in the order of their numbers.
#[derive(Default)]
pub(super) struct Reading {
    features: Place,
    texts: Place,
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a record of a document is not what was written")
}

impl<'a> Record<'a> {
    fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (&flags, rest) = bytes.split_first()?;
        let (n_text_bytes, mut rest) = rest.split_first_chunk()?;
        let (mut simhash, mut signature) = (None, None);
        if flags & HAS_SIMHASH != 0 {
            let (bits, after) = rest.split_first_chunk()?;
            (simhash, rest) = (Some(u64::from_be_bytes(*bits)), after);
        }
        if flags & HAS_SIGNATURE != 0 {
            let (len, after) = rest.split_first_chunk()?;
            let (bytes, after) = after.split_at_checked(u32::from_be_bytes(*len) as usize)?;
            (signature, rest) = (Some(bytes), after);
        }
        let (has_features, id) = (flags & HAS_FEATURES != 0, str::from_utf8(rest).ok()?);
        Some(Self { n_text_bytes: u64::from_be_bytes(*n_text_bytes), has_features, simhash, signature, id })
    }

    /// The features without the text.
    fn features(&self) -> Option<Features> {
        let signature = self.signature.map(Signature::decode).transpose().ok()?;
        Some(Features { simhash: self.simhash.map(Fingerprint), signature, text: None })
    }

    fn id(&self) -> Option<DocumentId> {
        DocumentId::new(self.id).ok()
    }

    /// The id, and the features without the text if there are some.
    pub(super) fn taken(&self) -> Option<Taken> {
        let features = if self.has_features { Some(self.features()?) } else { None };
        Some(Taken { id: self.id()?, features })
    }
}

impl Documents {
    /// Makes files without documents, with `n_cached_bytes` for what was read recently.
    pub(super) fn create(folder: &Path, n_cached_bytes: usize) -> io::Result<Self> {
        Ok(Self {
            features: Records::create(folder, Packing::Plain, n_cached_bytes / 2)?,
            texts: Records::create(folder, Packing::Zstandard, n_cached_bytes / 2)?,
        })
    }

    /// Gives what was read recently `n_cached_bytes` from now on: most of it to the features, which
    /// are read for each pair, and a text where a pair may be near.
    pub(super) fn set_cache(&mut self, n_cached_bytes: usize) {
        let of_texts = n_cached_bytes / 4;
        self.features.set_cache(n_cached_bytes - of_texts);
        self.texts.set_cache(of_texts);
    }

    pub(super) fn len(&self) -> u32 {
        self.features.len()
    }

    pub(super) fn n_bytes(&self) -> u64 {
        self.features.n_bytes() + self.texts.n_bytes()
    }

    /// Takes the next document. Returns its number.
    pub(super) fn push(
        &mut self,
        id: &DocumentId,
        features: Option<&Features>,
        n_text_bytes: u64,
    ) -> io::Result<u32> {
        let text = features.and_then(|features| features.text.as_ref());
        match text {
            Some(text) => self.texts.push(&[&[text.is_reduced().into()], text.as_bytes()])?,
            None => self.texts.push(&[])?,
        };
        let simhash = features.and_then(|features| features.simhash).map(|simhash| simhash.0.to_be_bytes());
        let signature = features.and_then(|features| features.signature.as_ref()).map(Signature::as_bytes);
        let len = signature.map(|signature| (signature.len() as u32).to_be_bytes());
        let flags = [
            (features.is_some(), HAS_FEATURES),
            (simhash.is_some(), HAS_SIMHASH),
            (signature.is_some(), HAS_SIGNATURE),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum();
        self.features.push(&[
            &[flags],
            &n_text_bytes.to_be_bytes(),
            simhash.as_ref().map_or(&[], |bits| &bits[..]),
            len.as_ref().map_or(&[], |len| &len[..]),
            signature.unwrap_or(&[]),
            id.as_str().as_bytes(),
        ])
    }

    fn read<T>(&self, number: u32, take: impl FnOnce(&Record<'_>) -> Option<T>) -> io::Result<T> {
        let read = self.features.get(number, |bytes| Record::decode(bytes).as_ref().and_then(take))?;
        read.flatten().ok_or_else(damaged)
    }

    /// Hands the record of a number to `take`. Numbers ascend where `reading` is given.
    pub(super) fn record<T>(
        &self,
        reading: Option<&mut Reading>,
        number: u32,
        take: impl FnOnce(&Record<'_>) -> Option<T>,
    ) -> io::Result<T> {
        let Some(reading) = reading else { return self.read(number, take) };
        let take = |bytes: &[u8]| Record::decode(bytes).as_ref().and_then(take);
        self.features.get_in_order(&mut reading.features, number, take)?.flatten().ok_or_else(damaged)
    }

    /// The features of a number without the text. Numbers ascend where `reading` is given.
    pub(super) fn features_of(&self, reading: Option<&mut Reading>, number: u32) -> io::Result<Features> {
        self.record(reading, number, |record| record.features())
    }

    /// Has the documents of some numbers read side by side before they are asked for, and the texts
    /// of some. Numbers ascend.
    pub(super) fn foresee(&self, numbers: &[u32], of_texts: &[u32]) {
        self.features.foresee(numbers.iter().copied());
        self.texts.foresee(of_texts.iter().copied());
    }

    /// The text of a number. Numbers ascend where `reading` is given.
    pub(super) fn text_of(&self, reading: Option<&mut Reading>, number: u32) -> io::Result<Option<Text>> {
        let text = |bytes: &[u8]| {
            let Some((&form, bytes)) = bytes.split_first() else { return Ok(None) };
            let text = str::from_utf8(bytes).map_err(|_| damaged())?;
            Ok(Some(if form == 0 { text.into() } else { Text::reduced(text) }))
        };
        let text = match reading {
            Some(reading) => self.texts.get_in_order(&mut reading.texts, number, text)?,
            None => self.texts.get(number, text)?,
        };
        text.ok_or_else(damaged)?
    }
}

fn failed(error: io::Error) -> Error {
    Error::corrupt("failed to read a document of this run back from its file").caused_by(error)
}

fn number(number: u64) -> Result<u32> {
    u32::try_from(number).map_err(|_| failed(damaged()))
}

impl search::Documents for Documents {
    fn id(&self, of: u64) -> Result<DocumentId> {
        self.read(number(of)?, |record| record.id()).map_err(failed)
    }

    fn features(&self, of: u64) -> Result<Cow<'_, Features>> {
        self.features_of(None, number(of)?).map(Cow::Owned).map_err(failed)
    }

    fn text(&self, of: u64) -> Result<Option<Text>> {
        self.text_of(None, number(of)?).map_err(failed)
    }
}
