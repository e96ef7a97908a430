//! HDFS, by its own protocol.

use std::ops::Range;

use anyhow::Context;
use async_trait::async_trait;
use futures_util::StreamExt;
use hdfs_native::client::FileStatus;
use hdfs_native::{Client, ClientBuilder, HdfsError};
use tokio::runtime::Handle;

use super::storage::{Content, Entry, Failure, Storage, Version};

/// Number of attempts with a NameNode that does not answer, and the pause between them: some
/// seconds in all, where the client's defaults would take minutes. The reader retries for as long
/// as the user says.
const RETRIES: [(&str, &str); 2] =
    [("dfs.client.failover.max.attempts", "4"), ("dfs.client.failover.sleep.max.millis", "2000")];

const REFUSED: [&str; 2] = ["AccessControlException", "AuthorizationException"];

pub(super) struct Hdfs(Client);

impl Hdfs {
    /// Creates a client for `address`, which has no path.
    pub(super) fn new(address: &str) -> anyhow::Result<Self> {
        let builder = ClientBuilder::new().with_url(address).with_config(RETRIES);
        let client = builder.with_io_runtime(Handle::current()).build();
        let hint = "it is named with its port, or in the files of HADOOP_CONF_DIR";
        Ok(Self(client.with_context(|| format!("failed to set up {address}; {hint}"))?))
    }
}

#[async_trait]
impl Storage for Hdfs {
    async fn look(&self, key: &str) -> Result<Entry, Failure> {
        let status = self.0.get_file_info(&path(key)).await.map_err(failure)?;
        Ok(if status.isdir { Entry::Folder } else { Entry::File(version(&status)) })
    }

    async fn list(&self, folder: &str) -> Result<Vec<(String, Version)>, Failure> {
        let statuses = self.0.list_status(&path(folder), true).await.map_err(failure)?;
        let files = statuses.into_iter().filter(|status| !status.isdir);
        Ok(files.map(|file| (file.path.trim_start_matches('/').to_owned(), version(&file))).collect())
    }

    async fn open(&self, key: &str, range: Range<u64>) -> Result<(Version, Content), Failure> {
        let path = path(key);
        let reader = self.0.read(&path).await.map_err(failure)?;
        // Asked after the reader knows its blocks: a file replaced before that is noticed here.
        // After a later replacement, the old blocks are unchanged or gone.
        let version = version(&self.0.get_file_info(&path).await.map_err(failure)?);
        if range.end > reader.file_length() as u64 {
            return Err(Failure::Final("it is shorter than it was".to_owned()));
        }
        let content = reader.read_range_stream(range.start as usize, (range.end - range.start) as usize);
        Ok((version, content.map(|bytes| bytes.map_err(failure)).boxed()))
    }
}

fn version(status: &FileStatus) -> Version {
    let modified_ms = i64::try_from(status.modification_time).ok();
    Version { n_bytes: status.length as u64, e_tag: None, modified_ms }
}

fn failure(error: HdfsError) -> Failure {
    // Java's errors have a line for each call that led to them, and errors of this client all it
    // knows of the nodes.
    let text = error.to_string();
    let why = text.lines().next().unwrap_or_default().split(": [").next().unwrap_or_default().to_owned();
    match error {
        HdfsError::FileNotFound(_) => Failure::NotFound("no such file or folder".to_owned()),
        HdfsError::RPCError(..) | HdfsError::FatalRPCError(..)
            if REFUSED.iter().any(|class| why.contains(class)) =>
        {
            Failure::Final(format!("{why}; HADOOP_USER_NAME says who asks"))
        }
        HdfsError::SASLError(_) | HdfsError::GSSAPIError(..) | HdfsError::NoSASLMechanism => {
            Failure::Final(format!("{why}; look at HADOOP_CONF_DIR, and whether klist shows a ticket"))
        }
        HdfsError::UnsupportedFeature(_)
        | HdfsError::UnsupportedErasureCodingPolicy(_)
        | HdfsError::InvalidPath(_)
        | HdfsError::IsADirectoryError(_) => Failure::Final(why),
        _ => Failure::Passing(why),
    }
}

fn path(key: &str) -> String {
    format!("/{key}")
}
