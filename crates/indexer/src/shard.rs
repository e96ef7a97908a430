//! The part of the documents for one of several workers.
//!
//! A hash of the id decides, not the position of a record: a document that comes twice comes to the
//! same worker, which detects the repetition. Workers may even list the files in different orders.

use std::fmt;
use std::str::FromStr;

/// One of several equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// Number of the part, from 0.
    n: u32,
    n_shards: u32,
}

impl Shard {
    /// The number of all parts.
    pub(crate) fn n_shards(self) -> u32 {
        self.n_shards
    }

    /// Returns true if the shard has `part`, of parts counted from 0.
    pub(crate) fn takes(self, part: u32) -> bool {
        part % self.n_shards == self.n
    }

    /// Returns true if the shard has the document of this id, or the record of another name.
    pub(crate) fn holds(self, name: &str) -> bool {
        crc32fast::hash(name.as_bytes()) % self.n_shards == self.n
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(shard: &str) -> Result<Self, String> {
        let numbers = shard.split_once('/').and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((n, n_shards)) if n < n_shards => Ok(Self { n, n_shards }),
            _ => Err("write N/OF, the first one of three being 0/3 and the last one 2/3".to_owned()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.n, self.n_shards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_in_one_shard_and_they_are_even() {
        let shards: Vec<Shard> = (0..3).map(|n| format!("{n}/3").parse().unwrap()).collect();
        let mut counts = [0; 3];
        for id in 0..3000 {
            let holds = shards.iter().map(|shard| shard.holds(&format!("crawl/{id}")));
            let holders: Vec<usize> = holds.enumerate().filter(|(_, holds)| *holds).map(|(n, _)| n).collect();
            assert_eq!(holders.len(), 1, "{id}");
            counts[holders[0]] += 1;
        }
        assert!(counts.iter().all(|&n| (900..1100).contains(&n)), "{counts:?}");
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        for shard in ["", "1", "3/3", "-1/3", "1/0", "a/b", "1/2/3", "0/"] {
            assert!(shard.parse::<Shard>().is_err(), "{shard}");
        }
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
    }
}
