//! API keys and their scopes, read from a file and read again when the file changes.
//!
//! The file holds only the SHA-256 of each key. A fast hash is safe here: a key is 256 random bits,
//! too many to guess at any speed. Only passwords would need a slow hash, and the file has none.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::{Context, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use crate::reload::{self, Reloaded};

/// Permission that a key grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Ask: queries, comparisons, single documents, the index itself.
    Read,
    /// Insert documents.
    Write,
    /// Remove documents.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// Returns the name of the scope in the key file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

/// A key, without its secret: the digest, the scopes and the bound on requests.
pub(crate) struct Key {
    digest: [u8; 32],
    pub(crate) scopes: Vec<Scope>,
    requests_max: Option<u32>,
    /// One permit for each request that may be under way with this key; `None` is no bound.
    pub(crate) places: Option<Arc<Semaphore>>,
}

/// The keys in force, by the digests of a file.
pub struct Keys {
    file: PathBuf,
    current: RwLock<Vec<Arc<Key>>>,
}

impl Keys {
    /// Reads the keys of a file.
    ///
    /// # Errors
    /// The file cannot be read, others may write to it, or an entry is invalid.
    pub fn open(file: &Path) -> anyhow::Result<Self> {
        let keys = parse_file(file, &read(file)?)?;
        Ok(Self { file: file.to_owned(), current: RwLock::new(keys) })
    }

    /// Puts `keys` in force. A key with an unchanged bound keeps its permits, so requests under way
    /// still count.
    fn replace(&self, mut keys: Vec<Arc<Key>>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        for key in &mut keys {
            let of_before = current.iter().find(|before| before.digest == key.digest);
            // Scopes come from the new entry, and taken permits from the old one.
            if let Some(before) = of_before.filter(|before| before.requests_max == key.requests_max) {
                let (scopes, places) = (key.scopes.clone(), before.places.clone());
                *key = Arc::new(Key { digest: key.digest, scopes, requests_max: key.requests_max, places });
            }
        }
        *current = keys;
    }

    pub(crate) fn find(&self, key: &[u8]) -> Option<Arc<Key>> {
        self.with_digest(&Sha256::digest(key))
    }

    /// Returns the entry now in force of a key that was found earlier, or `None` if it was
    /// withdrawn.
    pub(crate) fn now(&self, key: &Key) -> Option<Arc<Key>> {
        self.with_digest(&key.digest)
    }

    /// Compares with every key, each in constant time.
    fn with_digest(&self, digest: &[u8]) -> Option<Arc<Key>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for key in current.iter() {
            if bool::from(key.digest.ct_eq(digest)) {
                found = Some(Arc::clone(key));
            }
        }
        found
    }
}

impl Reloaded for Keys {
    const WHAT: &'static str = "the keys";
    const LABEL: &'static str = "keys";

    fn files(&self) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }

    fn read(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        Ok(vec![read(&self.file)?])
    }

    fn take(&self, contents: &[Vec<u8>]) -> anyhow::Result<usize> {
        let keys = parse_file(&self.file, contents.first().map_or(&[], Vec::as_slice))?;
        let n_keys = keys.len();
        self.replace(keys);
        Ok(n_keys)
    }
}

/// Contents of a key file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    #[serde(default)]
    key: Vec<KeyEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyEntry {
    /// Label for people.
    name: String,
    sha256: String,
    scopes: Vec<Scope>,
    requests_max: Option<u32>,
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    read_private(file).with_context(|| format!("failed to read the keys of `{}`", file.display()))
}

fn parse_file(file: &Path, bytes: &[u8]) -> anyhow::Result<Vec<Arc<Key>>> {
    let text = std::str::from_utf8(bytes).context("this is no UTF-8");
    text.and_then(parse).with_context(|| format!("the keys of `{}` cannot be used", file.display()))
}

/// Reads a file, and on Unix refuses one that others may write: they could add keys of their own.
fn read_private(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut open = File::open(file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = open.metadata()?.permissions().mode();
        ensure!(mode & 0o022 == 0, "others may write to it; `chmod go-w {}` mends that", file.display());
    }
    Ok(reload::read_whole(&mut open)?)
}

