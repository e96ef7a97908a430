//! Attributes of the new index: the requested ones, and otherwise those of the old index.

use anyhow::{Context, ensure};
use index::{Error, ErrorKind, Index, Metadata, Mode, OpenOptions, Profile, SketchKind};

/// The options of the new index.
pub(super) fn options(asked: OpenOptions, old: &Metadata) -> OpenOptions {
    let profile = asked.profile.unwrap_or(old.kind.profile());
    let needs_verifying = profile != Profile::Classic || asked.min_similarity.is_some();
    let verify = asked.verify.unwrap_or(old.min_similarity.is_some() || needs_verifying);
    let has_tables = profile != Profile::Minhash && old.kind.files_by_simhash();
    // An unknown name is refused when the index is made.
    let finds =
        |name: &String| name.parse::<SketchKind>().is_ok_and(|kind| kind.max_distance() >= old.max_distance);
    let keeps_distance = has_tables && asked.scheme.as_ref().is_none_or(finds);
    OpenOptions {
        scheme: asked.scheme.or_else(|| has_tables.then(|| old.kind.name().to_owned())),
        max_distance: asked.max_distance.or(Some(old.max_distance).filter(|_| keeps_distance)),
        profile: Some(profile),
        verify: Some(verify),
        min_similarity: asked.min_similarity.or(old.min_similarity.filter(|_| verify)),
        same_numbers: asked.same_numbers.or(Some(old.same_numbers).filter(|_| verify)),
        // The key of the documents' signatures.
        key: old.key.filter(|_| verify),
        retain: asked.retain.or(old.retain),
        recipe: old.recipe.clone(),
        ..asked
    }
}

/// The metadata of the new index. Refuses unnamed tables of the old index, which no flag can
/// request, and signatures of another key.
pub(super) fn metadata(options: &OpenOptions, old: &Metadata) -> anyhow::Result<Metadata> {
    let own = "the tables of the old index are its own; name others for the new one with --scheme";
    let new = options.new_metadata().with_context(|| match &options.scheme {
        Some(name) if name.parse::<SketchKind>().is_err() => own,
        _ => "there can be no such index",
    })?;
    check_key(&new, old)?;
    if new.kind.files_by_simhash() && new.kind.name() == old.kind.name() {
        let as_old = old.kind.clone().of_profile(new.kind.profile())?;
        ensure!(new.kind.has_tables_of(&as_old), own);
    }
    Ok(new)
}

/// Refuses signatures of another key: those of one index are not compared with the other's.
pub(super) fn check_key(new: &Metadata, old: &Metadata) -> anyhow::Result<()> {
    ensure!(
        old.min_similarity.is_none() || new.min_similarity.is_none() || new.key == old.key,
        "the signatures of the old index were made with another key or with none, and go with them; leave --keyed and \
         --key-file out, or fill a new index from the texts with indexer index"
    );
    Ok(())
}

/// Opens the new index; `None` if it does not exist. An existing one must have the requested
/// attributes and the recipe of the old one.
pub(super) fn existing(uri: &str, asked: OpenOptions, old: &Metadata) -> Result<Option<Index>, Error> {
    let options = OpenOptions { mode: Mode::MustExist, recipe: old.recipe.clone(), ..asked };
    match engine::open_index(uri, &options) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options requested by flags.
    fn asked(flags: &str) -> OpenOptions {
        let mut asked = OpenOptions::default();
        let words: Vec<&str> = flags.split_whitespace().collect();
        for flag in words.chunks(2) {
            let value = flag[1];
            match flag[0] {
                "--profile" => asked.profile = Some(value.parse().unwrap()),
                "--verify" => asked.verify = Some(value == "on"),
                "--scheme" => asked.scheme = Some(value.to_owned()),
                "--max-distance" => asked.max_distance = Some(value.parse().unwrap()),
                "--min-similarity" => {
                    asked.min_similarity = minhash::Similarity::new(value.parse().unwrap());
                }
                flag => panic!("{flag}"),
            }
        }
        asked
    }

    /// Profile, scheme, distance and least similarity of the index made from an old one with flags.
    fn made(old: &str, flags: &str) -> String {
        let old = asked(old).new_metadata().unwrap();
        match metadata(&options(asked(flags), &old), &old) {
            Ok(new) => format!(
                "{} {} {} {}",
                new.kind.profile(),
                new.kind.name(),
                new.max_distance.as_bits(),
                new.min_similarity.map_or("off".to_owned(), |similarity| similarity.get().to_string())
            ),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn what_is_not_asked_for_is_as_it_was() {
        let old = "--profile classic --verify off --scheme t11 --max-distance 2";
        for (old, flags, expected) in [
            (old, "", "classic t11 2 off"),
            (old, "--profile full", "full t11 2 0.8"),
            (old, "--verify on", "classic t11 2 0.8"),
            (old, "--min-similarity .9", "classic t11 2 0.9"),
            (old, "--profile minhash", "minhash none 0 0.8"),
            (old, "--scheme 5c2", "classic 5c2 2 off"),
            (old, "--max-distance 1", "classic t11 1 off"),
            ("--min-similarity .75", "", "full 5c2 3 0.75"),
            ("--min-similarity .75", "--profile classic", "classic 5c2 3 0.75"),
            ("--min-similarity .75", "--profile classic --verify off", "classic 5c2 3 off"),
            ("--profile minhash", "", "minhash none 0 0.8"),
            ("--profile minhash", "--profile full", "full 5c2 3 0.8"),
        ] {
            assert_eq!(made(old, flags), expected, "{old:?} {flags:?}");
        }
        assert!(made("", "--verify off").contains("cannot do without verifying"));
    }
}
