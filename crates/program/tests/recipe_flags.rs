//! The arguments for a recipe: the files read, the fields asked for, and the errors of a bad file.
#![expect(clippy::unwrap_used, reason = "what fails here is a failed test")]

use std::error::Error;
use std::io::Write;

use clap::{CommandFactory, Parser};
use features::{Recipe, Segmenter, Weights};
use program::flags::RecipeArgs;

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    recipe: RecipeArgs,
}

fn parse(args: &[&str]) -> RecipeArgs {
    Program::try_parse_from([&["program"], args].concat()).unwrap_or_else(|e| panic!("{e}")).recipe
}

fn file(content: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file
}

#[test]
fn the_definition_is_sound() {
    Program::command().debug_assert();
}

#[test]
fn without_arguments_there_is_the_default_and_nothing_is_asked_for() {
    let args = parse(&[]);
    let dictionaries = args.dictionaries().unwrap();
    assert_eq!(args.recipe(&dictionaries), Recipe::default());
    assert!(args.explicit_fields(&dictionaries).is_empty());
}

#[test]
fn only_what_was_given_is_asked_for() {
    let stop_words = file("的\n".as_bytes());
    let path = stop_words.path().to_str().unwrap();
    for (args, expected) in [
        (&["--segmenter", "chars:5"][..], &[("segmenter", "chars:5")][..]),
        (&["--fold", "diacritics"], &[("fold", "diacritics")]),
        (&["--fold", "none"], &[("fold", "none")]),
        (&["--weights=levels", "--seed=7"], &[("seed", "7"), ("weights", "levels")]),
        // A default that was asked for is asked for.
        (&["--top-terms", "200", "--simplify", "true"], &[("simplify", "true"), ("top-terms", "200")]),
    ] {
        let args = parse(args);
        let fields = args.explicit_fields(&args.dictionaries().unwrap());
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(fields, expected);
    }
    let args =
        parse(&["--stop-words", path, "--segmenter", "words", "--weights", "uniform", "--simplify", "false"]);
    let dictionaries = args.dictionaries().unwrap();
    let recipe = args.recipe(&dictionaries);
    assert_eq!(
        (recipe.segmenter, recipe.weights, recipe.simplify),
        (Segmenter::Words, Weights::Uniform, false)
    );
    assert_eq!((recipe.dictionary, recipe.idf), (None, None));
    let fields = args.explicit_fields(&dictionaries);
    assert_eq!(fields["stop-words"], recipe.stop_words.unwrap().to_string());
    assert_eq!(fields.len(), 4);
}

#[test]
fn a_bad_file_is_named_with_its_line() {
    for (flag, content, reason) in [
        ("--idf", &b"a 1\nb\n"[..], "line 2: expected a term, a space or tab, and its idf, got \"b\""),
        ("--idf", b"\n", "it is empty: it has no term"),
        ("--user-dict", b"a -1\n", "line 1: the frequency after the word must be a whole number below 2^32"),
        ("--stop-words", b"\xff\n", "stream did not contain valid UTF-8"),
    ] {
        let file = file(content);
        let path = file.path().to_str().unwrap();
        let error = parse(&[flag, path]).dictionaries().unwrap_err();
        assert!(error.to_string().contains(path), "{error}");
        assert!(error.source().unwrap().to_string().contains(reason), "{:?}", error.source());
    }
    let error = parse(&["--idf", "no such file"]).dictionaries().unwrap_err();
    assert_eq!(error.to_string(), "failed to read dictionary `no such file`");
}

#[test]
fn a_bad_value_is_refused_with_what_it_may_be() {
    for (args, part) in [
        (["--segmenter", "chars:0"], "`chars:N`"),
        (["--weights", "heavy"], "`levels`"),
        (["--seed", "4294967296"], "4294967296"),
        (["--simplify", "maybe"], "true, false"),
        (["--fold", "case"], "diacritics, none"),
    ] {
        let error = Program::try_parse_from(["program"].iter().chain(&args)).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
}
