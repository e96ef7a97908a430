//! What the new index is like: as it was asked for, and otherwise as the old one.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use engine::cli::BuiltArgs;
use index::{Error, ErrorKind, Index, Metadata, Mode, OpenOptions, Profile, SketchKind};

/// The options of a new index.
pub(super) fn options(built: &BuiltArgs, old: &Metadata) -> OpenOptions {
    let asked = built.open_options(Mode::CreateIfMissing, BTreeMap::new(), BTreeMap::new());
    let profile = asked.profile.unwrap_or(old.kind.profile());
    let needs_verifying = profile != Profile::Classic || asked.min_similarity.is_some();
    let verify = asked.verify.unwrap_or(old.min_similarity.is_some() || needs_verifying);
    let has_tables = profile != Profile::Minhash && old.kind.files_by_simhash();
    let finds = |name: &String| {
        let kind: Option<SketchKind> = name.parse().ok();
        kind.is_some_and(|kind| kind.max_distance() >= old.max_distance)
    };
    let keeps_distance = has_tables && asked.scheme.as_ref().is_none_or(finds);
    OpenOptions {
        scheme: asked.scheme.or_else(|| has_tables.then(|| old.kind.name().to_owned())),
        max_distance: asked.max_distance.or(Some(old.max_distance).filter(|_| keeps_distance)),
        profile: Some(profile),
        verify: Some(verify),
        min_similarity: asked.min_similarity.or(old.min_similarity.filter(|_| verify)),
        retain: asked.retain.or(old.retain),
        recipe: old.recipe.clone(),
        ..asked
    }
}

/// What a new index says of itself. Tables that have no name are nothing that can be asked for.
pub(super) fn metadata(options: &OpenOptions, old: &Metadata) -> anyhow::Result<Metadata> {
    let own = "the tables of the old index are its own; name others for the new one with --scheme";
    let new = options.new_metadata().with_context(|| match &options.scheme {
        Some(name) if name.parse::<SketchKind>().is_err() => own,
        _ => "there can be no such index",
    })?;
    let is_same_name = new.kind.files_by_simhash() && new.kind.name() == old.kind.name();
    let as_old = old.kind.clone().of_profile(new.kind.profile())?;
    ensure!(!is_same_name || new.kind.files_like(&as_old), own);
    Ok(new)
}

/// The new index, where it is there already. It must be what was asked for, and of the old one's recipe.
pub(super) fn existing(uri: &str, built: &BuiltArgs, old: &Metadata) -> Result<Option<Index>, Error> {
    let options = built.open_options(Mode::MustExist, old.recipe.clone(), BTreeMap::new());
    match engine::open_index(uri, &options) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        built: BuiltArgs,
    }

    /// Profile, scheme, distance and least similarity of what is made of an index with flags.
    fn made(old: &str, flags: &str) -> String {
        let built = |flags: &str| Program::parse_from(format!("program {flags}").trim_end().split(' ')).built;
        let old = built(old).open_options(Mode::CreateIfMissing, BTreeMap::new(), BTreeMap::new());
        let old = old.new_metadata().unwrap();
        match metadata(&options(&built(flags), &old), &old) {
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
