//! A bucket held in memory.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::super::storage::{Content, Entry, Failure};
use super::*;

/// Files of a bucket: their keys, and their contents.
struct Held(Vec<(String, Vec<u8>)>);

impl Held {
    fn get(&self, key: &str) -> Result<&[u8], Failure> {
        let found = self.0.iter().find(|(known, _)| known == key);
        found.map(|(_, content)| &content[..]).ok_or_else(|| Failure::NotFound("no such key".to_owned()))
    }
}

fn version(content: &[u8]) -> Version {
    Version { n_bytes: content.len() as u64, e_tag: None, modified_ms: None }
}

#[async_trait]
impl Storage for Held {
    async fn look(&self, key: &str) -> Result<Entry, Failure> {
        self.get(key).map(|content| Entry::File(version(content)))
    }

    async fn list(&self, folder: &str) -> Result<Vec<(String, Version)>, Failure> {
        let is_in = |key: &str| {
            folder.is_empty() || key.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        let files = self.0.iter().filter(|(key, _)| is_in(key));
        Ok(files.map(|(key, content)| (key.clone(), version(content))).collect())
    }

    async fn open(&self, key: &str, range: Range<u64>) -> Result<(Version, Content), Failure> {
        let content = self.get(key)?;
        let part = Bytes::copy_from_slice(&content[range.start as usize..range.end as usize]);
        Ok((version(content), stream::iter([Ok(part)]).boxed()))
    }
}

impl Remote {
    /// Returns a client that finds `s3://bucket` with these files.
    pub(crate) fn of_bucket(files: &[(String, &[u8])]) -> Self {
        let remote = Self::with_patience(PATIENCE).unwrap();
        let files = files.iter().map(|(key, content)| (key.clone(), content.to_vec()));
        let held = Arc::new(Held(files.collect())) as Arc<dyn Storage>;
        remote.0.storages.lock().unwrap().insert("s3://bucket".to_owned(), held);
        remote
    }
}
