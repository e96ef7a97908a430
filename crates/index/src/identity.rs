//! The identity of an index, by which it differs from all others.

use std::fmt;

use crate::{Error, ErrorKind, Result};

/// Sixteen random bytes from the system.
///
/// # Errors
/// `Internal` where the system gives none.
pub(crate) fn random_bytes() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(ErrorKind::Internal, "the system gives no random numbers").caused_by(error)
    })?;
    Ok(bytes)
}

/// An identity, drawn when an index is made; no two indexes share one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity([u8; 16]);

impl Identity {
    /// Draws a new identity.
    ///
    /// # Errors
    /// `Internal` where the system gives no random numbers.
    pub(crate) fn draw() -> Result<Self> {
        random_bytes().map(Self)
    }

    /// The identity of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Reads an identity written by [`Display`](fmt::Display).
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        let number = u128::from_str_radix(digits, 16).ok()?;
        let identity = Self(number.to_be_bytes());
        (identity.to_string() == digits).then_some(identity)
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_differ_and_come_back() {
        let (a, b) = (Identity::draw().unwrap(), Identity::draw().unwrap());
        assert_ne!(a, b);
        assert_eq!(Identity::parse(&a.to_string()), Some(a));
        for text in ["", "0", "+0000000000000000000000000000000", "0123456789ABCDEF0123456789ABCDEF"] {
            assert_eq!(Identity::parse(text), None, "{text}");
        }
    }
}
