//! How the values of flags are called, and what `--help` says of each. The types themselves know nothing of a command
//! line.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PathBufValueParser, PossibleValue, TypedValueParser};

use crate::clusters::Chains;
use crate::output::{ResultsFormat, Role};

/// The argument for an output: a path whose name was checked.
pub(super) fn path_for(role: Role) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| role.of(&path).map(|_| path))
}

impl ValueEnum for ResultsFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.suffix()).help(match self {
            Self::Jsonl => "JSON Lines: each item as it was read, with an id where it had none",
            Self::JsonlGz => "The same, packed with gzip",
            Self::JsonlZst => "The same, packed with zstd",
            Self::Parquet => {
                "Parquet with the columns id, source, time, text, and fields, all else that the item had, as JSON"
            }
        }))
    }
}

impl ValueEnum for Chains {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Report, Self::Split]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Report => PossibleValue::new("report").help(
                "It stays one, with \"chained\": true, and widest: its two nodes that are furthest apart",
            ),
            Self::Split => PossibleValue::new("split").help(
                "Each document that stays makes a cluster with those dropped for it, all within the distance of it; \
                 split_from is the group of the whole",
            ),
        })
    }
}
