//! Web servers: each address is a file.

use std::ops::Range;

use async_trait::async_trait;
use futures_util::{StreamExt, future};
use object_store::client::{HttpClient, HttpConnector};
use object_store::http::{HttpBuilder, HttpStore};
use object_store::path::Path;
use object_store::{ClientOptions, Error};

use super::objects::{self, Unhurried};
use super::storage::{Content, Entry, Failure, Storage, Version};

const REFUSED: &str = "an address that was signed may have expired";

/// Client for all addresses of the web. A store of object_store is a folder of files, without
/// queries. Here each address is a store with the file as its root, and all stores share their
/// connections.
#[derive(Clone, Debug)]
pub(super) struct Web {
    client: HttpClient,
}

impl HttpConnector for Web {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.client.clone())
    }
}

impl Web {
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self { client: Unhurried.connect(&ClientOptions::new().with_allow_http(true))? })
    }

    fn store(&self, address: &str) -> Result<HttpStore, Failure> {
        let builder = HttpBuilder::new().with_url(address).with_retry(objects::retries());
        let store = builder.with_http_connector(self.clone()).build();
        store.map_err(|error| Failure::Final(objects::why(&error)))
    }
}

#[async_trait]
impl Storage for Web {
    async fn look(&self, address: &str) -> Result<Entry, Failure> {
        let version = objects::look(&self.store(address)?, &Path::ROOT).await;
        version.map(Entry::File).map_err(|error| objects::failure(&error, REFUSED))
    }

    async fn list(&self, _: &str) -> Result<Vec<(String, Version)>, Failure> {
        Err(Failure::Final("web servers have no folders".to_owned()))
    }

    async fn open(&self, address: &str, range: Range<u64>) -> Result<(Version, Content), Failure> {
        let store = self.store(address)?;
        let part = if range.start == 0 { None } else { Some(range.clone()) };
        let opened = match objects::open(&store, &Path::ROOT, part).await {
            // Some servers do not serve parts. The whole file is then read again, and its beginning
            // skipped.
            Err(Error::NotSupported { .. }) => {
                let opened = objects::open(&store, &Path::ROOT, None).await;
                opened.map(|(version, payload)| (version, without(objects::content(payload), range.start)))
            }
            opened => opened.map(|(version, payload)| (version, objects::content(payload))),
        };
        opened.map_err(|error| objects::failure(&error, REFUSED))
    }
}

/// Skips the first `n_bytes`.
fn without(content: Content, n_bytes: u64) -> Content {
    let mut n_left = n_bytes;
    let rest = content.filter_map(move |bytes| {
        future::ready(match bytes {
            Ok(mut bytes) => {
                let n_passed = n_left.min(bytes.len() as u64);
                n_left -= n_passed;
                let rest = bytes.split_off(n_passed as usize);
                (!rest.is_empty()).then_some(Ok(rest))
            }
            error => Some(error),
        })
    });
    rest.boxed()
}
