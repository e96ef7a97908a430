//! The databases of an environment: found by name, and created where there are none.

use std::time::Duration;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, RoTxn, RwTxn, WithTls};
use index::Error;

use super::METADATA_KEY;
use crate::errors::Failure;
use crate::turns::Turns;

/// The names of the databases, unlike those in environments of other programs.
const NAMES: [&str; 4] = ["pigeonhole.meta", "pigeonhole.log", "pigeonhole.ids", "pigeonhole.removals"];

/// The database of texts, added later than the others.
const TEXTS: &str = "pigeonhole.texts";

/// The database of the image's blocks, made by the first image.
const IMAGE: &str = "pigeonhole.image";

/// The most databases of an environment.
pub(super) const N_MAX: u32 = NAMES.len() as u32 + 2;

type Raw = Database<'static, Bytes, Bytes>;

/// Opens the databases of [`NAMES`] and of the texts, and creates them in an environment without an
/// index. An index created before texts existed goes on without a database of texts.
pub(super) fn open(
    env: &Env,
    writers: &Turns,
    patience: Duration,
) -> Result<([Raw; NAMES.len()], Option<Raw>), Failure> {
    if let Some(databases) = find(env, env.read_txn()?, NAMES)? {
        if let Some([texts]) = find(env, env.read_txn()?, [TEXTS])? {
            return Ok((databases, Some(texts)));
        }
        let txn = env.read_txn()?;
        if databases[0].get(&txn, METADATA_KEY.as_bytes())?.is_some() {
            return Ok((databases, None));
        }
    }
    let (databases, texts) = create(env, writers, patience)?;
    Ok((databases, Some(texts)))
}

/// Opens the database of the image's blocks, if it exists.
pub(super) fn find_image(env: &Env, txn: RoTxn<'_, WithTls>) -> Result<Option<Raw>, heed::Error> {
    Ok(find(env, txn, [IMAGE])?.map(|[image]| image))
}

/// Creates the database of the image's blocks, and commits.
pub(super) fn make_image(env: &Env, txn: RwTxn<'_>) -> Result<Raw, Failure> {
    let created = env.create_databases_and_commit(txn, |opener, txn| {
        let image = opener.create_database::<Bytes, Bytes>(txn, Some(IMAGE))?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(image))
    })?;
    created.commit().ok_or_else(|| Error::corrupt("the database of the image cannot be made").into())
}

/// Opens the databases of these names, if all of them exist.
fn find<const N: usize>(
    env: &Env,
    txn: RoTxn<'_, WithTls>,
    names: [&str; N],
) -> Result<Option<[Raw; N]>, heed::Error> {
    let found = env.open_databases_and_commit(txn, |opener, txn| {
        let mut databases = Vec::new();
        for name in names {
            match opener.open_database::<Bytes, Bytes>(txn, Some(name)) {
                Ok(Some(database)) => databases.push(database),
                Ok(None) => return Ok(CommitOrAbort::Abort(())),
                Err(error) => return Err(error),
            }
        }
        match <[_; N]>::try_from(databases) {
            Ok(databases) => Ok(CommitOrAbort::Commit(databases)),
            Err(_) => Ok(CommitOrAbort::Abort(())),
        }
    });
    found.map(CommitOrAbort::commit)
}

/// Creates all missing databases. An environment with other databases is another program's, and
/// refused; beside one of this program's, the name of another is damaged.
fn create(env: &Env, writers: &Turns, patience: Duration) -> Result<([Raw; NAMES.len()], Raw), Failure> {
    let _turn = writers.take(patience, || Ok(env.info().last_txn_id))?;
    let txn = env.write_txn()?;
    let created = env.create_databases_and_commit(txn, |opener, txn| {
        let unnamed = opener.create_database::<Bytes, Bytes>(txn, None)?;
        let (mut n_ours, mut n_others) = (0, 0);
        for entry in unnamed.iter(txn)? {
            let (name, _) = entry?;
            let is_ours = NAMES.iter().chain(&[TEXTS, IMAGE]).any(|ours| ours.as_bytes() == name);
            *if is_ours { &mut n_ours } else { &mut n_others } += 1;
        }
        if n_others > 0 {
            return Ok(CommitOrAbort::Abort(n_ours > 0));
        }
        let mut databases = Vec::new();
        for name in NAMES {
            databases.push(opener.create_database::<Bytes, Bytes>(txn, Some(name))?);
        }
        let texts = opener.create_database::<Bytes, Bytes>(txn, Some(TEXTS))?;
        match <[_; NAMES.len()]>::try_from(databases) {
            Ok(databases) => Ok::<_, heed::Error>(CommitOrAbort::Commit((databases, texts))),
            Err(_) => Ok(CommitOrAbort::Abort(true)),
        }
    });
    let directory = env.path().display();
    match created? {
        CommitOrAbort::Commit(databases) => Ok(databases),
        CommitOrAbort::Abort(true) => Err(Error::corrupt(format!(
            "a database in {directory} has another name than was written; restore the index from a backup or \
             build it anew"
        ))
        .into()),
        CommitOrAbort::Abort(false) => {
            Err(Error::invalid(format!("{directory} is an LMDB directory of another program; name another"))
                .into())
        }
    }
}
