//! The file of a tier: a header, the three sets, and a checksum over all of it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use index::{Error, ErrorKind, Identity, Result};

use super::Tier;
use super::ascending::Ascending;
use crate::drawn::drawn;

/// The first bytes of the file, with its version.
const MAGIC: &[u8; 8] = b"PGHTIER1";

/// The end of the name of a file on its way.
const PARTIAL: &str = ".partial";

/// The most bytes of a file beside its sets: what names the index, a note and lengths.
const HEAD_BYTES_MAX: u64 = 4 << 10;

/// The bytes of the checksum at the end.
const CHECKSUM_BYTES: u64 = 4;

/// The time without a write after which a file on its way has no process any more.
const LEFT_OVER: Duration = Duration::from_secs(60 * 60);

/// Writes the tier beside `path` and renames it, so that the file is there whole or not at all.
///
/// # Errors
/// `Internal` where the file system refuses.
pub(super) fn save(tier: &Tier, identity: Identity, path: &Path) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    // Processes may share the path, and in containers their numbers are alike.
    partial.push(format!(".{:016x}{PARTIAL}", drawn()));
    let write = || {
        if let Err(error) = drop_leftovers(path) {
            tracing::warn!(%error, path = %path.display(), "parts of a tier's files stay");
        }
        let mut file = File::create_new(&partial)?;
        let written = write_to(&mut file, tier, identity).and_then(|()| file.sync_all());
        written.and_then(|()| fs::rename(&partial, path)).inspect_err(|_| {
            // A disk that was full is not to stay full.
            if let Err(error) = fs::remove_file(&partial) {
                tracing::warn!(%error, path = %partial.display(), "a part of a tier's file stays");
            }
        })
    };
    write().map_err(|error: io::Error| {
        Error::new(ErrorKind::Internal, format!("failed to write `{}`", path.display())).caused_by(error)
    })
}

/// Removes what ended processes have left beside `path`.
fn drop_leftovers(path: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (other, name) = (entry.file_name(), name.to_string_lossy());
        let other = other.to_string_lossy();
        let is_part =
            other.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('.') && rest.ends_with(PARTIAL));
        // Others may remove it at the same time.
        let age = || entry.metadata().and_then(|file| file.modified()).ok()?.elapsed().ok();
        if is_part && age().is_some_and(|age| age > LEFT_OVER) {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Reads the tier of an index; `None` if there is no file, or one of more than `n_bytes_max`.
///
/// # Errors
/// `Corrupt` for bytes that are not those that were written, `Mismatch` for the tier of another
/// index, and `Internal` where the file system refuses.
pub(super) fn load(identity: Identity, path: &Path, n_bytes_max: usize) -> Result<Option<Tier>> {
    let failed = |error: io::Error| {
        let what = format!("failed to read `{}`", path.display());
        Error::new(ErrorKind::Internal, what).caused_by(error)
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let n_bytes = file.metadata().map_err(failed)?.len();
    // The sets take no less memory than bytes of the file.
    if n_bytes > (n_bytes_max as u64).saturating_add(HEAD_BYTES_MAX) {
        return Ok(None);
    }
    decode(&mut file, n_bytes, identity, &failed).map(Some)
}

fn write_to(out: &mut impl Write, tier: &Tier, identity: Identity) -> io::Result<()> {
    let Tier { since, note, buckets, simhashes, turned } = tier;
    let (identity, since) = (identity.to_string(), since.to_be_bytes());
    // An empty note is none: each note has words.
    let note = note.as_deref().unwrap_or_default();
    let mut checksum = crc32fast::Hasher::new();
    let mut write = |bytes: &[u8]| {
        checksum.update(bytes);
        out.write_all(bytes)
    };
    write(MAGIC)?;
    let sets = [buckets, simhashes, turned].map(|filtered| filtered.set.bytes());
    for part in [identity.as_bytes(), &since, note].into_iter().chain(sets) {
        write(&(part.len() as u64).to_be_bytes())?;
        write(part)?;
    }
    let checksum = checksum.finalize();
    out.write_all(&checksum.to_be_bytes())
}

/// Reads a tier of `n_bytes`. No part of it is in memory twice.
fn decode(
    file: &mut impl Read,
    n_bytes: u64,
    identity: Identity,
    failed: &dyn Fn(io::Error) -> Error,
) -> Result<Tier> {
    let damaged = || Error::corrupt("the file of the tier is damaged");
    let mut left = n_bytes.checked_sub(CHECKSUM_BYTES).ok_or_else(damaged)?;
    let mut checksum = crc32fast::Hasher::new();
    let mut read = |len: u64| {
        left = left.checked_sub(len).ok_or_else(damaged)?;
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| damaged())?];
        file.read_exact(&mut bytes).map_err(failed)?;
        checksum.update(&bytes);
        Ok::<_, Error>(bytes)
    };
    if read(MAGIC.len() as u64)? != MAGIC {
        return Err(damaged());
    }
    let mut part = || {
        let len = read(size_of::<u64>() as u64)?;
        read(u64::from_be_bytes(len.try_into().map_err(|_| damaged())?))
    };
    let mut parts = [const { Vec::new() }; 6];
    for place in &mut parts {
        *place = part()?;
    }
    let is_whole = left == 0;
    let mut expected = [0; CHECKSUM_BYTES as usize];
    file.read_exact(&mut expected).map_err(failed)?;
    if !is_whole || checksum.finalize() != u32::from_be_bytes(expected) {
        return Err(damaged());
    }
    let [of, since, note, buckets, simhashes, turned] = parts;
    if of != identity.to_string().as_bytes() {
        return Err(Error::new(ErrorKind::Mismatch, "the file is the tier of another index"));
    }
    let since = i64::from_be_bytes(since.try_into().map_err(|_| damaged())?);
    let note = (!note.is_empty()).then_some(note);
    let set = |bytes| Ascending::decode(bytes).map(Arc::new);
    Ok(Tier::new(since, note, [set(buckets)?, set(simhashes)?, set(turned)?]))
}

