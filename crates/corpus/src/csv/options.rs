//! Options of tables of text.

use std::str::FromStr;

use encoding_rs::Encoding;
use serde::{Serialize, Serializer};

use super::dialect::Quote;

/// Form of tables of text, as far as each file does not tell its own.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TableOptions {
    /// Byte between the cells of a row.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_character")]
    pub delimiter: Option<u8>,
    /// Quoting of cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    /// Encoding of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<TextEncoding>,
}

fn as_character<S: Serializer>(delimiter: &Option<u8>, serializer: S) -> Result<S::Ok, S::Error> {
    delimiter.map(char::from).serialize(serializer)
}

/// Encoding of a text, by any of the names that browsers know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEncoding(pub(crate) &'static Encoding);

impl FromStr for TextEncoding {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Encoding::for_label_no_replacement(name.as_bytes())
            .map(Self)
            .ok_or("no such encoding is known; utf-8, gb18030, big5, shift_jis, windows-1252 and others are")
    }
}

impl Serialize for TextEncoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}
