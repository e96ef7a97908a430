use super::{ReadError, Reader, Writer};
use crate::{Dictionaries, Digest, Fingerprinter, Recipe, RecipeError, Segmenter};

/// A file of `terms`, counted by `recipe`.
fn file(recipe: &Recipe, n_documents: u64, terms: &[(&str, u64)]) -> String {
    let mut writer = Writer::new(Vec::new(), &recipe.counts_header(n_documents, 1)).unwrap();
    terms.iter().for_each(|(term, n)| writer.push(term, *n).unwrap());
    let (bytes, digest) = writer.finish().unwrap();
    assert_eq!(digest, Digest::of(&bytes));
    String::from_utf8(bytes).unwrap()
}

fn read(text: &[u8]) -> Result<Vec<(String, u64)>, ReadError> {
    let mut reader = Reader::new(text)?;
    let mut terms = Vec::new();
    while let Some((term, n)) = reader.next_term()? {
        terms.push((term.to_owned(), n));
    }
    Ok(terms)
}

const TERMS: [(&str, u64); 5] = [(" a b", 1), ("# 1", 2), ("# terms 5", 8), ("the", 10), ("鸽子", 3)];

#[test]
fn what_was_written_is_read() {
    let text = file(&Recipe::default(), 10, &TERMS);
    let terms = read(text.as_bytes()).unwrap();
    assert!(terms.iter().map(|(term, n)| (term.as_str(), *n)).eq(TERMS));
    // The drawing shows the whole file.
    let drawing = include_str!("../../../../schema/idf.md");
    assert!(drawing.contains(&format!("```\n{text}```")), "schema/idf.md should show\n{text}");
}

/// A file as programs before version 2 of the recipe wrote it.
#[test]
fn files_of_version_1_of_the_recipe_are_read() {
    let text = file(&Recipe { version: 1, ..Recipe::default() }, 10, &TERMS);
    assert!(!text.contains("# fold") && text.ends_with(OF_VERSION_1), "{text}");
    assert_eq!(read(text.as_bytes()).unwrap().len(), TERMS.len());
}

/// The end of the file in `schema/idf.md` at version 1.
const OF_VERSION_1: &str =
    "# terms 5 sha256 931b3092e805a745785ea701158e1a934d12c61f3c69f1b529bbdc13bd7c5971\n";

#[test]
fn every_changed_byte_and_every_missing_end_is_noticed() {
    let text = file(&Recipe::default(), 10, &TERMS);
    let dictionaries = |idf| Dictionaries { idf: Some(idf), ..Dictionaries::default() };
    assert_eq!(dictionaries(text.clone()).check(), Ok(()));
    for i in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[i] ^= 1;
        assert!(read(&bytes).is_err(), "byte {i}");
        // Even if the text no longer looks like such a file.
        if let Ok(changed) = String::from_utf8(bytes) {
            assert!(dictionaries(changed).check().is_err(), "byte {i}");
        }
        assert!(read(&text.as_bytes()[..i]).is_err(), "{i} bytes");
        if let Some(cut) = text.get(..i) {
            assert!(dictionaries(cut.to_owned()).check().is_err(), "{i} bytes");
        }
    }
    assert!(read(format!("{text}\n").as_bytes()).is_err());
}

#[test]
fn what_is_wrong_is_said() {
    let text = file(&Recipe::default(), 10, &TERMS);
    let cut = text.lines().map(|line| format!("{line}\n")).take(13).collect::<String>();
    for (text, reason) in [
        (cut, "cut short"),
        (text.replace("the 10", "the 9"), "line 16: the file was changed after it was written"),
        (text.replace("the 10", "the 11"), "line 14: a count that the header does not allow"),
        (text.replace("the 10", "THE 10"), "line 16: the file was changed"),
        (text.replace("the 10", "\u{1} 10"), "line 14: the terms are not in order"),
        (text.replace("frequencies 1", "frequencies 2"), "line 1: this program reads version 1 only"),
        (text.replace("# simplify", "# simple"), "line 5: the header is damaged"),
        (format!("{text}more 1\n"), "line 17: something follows"),
    ] {
        let error = read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn counts_weigh_as_the_terms_that_they_are_of() {
    // The terms begin and end with spaces, which a dictionary of `term idf` lines cannot say.
    let recipe = Recipe { segmenter: Segmenter::CharNgrams(3), ..Recipe::default() };
    let plain = recipe.clone().with_dictionaries(&Dictionaries::default());
    let counted = file(&plain, 20, &[(" bc", 20), ("ab ", 5), ("b b", 20)]);
    let dictionaries = Dictionaries { idf: Some(counted), ..Dictionaries::default() };
    let recipe = recipe.with_dictionaries(&dictionaries);
    let terms = Fingerprinter::new(recipe, &dictionaries).unwrap().analyze("ab bcd").terms;
    let mut idf: Vec<_> = terms.iter().map(|term| (term.text.as_str(), term.idf, term.weight.0)).collect();
    idf.sort_by(|a, b| a.0.cmp(b.0));
    // 1 + ln(20 / 5) = 2.386…, and 1 for a term of every document, which is the median, too.
    let expected = [
        (" bc", Some(1.0), 1024),
        ("ab ", Some(2444.0 / 1024.0), 2444),
        ("b b", Some(1.0), 1024),
        ("bcd", None, 1024),
    ];
    assert_eq!(idf, expected);
}

#[test]
fn counts_of_other_terms_are_refused() {
    let stop_words = Dictionaries { stop_words: Some("a\n".to_owned()), ..Dictionaries::default() };
    for (other, field) in [
        (Recipe { segmenter: Segmenter::CharNgrams(5), ..Recipe::default() }, "segmenter"),
        (Recipe { simplify: false, ..Recipe::default() }, "simplify"),
        (Recipe::default().with_dictionaries(&stop_words), "stop-words"),
    ] {
        let dictionaries = Dictionaries { idf: Some(file(&other, 10, &TERMS)), ..Dictionaries::default() };
        let recipe = Recipe::default().with_dictionaries(&dictionaries);
        match Fingerprinter::check(&recipe, &dictionaries) {
            Err(RecipeError::CountedOtherwise { field: named, counted, recipe: asked }) => {
                assert_eq!(named, field);
                assert_eq!((&counted, &asked), (&other.fields()[field], &recipe.fields()[field]));
            }
            result => panic!("{field}: {result:?}"),
        }
    }
}