#[cfg(test)]
mod tests {
    use simhash::BucketKey;

    use super::super::tests::tier_of;
    use super::*;

    const IDENTITY: Identity = Identity::new([1; 16]);

    fn tier() -> Tier {
        let key = BucketKey { flag: 0x20, segment: 0x0102_0304 };
        Tier { note: Some(b"12 34".to_vec()), ..tier_of(&[1, 2, 1 << 40], &[key]) }
    }

    fn decode(bytes: &[u8], identity: Identity) -> Result<Tier> {
        let failed = |error| panic!("{error}");
        super::decode(&mut &*bytes, bytes.len() as u64, identity, &failed)
    }

    fn encode(tier: &Tier, identity: Identity) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_to(&mut bytes, tier, identity).unwrap();
        bytes
    }

    /// Fixed bytes: a change here is a new format version.
    #[test]
    fn golden() {
        let bytes = encode(&tier(), IDENTITY);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [
            "5047485449455231",
            "0000000000000020",
            "3031303130313031303130313031303130313031303130313031303130313031",
            "00000000000000080000000000000007",
            "00000000000000053132203334",
            "0000000000000006848688888004",
            "00000000000000080101feffffffff1f",
            "000000000000000c800280feffff0f8080808010",
            "0ed85607",
        ];
        assert_eq!(hex, parts.concat());
        assert_eq!(decode(&bytes, IDENTITY).unwrap(), tier());
    }

    #[test]
    fn each_byte_counts() {
        let bytes = encode(&tier(), IDENTITY);
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            assert!(decode(&damaged, IDENTITY).is_err(), "{place}");
            assert!(decode(&bytes[..place], IDENTITY).is_err(), "{place}");
        }
        let error = decode(&bytes, Identity::new([2; 16])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
    }

    #[test]
    fn a_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tier");
        assert_eq!(load(IDENTITY, &path, 1 << 20).unwrap(), None);
        for tier in [tier(), tier_of(&[], &[])] {
            save(&tier, IDENTITY, &path).unwrap();
            assert_eq!(load(IDENTITY, &path, 1 << 20).unwrap(), Some(tier));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(save(&tier(), IDENTITY, &folder.path().join("none/tier")).is_err());
    }

    /// A file on its way goes with an error, and those of ended processes with the next save.
    #[test]
    fn nothing_is_left_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tier");
        let names = || {
            let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        fs::create_dir_all(path.join("no file")).unwrap();
        save(&tier(), IDENTITY, &path).unwrap_err();
        assert_eq!(names(), ["tier"]);
        fs::remove_dir_all(&path).unwrap();
        for (name, age) in [("tier.1.partial", 2), ("tier.2.partial", 0), ("tier2.1.partial", 2)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - age * LEFT_OVER).unwrap();
        }
        save(&tier(), IDENTITY, &path).unwrap();
        assert_eq!(names(), ["tier", "tier.2.partial", "tier2.1.partial"]);
    }

    /// A file of a tier that is too large is not read.
    #[test]
    fn a_file_has_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tier");
        let simhashes: Vec<u64> = (0..4_000).map(|n| n << 40).collect();
        let tier = tier_of(&simhashes, &[]);
        save(&tier, IDENTITY, &path).unwrap();
        assert_eq!(load(IDENTITY, &path, tier.n_bytes() / 4).unwrap(), None);
        assert_eq!(load(IDENTITY, &path, tier.n_bytes()).unwrap(), Some(tier));
    }
}
