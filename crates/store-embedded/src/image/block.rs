//! The bytes of a block: ascending entries of one section, and the stretch of words it answers for.

/// The section of fingerprints. All others are the flags of keys, which begin at 1.
pub(crate) const FINGERPRINTS: u8 = 0;

const KEY_BYTES: usize = 13;
const WORD_BYTES: usize = size_of::<u64>();
const CHECKSUM_BYTES: usize = size_of::<u32>();

/// The place of a block, which is its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) generation: u32,
    pub(crate) section: u8,
    /// The first word that the block answers for.
    pub(crate) from: u64,
}

impl Place {
    pub(crate) fn encode(self) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        key[..4].copy_from_slice(&self.generation.to_be_bytes());
        key[4] = self.section;
        key[5..].copy_from_slice(&self.from.to_be_bytes());
        key
    }

    /// `None` for bytes of another length.
    pub(crate) fn decode(key: &[u8]) -> Option<Self> {
        let (generation, rest) = key.split_first_chunk()?;
        let (&section, rest) = rest.split_first()?;
        let from = u64::from_be_bytes(rest.try_into().ok()?);
        Some(Self { generation: u32::from_be_bytes(*generation), section, from })
    }
}

/// A block with a checksum that fits.
pub(crate) struct Block<'a> {
    pub(crate) place: Place,
    /// The last word that the block answers for.
    pub(crate) until: u64,
    body: &'a [u8],
}

/// Encodes the value of a block.
pub(crate) fn encode(place: Place, until: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(WORD_BYTES + body.len() + CHECKSUM_BYTES);
    bytes.extend_from_slice(&until.to_be_bytes());
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(&checksum(place, &bytes).to_be_bytes());
    bytes
}

fn checksum(place: Place, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&place.encode());
    hasher.update(bytes);
    hasher.finalize()
}

/// The bytes of an entry: a word, and in the section of fingerprints 64 bits more.
pub(crate) fn entry_bytes(section: u8) -> usize {
    if section == FINGERPRINTS { 2 * WORD_BYTES } else { WORD_BYTES }
}

impl<'a> Block<'a> {
    /// `None` where the key or the checksum does not fit.
    pub(crate) fn decode(key: &[u8], value: &'a [u8]) -> Option<Self> {
        let place = Place::decode(key)?;
        let (sealed, sum) = value.split_last_chunk()?;
        if checksum(place, sealed) != u32::from_be_bytes(*sum) {
            return None;
        }
        let (until, body) = sealed.split_first_chunk()?;
        let until = u64::from_be_bytes(*until);
        let is_whole = until >= place.from && body.len().is_multiple_of(entry_bytes(place.section));
        is_whole.then_some(Self { place, until, body })
    }

    /// The words from this one on, ascending.
    pub(crate) fn words_from(&self, word: u64) -> impl Iterator<Item = u64> + use<'a> {
        let words = self.body.as_chunks::<WORD_BYTES>().0;
        let first = words.partition_point(|at| u64::from_be_bytes(*at) < word);
        words[first..].iter().map(|at| u64::from_be_bytes(*at))
    }

    /// The 64 bits filed under a word of the section of fingerprints.
    pub(crate) fn bits_of(&self, word: u64) -> Option<u64> {
        let entries = self.body.as_chunks::<{ 2 * WORD_BYTES }>().0;
        let half = |entry: &[u8; 2 * WORD_BYTES], at: usize| {
            entry[at..].first_chunk().map_or(0, |half| u64::from_be_bytes(*half))
        };
        let found = entries.binary_search_by_key(&word, |entry| half(entry, 0)).ok()?;
        Some(half(&entries[found], WORD_BYTES))
    }

    /// The entries of the section of fingerprints, in their order: words, each with its 64 bits.
    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let entries = self.body.as_chunks::<{ 2 * WORD_BYTES }>().0;
        entries.iter().filter_map(|entry| {
            let (word, bits) = entry.split_first_chunk()?;
            Some((u64::from_be_bytes(*word), u64::from_be_bytes(*bits.first_chunk()?)))
        })
    }

    /// The bytes of all entries.
    pub(crate) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// All words, in their order.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + use<'a> {
        let entries = self.body.chunks_exact(entry_bytes(self.place.section));
        entries.filter_map(|entry| entry.first_chunk().map(|word| u64::from_be_bytes(*word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_and_each_of_its_bits() {
        let place = Place { generation: 3, section: 64, from: 7 };
        let key = place.encode();
        assert_eq!(Place::decode(&key), Some(place));
        let body: Vec<u8> = [8_u64, 9, 1 << 40].iter().flat_map(|word| word.to_be_bytes()).collect();
        let value = encode(place, 1 << 41, &body);
        let block = Block::decode(&key, &value).unwrap();
        assert_eq!((block.place, block.until), (place, 1 << 41));
        assert_eq!(block.words_from(9).collect::<Vec<_>>(), [9, 1 << 40]);
        assert!(block.words_from(0).eq(block.words()));
        for bit in 0..8 * (key.len() + value.len()) {
            let (mut key, mut value) = (key, value.clone());
            match bit.checked_sub(8 * key.len()) {
                Some(bit) => value[bit / 8] ^= 1 << (bit % 8),
                None => key[bit / 8] ^= 1 << (bit % 8),
            }
            assert!(Block::decode(&key, &value).is_none(), "bit {bit}");
        }
        for len in 0..value.len() {
            assert!(Block::decode(&key, &value[..len]).is_none());
        }
    }

    #[test]
    fn fingerprints_of_numbers() {
        let place = Place { generation: 1, section: FINGERPRINTS, from: 0 };
        let body: Vec<u8> = [5_u64, 50, 6, 60].iter().flat_map(|word| word.to_be_bytes()).collect();
        let value = encode(place, u64::MAX, &body);
        let key = place.encode();
        let block = Block::decode(&key, &value).unwrap();
        assert_eq!([4, 5, 6, 50].map(|word| block.bits_of(word)), [None, Some(50), Some(60), None]);
        assert_eq!(block.words().collect::<Vec<_>>(), [5, 6]);
    }
}
