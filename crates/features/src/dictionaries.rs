//! The user's dictionaries: their texts, and the readers of their lines.

use crate::document_frequencies::{self, Header, ReadError, Reader};
use crate::weight::idf;
use crate::{LineError, field};

/// The contents of the user's dictionary files; by default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionaries {
    /// Words for jieba: `word [frequency] [tag]` a line.
    pub user_dictionary: Option<String>,
    /// Terms that never count, one a line.
    pub stop_words: Option<String>,
    /// Inverse document frequencies: `term`, a space or tab, and the value; or a file of
    /// [document frequencies](crate::document_frequencies).
    pub idf: Option<String>,
}

/// Highest frequency of a user's word. jieba's own dictionary sums to 60 million.
const FREQUENCY_MAX: u64 = u32::MAX as u64;

/// One line of a user dictionary.
pub(crate) struct UserWord<'t> {
    pub(crate) word: &'t str,
    /// The frequency given; `None` lets jieba choose one that makes the word win.
    pub(crate) frequency: Option<u64>,
}

/// Returns the lines of a text without a byte order mark, blank ones left out, numbered from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())).filter(|(_, line)| !line.is_empty())
}

/// Reads a user dictionary.
pub(crate) fn user_words(text: &str) -> impl Iterator<Item = Result<UserWord<'_>, LineError>> {
    lines(text).map(|(number, line)| {
        let mut parts = line.split_whitespace();
        let word = parts.next().unwrap_or_default();
        let (second, third, more) = (parts.next(), parts.next(), parts.next());
        let is_tag = |part: &str| part.bytes().all(|b| b.is_ascii_alphabetic());
        let error = |reason| Err(LineError::new(number, reason, line));
        let frequency = match second {
            None => None,
            Some(tag) if is_tag(tag) && third.is_none() => None,
            Some(second) => match second.parse() {
                Ok(frequency) if frequency <= FREQUENCY_MAX => Some(frequency),
                _ => return error("the frequency after the word must be a whole number below 2^32"),
            },
        };
        if more.is_some() || third.is_some_and(|tag| !is_tag(tag)) {
            return error("expected `word [frequency] [tag]`");
        }
        Ok(UserWord { word, frequency })
    })
}

/// Reads a list of stop words.
pub(crate) fn stop_words(text: &str) -> impl Iterator<Item = &str> {
    lines(text).map(|(_, line)| line)
}

/// Hands every entry of an idf dictionary to `emit`: the term, its fixed-point idf, and true if the
/// term is in normal form.
pub(crate) fn for_each_idf(text: &str, mut emit: impl FnMut(&str, u32, bool)) -> Result<(), LineError> {
    if !document_frequencies::is_one(text) {
        return idf_entries(text).try_for_each(|entry| entry.map(|(term, idf)| emit(term, idf, false)));
    }
    let mut reader = Reader::new(text.as_bytes()).map_err(line_error)?;
    let n_documents = reader.header().n_documents;
    while let Some((term, df)) = reader.next_term().map_err(line_error)? {
        emit(term, idf::of_counts(n_documents, df), true);
    }
    Ok(())
}

fn line_error(error: ReadError) -> LineError {
    match error {
        ReadError::Damaged(error) => error,
        ReadError::Io(_) => unreachable!("reading from memory cannot fail"),
    }
}

/// Reads the lines `term value` of an idf dictionary as (term, fixed-point idf).
fn idf_entries(text: &str) -> impl Iterator<Item = Result<(&str, u32), LineError>> {
    // The built-in dictionary is sorted by value, and has a hundred terms a value.
    let mut last = ("", 0);
    lines(text).map(move |(number, line)| {
        let error = |reason| Err(LineError::new(number, reason, line));
        let Some((term, value)) = line.rsplit_once([' ', '\t']) else {
            return error("expected a term, a space or tab, and its idf");
        };
        if value != last.0 {
            match value.parse::<f64>() {
                Ok(number) if (0.0..=idf::IDF_MAX).contains(&number) => last = (value, idf::to_fixed(number)),
                _ => return error("the idf must be a number from 0 to 1000000"),
            }
        }
        Ok((term.trim_end(), last.1))
    })
}

impl Dictionaries {
    /// Reads every line of the user dictionary and of the idf, to find a bad one before it is
    /// needed.
    pub fn check(&self) -> Result<(), (&'static str, LineError)> {
        if let Some(text) = &self.user_dictionary {
            user_words(text).try_for_each(|line| line.map(drop)).map_err(|e| (field::USER_DICTIONARY, e))?;
        }
        if let Some(text) = &self.idf {
            let mut n = 0_usize;
            for_each_idf(text, |_, _, _| n += 1).map_err(|e| (field::IDF, e))?;
            if n == 0 {
                return Err((field::IDF, LineError::new(0, "it is empty: it has no term", "")));
            }
        }
        Ok(())
    }

    /// Returns the header of the idf file, if it is a file of document frequencies.
    pub(crate) fn idf_header(&self) -> Option<Header> {
        let text = self.idf.as_deref().filter(|text| document_frequencies::is_one(text))?;
        Reader::new(text.as_bytes()).ok().map(|reader| reader.header().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_lines_are_read() {
        let words: Vec<_> = user_words("\u{feff}鸽巢 5 n\r\n\n  原理\tn \n定理\n引理 7\n")
            .map(|line| line.map(|w| (w.word, w.frequency)).unwrap())
            .collect();
        assert_eq!(words, [("鸽巢", Some(5)), ("原理", None), ("定理", None), ("引理", Some(7))]);
        assert_eq!(stop_words("的\n\n of the \n").collect::<Vec<_>>(), ["的", "of the"]);
        let idf: Vec<_> = idf_entries("的 0.5\nof the\t 2\n原理 0.5").map(Result::unwrap).collect();
        assert_eq!(idf, [("的", 512), ("of the", 2048), ("原理", 512)]);
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line) in [
            ("鸽巢 5\n鸽巢 -5", 2),
            ("鸽巢 5 n n", 1),
            ("鸽巢 4294967296", 1),
            ("\n鸽巢 5 名", 2),
            ("鸽巢 n 5", 1),
        ] {
            let error = user_words(text).find_map(Result::err);
            assert_eq!(error.map(|e| e.line), Some(line), "{text:?}");
        }
        for (text, line) in
            [("鸽巢", 1), ("a 1\nb x", 2), ("a nan", 1), ("a -1", 1), ("a inf", 1), ("a 1e9", 1)]
        {
            let error = idf_entries(text).find_map(Result::err);
            assert_eq!(error.map(|e| e.line), Some(line), "{text:?}");
        }
        let empty = Dictionaries { idf: Some("\n".to_owned()), ..Dictionaries::default() };
        assert_eq!(empty.check().map_err(|(field, e)| (field, e.line)), Err(("idf", 0)));
    }
}