fn parse(text: &str) -> anyhow::Result<Vec<Arc<Key>>> {
    // The parser's report quotes the invalid line, which may hold a key in place of its digest.
    let file: KeyFile =
        toml::from_str(text).map_err(|error| anyhow::anyhow!("{}", error.message().to_owned()))?;
    // An empty file is a mistake, or a file that is being written or could not be written.
    ensure!(!file.key.is_empty(), "there is no key in it; `query-worker new-key` makes one");
    let mut names = BTreeSet::new();
    let mut keys: Vec<Arc<Key>> = Vec::new();
    for KeyEntry { name, sha256, scopes, requests_max } in file.key {
        ensure!(!scopes.is_empty(), "key `{name}` has no scopes; give some of read, write and admin");
        ensure!(requests_max != Some(0), "key `{name}`: requests_max is 0; take the key out to keep it out");
        let digest = digest(&sha256).with_context(|| {
            format!("key `{name}`: sha256 must be the 64 hexadecimal digits of a SHA-256")
        })?;
        ensure!(keys.iter().all(|key| key.digest != digest), "key `{name}` is there twice, by its sha256");
        let places = requests_max.map(|n| Arc::new(Semaphore::new(n as usize)));
        keys.push(Arc::new(Key { digest, scopes, requests_max, places }));
        ensure!(names.insert(name.clone()), "the name `{name}` is there twice");
    }
    Ok(keys)
}

fn digest(digits: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (n, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    Some(digest)
}

/// Makes a key; returns the key, which is stored nowhere, and its entry for the key file.
///
/// # Errors
/// The system gives no random numbers.
pub fn new_key(name: &str, scopes: &[Scope]) -> anyhow::Result<(String, String)> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).context("the system gives no random numbers")?;
    let key = format!("ph_{}", hex(&random));
    let scopes: Vec<_> = scopes.iter().map(|scope| format!("\"{}\"", scope.name())).collect();
    let name = toml::Value::from(name);
    let digest = hex(&Sha256::digest(key.as_bytes()));
    let entry = format!("[[key]]\nname = {name}\nsha256 = \"{digest}\"\nscopes = [{}]\n", scopes.join(", "));
    Ok((key, entry))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").unwrap_or(());
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_refused() {
        let entry =
            |sha256: &str, more: &str| format!("[[key]]\nname = \"a\"\nsha256 = \"{sha256}\"\n{more}\n");
        let good = entry(&"0f".repeat(32), "scopes = [\"read\"]");
        assert_eq!(parse(&good).unwrap().len(), 1);
        for (text, part) in [
            (String::new(), "no key"),
            (good.repeat(2), "twice"),
            (entry(&"0f".repeat(31), "scopes = [\"read\"]"), "64 hex"),
            (entry(&"é".repeat(32), "scopes = [\"read\"]"), "64 hex"),
            (entry(&"0f".repeat(32), "scopes = []"), "no scopes"),
            (entry(&"0f".repeat(32), "scopes = [\"all\"]"), "all"),
            (entry(&"0f".repeat(32), "scopes = [\"read\"]\nrequests_max = 0"), "requests_max"),
            (entry(&"0f".repeat(32), "scope = [\"read\"]"), "scope"),
            ("[[key]]\nph_secret".to_owned(), ""),
        ] {
            let error = format!("{:#}", parse(&text).err().unwrap());
            assert!(error.contains(part) && !error.contains("ph_secret"), "{error}");
        }
    }

    /// Regression: a reload replaced the permits, so a key could have twice its bound after each
    /// change of the file.
    #[test]
    fn a_reload_keeps_what_is_under_way() {
        let entry = |scope: &str, n: u32| {
            let digest = hex(&Sha256::digest(b"key"));
            format!(
                "[[key]]\nname = \"a\"\nsha256 = \"{digest}\"\nscopes = [\"{scope}\"]\nrequests_max = {n}\n"
            )
        };
        let keys = Keys { file: PathBuf::new(), current: RwLock::new(parse(&entry("read", 2)).unwrap()) };
        let n_free = || keys.find(b"key").unwrap().places.as_ref().unwrap().available_permits();
        let places = keys.find(b"key").unwrap().places.clone().unwrap();
        let _taken = places.try_acquire().unwrap();
        keys.replace(parse(&entry("write", 2)).unwrap());
        assert_eq!((n_free(), &keys.find(b"key").unwrap().scopes[..]), (1, &[Scope::Write][..]));
        keys.replace(parse(&entry("write", 5)).unwrap());
        assert_eq!(n_free(), 5);
    }

    #[test]
    fn a_new_key_is_found_and_no_other() {
        let (key, entry) = new_key("a \"quoted\" name", &[Scope::Read, Scope::Admin]).unwrap();
        let (other, _) = new_key("other", &[Scope::Read]).unwrap();
        let keys = Keys { file: PathBuf::new(), current: RwLock::new(parse(&entry).unwrap()) };
        assert_eq!(keys.find(key.as_bytes()).unwrap().scopes, [Scope::Read, Scope::Admin]);
        assert!(keys.find(other.as_bytes()).is_none() && keys.find(b"").is_none());
        assert!(!entry.contains(&key));
    }
}
