//! Buckets of S3, of Google Cloud Storage, and of compatible services.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{ClientConfigKey, ObjectStore, ObjectStoreExt};

use super::objects::{self, Unhurried};
use super::storage::{Content, Entry, Failure, Storage, Version};

/// Time limit for credentials in seconds. Without named credentials, a machine of the cloud asks
/// its neighbour for them; any other machine would wait for no answer.
const CREDENTIALS_SECONDS_MAX: u64 = 5;

const S3_CREDENTIALS: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (with AWS_SESSION_TOKEN, where there is \
     one), which `aws configure export-credentials --format env` prints, or for a public bucket AWS_SKIP_SIGNATURE=true";
const S3_REFUSED: &str = "look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION, and at what \
     they allow";
const GS_CREDENTIALS: &str = "set GOOGLE_APPLICATION_CREDENTIALS to a file of credentials, or for a public bucket \
     GOOGLE_SKIP_SIGNATURE=true";
const GS_REFUSED: &str = "look at GOOGLE_APPLICATION_CREDENTIALS, and at what it allows";

pub(super) struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// The same for objects that are written in parts.
    parts: Arc<dyn MultipartStore>,
    /// Advice on a refusal.
    advice: &'static str,
    /// True if a list has the same tags as the files themselves.
    lists_tags: bool,
}

impl Bucket {
    pub(super) async fn s3(bucket: &str) -> anyhow::Result<Self> {
        check_name(bucket)?;
        let builder = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_retry(objects::retries())
            .with_http_connector(Unhurried);
        let setting = |key| builder.get_config_value(&key);
        let allows_http = is_true(setting(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp)));
        if let Some(endpoint) =
            setting(AmazonS3ConfigKey::S3Endpoint).or(setting(AmazonS3ConfigKey::Endpoint))
        {
            check_endpoint(&endpoint)?;
            ensure!(
                allows_http || !endpoint.starts_with("http://"),
                "the endpoint {endpoint} is not encrypted, which AWS_ALLOW_HTTP=true allows"
            );
        }
        if let Some(region) = setting(AmazonS3ConfigKey::Region) {
            let is_name =
                !region.is_empty() && region.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
            ensure!(is_name, "AWS_REGION is {region:?}, which is no region; for example eu-central-1");
        }
        let is_anonymous = is_true(setting(AmazonS3ConfigKey::SkipSignature));
        let store = builder.build().map_err(|error| anyhow::anyhow!(objects::why(&error)));
        let store = store.with_context(|| format!("failed to set up s3://{bucket}; {S3_CREDENTIALS}"))?;
        if !is_anonymous {
            credentials(store.credentials().get_credential())
                .await
                .with_context(|| format!("there are no credentials for s3://{bucket}; {S3_CREDENTIALS}"))?;
        }
        let (store, parts) = (Arc::new(store.clone()), Arc::new(store));
        Ok(Self { store, parts, advice: S3_REFUSED, lists_tags: true })
    }

    pub(super) async fn gs(bucket: &str) -> anyhow::Result<Self> {
        check_name(bucket)?;
        let builder = GoogleCloudStorageBuilder::from_env()
            .with_bucket_name(bucket)
            .with_retry(objects::retries())
            .with_http_connector(Unhurried);
        let is_anonymous = is_true(builder.get_config_value(&GoogleConfigKey::SkipSignature));
        let store = builder.build().map_err(|error| anyhow::anyhow!(objects::why(&error)));
        let store = store.with_context(|| format!("failed to set up gs://{bucket}; {GS_CREDENTIALS}"))?;
        if !is_anonymous {
            credentials(store.credentials().get_credential())
                .await
                .with_context(|| format!("there are no credentials for gs://{bucket}; {GS_CREDENTIALS}"))?;
        }
        // Google does not document equality of the two.
        let (store, parts) = (Arc::new(store.clone()), Arc::new(store));
        Ok(Self { store, parts, advice: GS_REFUSED, lists_tags: false })
    }

    fn failure(&self, error: &object_store::Error) -> Failure {
        objects::failure(error, self.advice)
    }

    /// Begins an upload, and returns its name.
    pub(super) async fn begin(&self, key: &str) -> Result<String, Failure> {
        self.parts.create_multipart(&path(key)?).await.map_err(|error| self.failure(&error))
    }

    /// Sends the part `n`; once more does no harm.
    pub(super) async fn put_part(
        &self,
        key: &str,
        id: &String,
        n: usize,
        bytes: Bytes,
    ) -> Result<PartId, Failure> {
        let sent = self.parts.put_part(&path(key)?, id, n, bytes.into()).await;
        sent.map_err(|error| self.failure(&error))
    }

    /// Makes an object of the parts.
    pub(super) async fn complete(&self, key: &str, id: &String, parts: Vec<PartId>) -> Result<(), Failure> {
        let completed = self.parts.complete_multipart(&path(key)?, id, parts).await;
        completed.map(|_| ()).map_err(|error| self.failure(&error))
    }

    pub(super) async fn abort(&self, key: &str, id: &str) -> Result<(), Failure> {
        let aborted = self.parts.abort_multipart(&path(key)?, &id.to_owned()).await;
        aborted.map_err(|error| self.failure(&error))
    }

    pub(super) async fn remove(&self, key: &str) -> Result<(), Failure> {
        self.store.delete(&path(key)?).await.map_err(|error| self.failure(&error))
    }
}

