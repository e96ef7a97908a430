//! Fixed texts under fixed recipes have fixed fingerprints.
//!
//! The texts are article 1 of the Universal Declaration of Human Rights in many languages, and some
//! of our own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pigeonhole_features::shingles::TextSketcher;
use pigeonhole_features::{
    Dictionaries, Fingerprinter, NormalForm, RECIPE_VERSION, Recipe, Segmenter, Weights,
};
use serde_json::{Value, json};

const EXPLANATION: &str = "
Fingerprints that are stored somewhere were made by what the golden file says. If this change of theirs is wanted, raise
RECIPE_VERSION, so that no index ever holds both kinds, and write the file anew:
    PIGEONHOLE_WRITE_GOLDEN=1 cargo test -p pigeonhole-features --test golden
Files of older versions are never written.";

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(path(name)).expect("the golden file is there");
    serde_json::from_str(&text).expect("the golden file is JSON")
}

/// Returns the file of a version of the recipe. Files of older versions never change.
fn golden_name(version: u32) -> &'static str {
    if version == 1 { "fingerprints.json" } else { "fingerprints-2.json" }
}

fn recipes(version: u32) -> Vec<(&'static str, Recipe, Dictionaries)> {
    let none = Dictionaries::default;
    let default = || Recipe { version, ..Recipe::default() };
    let recipe = |segmenter, weights, top_terms| {
        Recipe { segmenter, weights, top_terms, ..default() }.with_dictionaries(&none())
    };
    let all = Dictionaries {
        user_dictionary: Some("鸽巢原理 50 n\n雲擼貓\n鏟屎官 n\n".to_owned()),
        stop_words: Some("的\n於\nTHE\nand\n和\n".to_owned()),
        idf: Some("鸽子 7.5\n權利\t3.25\nhuman 2\nfree 0\n".to_owned()),
    };
    let jieba = Segmenter::Jieba { hmm: true };
    let mut recipes = vec![
        ("default", default(), none()),
        ("traditional kept", Recipe { simplify: false, ..default() }, none()),
        ("seed 7, 10 terms", Recipe { seed: 7, top_terms: 10, ..default() }, none()),
        ("jieba-no-hmm levels", recipe(Segmenter::Jieba { hmm: false }, Weights::Levels, 0), none()),
        ("words uniform", recipe(Segmenter::Words, Weights::Uniform, 0), none()),
        ("chars:5 uniform", recipe(Segmenter::CharNgrams(5), Weights::Uniform, 0), none()),
        ("chars:3 tf-idf", recipe(Segmenter::CharNgrams(3), Weights::TfIdf, 64), none()),
        ("shingles:2 uniform", recipe(Segmenter::Shingles(2), Weights::Uniform, 100), none()),
        ("dictionaries", recipe(jieba, Weights::TfIdf, 200).with_dictionaries(&all), all.clone()),
        ("dictionaries levels", recipe(jieba, Weights::Levels, 20).with_dictionaries(&all), all),
    ];
    if version > 1 {
        recipes.push(("diacritics folded", Recipe { fold_diacritics: true, ..default() }, none()));
    }
    recipes
}

/// Returns the golden file as it would be written now.
fn now(version: u32) -> Value {
    let texts: BTreeMap<String, String> = serde_json::from_value(read("texts.json")).expect("texts by name");
    let recipes: BTreeMap<&str, Value> = recipes(version)
        .into_iter()
        .map(|(name, recipe, dictionaries)| {
            let fingerprinter =
                Fingerprinter::new(recipe.clone(), &dictionaries).expect("the digests are its own");
            let fingerprints: BTreeMap<&String, Option<String>> = texts
                .iter()
                .map(|(name, text)| (name, fingerprinter.fingerprint(text).map(|fp| fp.to_string())))
                .collect();
            let digest = recipe.digest().to_string();
            (name, json!({"recipe": recipe.fields(), "digest": digest, "fingerprints": fingerprints}))
        })
        .collect();
    json!({"version": version, "recipes": recipes})
}

#[test]
fn fingerprints_are_what_they_were() {
    for version in 1..=RECIPE_VERSION {
        check(version, &now(version));
    }
}

fn check(version: u32, now: &Value) {
    if version == RECIPE_VERSION && std::env::var_os("PIGEONHOLE_WRITE_GOLDEN").is_some() {
        let text = serde_json::to_string_pretty(now).expect("JSON can be written") + "\n";
        std::fs::write(path(golden_name(version)), text).expect("the golden file can be written");
        return;
    }
    let golden = read(golden_name(version));
    assert_eq!(
        golden["version"], now["version"],
        "the golden file is of another recipe version.{EXPLANATION}"
    );
    for (name, recipe) in golden["recipes"].as_object().expect("recipes by name") {
        assert_eq!(
            recipe["recipe"], now["recipes"][name]["recipe"],
            "the recipe `{name}` changed.{EXPLANATION}"
        );
        assert_eq!(
            recipe["digest"], now["recipes"][name]["digest"],
            "the digest of `{name}` changed.{EXPLANATION}"
        );
        for (text, fingerprint) in recipe["fingerprints"].as_object().expect("fingerprints by text") {
            let fingerprint_now = &now["recipes"][name]["fingerprints"][text];
            assert_eq!(fingerprint, fingerprint_now, "recipe `{name}`, text `{text}`{EXPLANATION}");
        }
    }
    assert_eq!(&golden, now, "a recipe or a text is not in the golden file.{EXPLANATION}");
}

/// The signatures of texts, of either version.
#[test]
fn signatures_are_what_they_were() {
    let texts: BTreeMap<String, String> = serde_json::from_value(read("texts.json")).expect("texts by name");
    let folded = NormalForm { fold_diacritics: true, ..NormalForm::default() };
    let now: String = [("1", NormalForm::FIRST), ("2", NormalForm::default()), ("2 folded", folded)]
        .into_iter()
        .flat_map(|(name, form)| {
            let mut sketcher = TextSketcher::new(form);
            texts
                .iter()
                .map(move |(text, content)| {
                    let signature = sketcher.signature(content);
                    let hex =
                        |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                    let signature =
                        signature.map_or("none".to_owned(), |signature| hex(signature.as_bytes()));
                    format!("{name} | {text} | {signature}\n")
                })
                .collect::<Vec<_>>()
        })
        .collect();
    if std::env::var_os("PIGEONHOLE_WRITE_GOLDEN").is_some() {
        std::fs::write(path("signatures.txt"), &now).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(path("signatures.txt")).expect("the golden file is there");
    for (golden, now) in golden.lines().zip(now.lines()) {
        assert_eq!(golden, now, "{EXPLANATION}");
    }
    assert_eq!(golden.lines().count(), now.lines().count());
}
