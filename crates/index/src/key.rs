//! The secret key of an index: signatures are made with the key, and cannot be forged without it.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::Result;
use crate::identity::random_bytes;

/// The secret key with which an index hashes the n-grams of its documents.
///
/// Without a key the hashes are the same in every index, and a text can be composed for a given
/// signature. Signatures made with different keys have nothing in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 16]);

impl Key {
    /// Draws a random key.
    ///
    /// # Errors
    /// `Internal` where the system gives no random numbers.
    pub fn draw() -> Result<Self> {
        random_bytes().map(Self)
    }

    /// Reads a key written by [`secret`](Self::secret).
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        let key = Self(u128::from_str_radix(digits, 16).ok()?.to_be_bytes());
        (key.secret() == digits).then_some(key)
    }

    /// The key itself as 32 hexadecimal digits, for the metadata and for a backup.
    #[must_use]
    pub fn secret(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }

    /// The two words with which hashes are made.
    #[must_use]
    pub fn words(&self) -> [u64; 2] {
        let key = u128::from_be_bytes(self.0);
        [(key >> 64) as u64, key as u64]
    }
}

/// Eight hexadecimal digits that tell two keys apart without giving them away.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = Sha256::new().chain_update(b"pigeonhole key").chain_update(self.0).finalize();
        digest[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// As displayed: a key has no place in a log.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_come_back_and_do_not_show() {
        let (a, b) = (Key::draw().unwrap(), Key::draw().unwrap());
        assert_ne!((a, a.to_string()), (b, b.to_string()));
        let secret = a.secret();
        assert_eq!((Key::parse(&secret), secret.len()), (Some(a), 32));
        assert!(!secret.contains(&a.to_string()) && !format!("{a:?}").contains(&secret));
        let [first, second] = a.words();
        assert_eq!(format!("{first:016x}{second:016x}"), secret);
        for digits in ["", "7", &secret[1..], &format!("+{}", &secret[1..]), &"G".repeat(32)] {
            assert_eq!(Key::parse(digits), None, "{digits}");
        }
    }
}