#[async_trait]
impl Storage for Bucket {
    async fn look(&self, key: &str) -> Result<Entry, Failure> {
        let version = objects::look(&self.store, &path(key)?).await;
        version.map(Entry::File).map_err(|error| self.failure(&error))
    }

    async fn list(&self, folder: &str) -> Result<Vec<(String, Version)>, Failure> {
        let files = self.store.list(Some(&path(folder)?)).map_ok(|meta| {
            let (key, mut version) = (meta.location.to_string(), objects::version(meta));
            if !self.lists_tags {
                version.e_tag = None;
            }
            (key, version)
        });
        files.try_collect().await.map_err(|error| self.failure(&error))
    }

    async fn open(&self, key: &str, range: Range<u64>) -> Result<(Version, Content), Failure> {
        let opened = objects::open(&self.store, &path(key)?, Some(range)).await;
        let (version, payload) = opened.map_err(|error| self.failure(&error))?;
        Ok((version, objects::content(payload)))
    }
}

async fn credentials<T>(asked: impl Future<Output = object_store::Result<T>>) -> anyhow::Result<()> {
    match tokio::time::timeout(Duration::from_secs(CREDENTIALS_SECONDS_MAX), asked).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => bail!(objects::why(&error)),
        Err(_) => bail!("nobody gave any in {CREDENTIALS_SECONDS_MAX} s"),
    }
}

/// Rejects a bucket name that is no part of an address: object_store would panic.
fn check_name(bucket: &str) -> anyhow::Result<()> {
    let fits = |c: u8| c.is_ascii_alphanumeric() || b"-_.".contains(&c);
    ensure!(
        bucket.bytes().all(fits),
        "no bucket is called {bucket:?}: letters, digits, - _ and . make a name"
    );
    Ok(())
}

/// Rejects an endpoint that is no address: object_store does not check it, either.
fn check_endpoint(endpoint: &str) -> anyhow::Result<()> {
    let url = endpoint.parse::<reqwest::Url>().ok();
    let is_address = url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    ensure!(
        is_address,
        "AWS_ENDPOINT_URL is {endpoint:?}, which is no address; give it as https://HOST:PORT, or unset it for Amazon's own"
    );
    Ok(())
}

/// Parses a setting as object_store does.
fn is_true(setting: Option<String>) -> bool {
    setting.is_some_and(|value| matches!(&*value.to_ascii_lowercase(), "1" | "true" | "on" | "yes" | "y"))
}

fn path(key: &str) -> Result<Path, Failure> {
    Path::parse(key).map_err(|error| Failure::Final(error.to_string()))
}
