//! Choice of the document that stays among near ones.

use std::fmt;
use std::str::FromStr;

use anyhow::ensure;
use corpus::{FieldPath, RankBy};
use engine::dedup::KnownIds;
use serde::{Serialize, Serializer};

use crate::numbers::Grouped;

/// An order of documents: of two near documents, the first one stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// In the order of the input.
    First,
    Longest,
    Newest,
    /// By the number in a field, the highest first.
    Best(FieldPath),
}

impl Keep {
    /// The ranking of documents; `None` for the order of the input.
    pub(crate) fn rank_by(&self, time_field: Option<&FieldPath>) -> anyhow::Result<Option<RankBy>> {
        ensure!(*self == Self::Newest || time_field.is_none(), "--time-field needs --keep newest");
        Ok(match self {
            Self::First => None,
            Self::Longest => Some(RankBy::Length),
            Self::Newest => Some(RankBy::Time(time_field.cloned())),
            Self::Best(field) => Some(RankBy::Number(field.clone())),
        })
    }
}

/// Rows of the printed report about the policies; no row for a default one.
pub(crate) struct Rows<'a> {
    pub(crate) keep: &'a Keep,
    pub(crate) n_unranked: Option<u64>,
    pub(crate) known_ids: KnownIds,
}

impl fmt::Display for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self.keep != Keep::First {
            write!(f, "keep          {:>12}", self.keep.to_string())?;
            if let Some(n) = self.n_unranked.filter(|&n| n > 0) {
                let what = if *self.keep == Keep::Newest { "time" } else { "number" };
                write!(f, "  ({} without a {what} come last)", Grouped(n))?;
            }
            writeln!(f)?;
        }
        if self.known_ids != KnownIds::default() {
            writeln!(f, "known ids     {:>12}", self.known_ids)?;
        }
        Ok(())
    }
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(policy: &str) -> Result<Self, String> {
        match (policy, policy.strip_prefix("best:")) {
            ("first", _) => Ok(Self::First),
            ("longest", _) => Ok(Self::Longest),
            ("newest", _) => Ok(Self::Newest),
            (_, Some(field)) if !field.is_empty() => {
                field.parse().map(Self::Best).map_err(|never| match never {})
            }
            _ => Err("write first, longest, newest or best:FIELD, as in best:quality".to_owned()),
        }
    }
}

/// Serializes the value of the flag.
impl Serialize for Keep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Writes the value of the flag.
impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("first"),
            Self::Longest => f.write_str("longest"),
            Self::Newest => f.write_str("newest"),
            Self::Best(field) => write!(f, "best:{}", field.given()),
        }
    }
}
