//! A fingerprinter follows its recipe to the letter, or names the field that it cannot follow.

use pigeonhole_features::{Dictionaries, Digest, Fingerprinter, Recipe, RecipeError, Segmenter, Weights};

fn dictionaries() -> Dictionaries {
    Dictionaries {
        user_dictionary: Some("鸽巢原理 50\n".to_owned()),
        stop_words: Some("的\n".to_owned()),
        idf: Some("鸽子 7.5\n".to_owned()),
    }
}

fn error(recipe: Recipe, dictionaries: &Dictionaries) -> RecipeError {
    Fingerprinter::new(recipe, dictionaries).expect_err("the recipe must be refused")
}

#[test]
fn another_dictionary_is_refused() {
    let all = dictionaries();
    let recipe = Recipe::default().with_dictionaries(&all);
    assert!(Fingerprinter::new(recipe.clone(), &all).is_ok());
    type Part = fn(&mut Dictionaries) -> &mut Option<String>;
    let parts: [(&str, Part, Option<Digest>); 3] = [
        ("user-dictionary", |d| &mut d.user_dictionary, recipe.user_dictionary),
        ("stop-words", |d| &mut d.stop_words, recipe.stop_words),
        ("idf", |d| &mut d.idf, recipe.idf),
    ];
    for (name, part, digest) in parts {
        let digest = digest.unwrap();
        let mut other = all.clone();
        part(&mut other).as_mut().unwrap().push_str("巢 1\n");
        let given = Digest::of(part(&mut other).as_ref().unwrap().as_bytes());
        assert_eq!(
            error(recipe.clone(), &other),
            RecipeError::Mismatch { field: name, recipe: digest, given }
        );

        let mut missing = all.clone();
        *part(&mut missing) = None;
        match error(recipe.clone(), &missing) {
            RecipeError::NotGiven { field, recipe } => assert_eq!((field, recipe), (name, digest)),
            other => panic!("{other:?}"),
        }

        let mut fewer = recipe.clone();
        match name {
            "user-dictionary" => fewer.user_dictionary = None,
            "stop-words" => fewer.stop_words = None,
            _ => fewer.idf = None,
        }
        assert_eq!(error(fewer, &all), RecipeError::NotExpected { field: name });
    }
}

#[test]
fn a_dictionary_that_nothing_reads_is_refused() {
    for (segmenter, weights, field) in [
        (Segmenter::Words, Weights::TfIdf, "user-dictionary"),
        (Segmenter::Jieba { hmm: true }, Weights::Uniform, "idf"),
    ] {
        let recipe = Recipe { segmenter, weights, ..Recipe::default() }.with_dictionaries(&dictionaries());
        match error(recipe, &dictionaries()) {
            RecipeError::Unused { field: got, .. } => assert_eq!(got, field),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_bad_line_and_another_version_are_refused() {
    let bad = Dictionaries { idf: Some("鸽子 1\n巢\n".to_owned()), ..Dictionaries::default() };
    let error = error(Recipe::default().with_dictionaries(&bad), &bad);
    assert_eq!(
        error.to_string(),
        "bad `idf`: line 2: expected a term, a space or tab, and its idf, got \"巢\""
    );
    let later = Recipe { version: 3, ..Recipe::default() };
    assert_eq!(self::error(later, &Dictionaries::default()), RecipeError::Version(3));
}

#[test]
fn dictionaries_have_their_effect() {
    let all = Dictionaries {
        user_dictionary: Some("鴿巢原理\n".to_owned()),
        stop_words: Some("ＴＨＥ\n".to_owned()),
        idf: Some("鴿巢原理 2.5\nfree 0\nother 1\n".to_owned()),
    };
    let recipe = Recipe::default().with_dictionaries(&all);
    let analysis = Fingerprinter::new(recipe, &all).unwrap().analyze("the free 鸽巢原理, 鴿巢原理 unknown");
    let terms: Vec<_> =
        analysis.terms.iter().map(|t| (t.text.as_str(), t.count, t.idf, t.weight.0)).collect();
    // `the` is a stop word, `free` weighs nothing, and the median of 2.5, 0 and 1 is for the
    // unknown.
    assert_eq!(terms, [("鸽巢原理", 2, Some(2.5), 5120), ("unknown", 1, None, 1024)]);
}

/// A fingerprint of 0 does not stand for "no features"; it is a fingerprint like any other.
#[test]
fn one_word_has_the_fingerprint_of_its_hash() {
    let fingerprinter = Fingerprinter::new(Recipe::default(), &Dictionaries::default()).unwrap();
    let analysis = fingerprinter.analyze("鸽子");
    assert_eq!(analysis.fingerprint.map(|fp| fp.0), Some(analysis.terms[0].hash));
    fn shared_between_threads<T: Send + Sync>(_: &T) {}
    shared_between_threads(&fingerprinter);
}

/// Among equally heavy terms, a choice of the lowest hashes would make the top bits of every
/// fingerprint 0.
#[test]
fn the_choice_among_equally_heavy_terms_favours_no_bit() {
    let text: String = (0..20_000).map(|i| format!("w{i} ")).collect();
    for weights in [Weights::Uniform, Weights::TfIdf] {
        let recipe = Recipe { weights, ..Recipe::default() }.with_dictionaries(&Dictionaries::default());
        let terms = Fingerprinter::new(recipe, &Dictionaries::default()).unwrap().analyze(&text).terms;
        assert_eq!(terms.len(), 200);
        for bit in 0..64 {
            let ones = terms.iter().filter(|term| term.hash >> bit & 1 == 1).count();
            // 200 fair coins: mean 100, standard deviation 7.
            assert!((65..=135).contains(&ones), "{weights}: bit {bit} is set in {ones} of 200 terms");
        }
    }
}
