//! Names of the values of flags, with their help. The types themselves know nothing of a command
//! line.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{
    PathBufValueParser, PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser,
};
use engine::dedup::KnownIds;
use minhash::Similarity;
pub(crate) use program::flags::parse_similarity as similarity;

use crate::clusters::Chains;
use crate::output::{ResultsFormat, Role};

/// The parser of an output path: it checks the name.
pub(crate) fn path_for(role: Role) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| role.of(&path).map(|_| path))
}

/// The parser of `--contained`: a share of .5 or more.
pub(crate) fn contained() -> impl TypedValueParser<Value = Similarity> {
    StringValueParser::new().try_map(|text| {
        let share = similarity(&text)?;
        let least = Similarity::clamped(0.5);
        if share >= least { Ok(share) } else { Err("it is a share from .5 to 1, as in 0.9".to_owned()) }
    })
}

/// Units of lengths of files.
const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// The parser of a length of files.
pub(crate) fn bytes() -> impl TypedValueParser<Value = u64> {
    StringValueParser::new().try_map(|text| {
        let unit = UNITS.iter().find_map(|(name, n)| Some((text.strip_suffix(name)?, *n)));
        let (number, unit) = unit.unwrap_or((&text, 1));
        let n = number.trim_end().parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
        n.filter(|n| *n > 0).ok_or("write bytes, or a number with a unit, as in 500MB, 1GB or 2GiB")
    })
}

/// The parser of `--known-ids`.
pub(crate) fn known_ids() -> impl TypedValueParser<Value = KnownIds> {
    let possible = |(known_ids, name)| {
        PossibleValue::new(name).help(match known_ids {
            KnownIds::Keep => {
                "The earlier version keeps nothing out: its document is kept, and takes its place where the text is another \
                 one; where that is near to another id, the document is dropped and the earlier version stays"
            }
            KnownIds::Compare => {
                "The earlier version counts as any other document does: one that is the same or near to it is dropped, and \
                 any other takes its place, unless it is near to another id"
            }
            KnownIds::Replace => {
                "The earlier version neither counts nor stays: its document takes its place, or where that is near to another \
                 id, or has no features, the earlier version leaves the index as well"
            }
        })
    };
    PossibleValuesParser::new(KnownIds::ALL.map(possible)).try_map(|name| name.parse::<KnownIds>())
}

/// The parser of `--results-format` of pairs, whose columns its help names.
pub(crate) fn pairs_format() -> impl TypedValueParser<Value = ResultsFormat> {
    let possible = |format: ResultsFormat| {
        PossibleValue::new(format.suffix()).help(match format {
            ResultsFormat::Jsonl => "JSON Lines",
            ResultsFormat::JsonlGz => "The same, packed with gzip",
            ResultsFormat::JsonlZst => "The same, packed with zstd",
            ResultsFormat::Parquet => "Parquet: a and b are text, similarity a float, distance an integer",
        })
    };
    let of_name = |name: String| ResultsFormat::ALL.into_iter().find(|format| format.suffix() == name);
    PossibleValuesParser::new(ResultsFormat::ALL.map(possible))
        .try_map(move |name| of_name(name).ok_or("it is one of those that are listed"))
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
                "Parquet with the columns id, time, text, and fields, all else that the item had, as JSON"
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
                "Each document that stays makes a cluster with those dropped for it, all near to it; \
                 split_from is the group of the whole",
            ),
        })
    }
}
