//! State of the worker: the index with all that requests share, the admission of requests, and the
//! one crossing from async to blocking threads.
//!
//! This module knows nothing of routes, keys or connections.

mod admission;
pub(crate) mod calls;
mod gather;
mod measured;
mod outage;
mod readiness;
pub(crate) mod recent;

use std::cell::RefCell;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use anyhow::Context;
use engine::{Buffers, Engine, OpenError, Options, StoreUri};
use features::{Analysis, Fingerprinter, NormalForm, grown_chars};
use index::{ErrorKind, Features, Index, Mode, Store};
use program::MemoryLimits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task;
use tracing::{Span, error};

use self::admission::Admission;
pub(crate) use self::admission::{Permit, is_heavy};
use self::calls::Calls;
use self::measured::Measured;
use self::recent::RecentTexts;
use crate::config::Config;
use crate::handles;
use crate::limits::Limits;
use crate::log;
use crate::metrics::{Metrics, Now};
use crate::problem::Problem;
use crate::reload::Outdated;

/// Buffers that have held a longer text are not kept: each of many threads would have some in time.
const LONG_TEXT_BYTES: usize = 64 << 10;

/// Log target of work that breaks off. Operators filter by this name, so it stays when the code
/// moves.
const WORK_TARGET: &str = "query_worker::server";

/// Longest wait for the store's status, for the metrics and at the end of the process.
pub(crate) const STATUS_WAIT_MAX: Duration = Duration::from_secs(1);

/// How long a request waits for a store that is away, unless the configuration says otherwise.
const STORE_WAIT: Duration = Duration::from_secs(5);

/// Bytes of memory per character of a text's normal form while its features are made and counted.
const FEATURES_BYTES: usize = 32;

/// Bytes of memory per character of a text's normal form while the text is explained: its terms and
/// its n-grams.
const EXPLAINED_BYTES: usize = 96;

/// Returns the bytes of memory that making the features of a text takes.
pub(crate) fn features_bytes(text: &str) -> usize {
    grown_chars(text).saturating_mul(FEATURES_BYTES)
}

/// Returns the bytes of memory that explaining a text takes.
pub(crate) fn explained_bytes(text: &str) -> usize {
    grown_chars(text).saturating_mul(EXPLAINED_BYTES)
}

/// Stage of a worker's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Stage {
    Serving,
    /// Serves as before, while `/readyz` sends clients elsewhere.
    Draining,
    /// Takes no new connections. Requests under way are finished.
    Stopping,
    /// Cuts batches off.
    Ending,
}

/// The index that a configuration names: its address, and the options to open it.
pub(crate) struct Asked<'a> {
    pub(crate) uri: &'a str,
    pub(crate) options: Options,
}

/// Liveness of the request that some work is for.
pub(crate) struct Caller(Weak<()>);

impl Caller {
    /// Fails once no request waits for the work: the client has left, or the request has timed out.
    ///
    /// # Errors
    /// `Internal`, which no client receives.
    pub(crate) fn is_there(&self) -> Result<(), Problem> {
        if self.0.strong_count() > 0 { Ok(()) } else { Err(Problem::internal()) }
    }
}

/// Shared state of all requests: the index, its extractor, admission, metrics and limits.
pub struct Worker {
    engine: Arc<Engine>,
    calls: Calls,
    /// Public name of the store, without secrets.
    store: String,
    /// One permit: checks of a hanging store must neither pile up nor take places of requests.
    readiness: Arc<Semaphore>,
    /// Start and outcome of the last check of the store.
    checked: Mutex<Option<(Instant, Result<(), Problem>)>>,
    admission: Admission,
    recent_texts: RecentTexts,
    limits: Limits,
    /// Where people find a document, with `{id}` in place of its id.
    document_url: Option<String>,
    stage: watch::Sender<Stage>,
    metrics: Arc<Metrics>,
    outdated: Arc<Outdated>,
    /// One permit: status calls of a hanging store must not pile up.
    counting: Arc<Semaphore>,
}

impl Worker {
    /// Opens the index, or creates it if the configuration says so, with the extractor of its
    /// recipe.
    ///
    /// # Errors
    /// The index is missing, cannot be opened, or differs from the recipe or scheme that the
    /// configuration requires; or the process may not open enough files for a single connection.
    pub fn open(config: &Config) -> anyhow::Result<Self> {
        let Asked { uri, options } = Self::asked(config)?;
        let place: StoreUri = uri.parse()?;
        let memory = MemoryLimits::of_process();
        let mut limits = config.limits.clone().within(&memory);
        limits.connections_max = handles::connections_max(config.limits.connections_max, &place)?;
        let metrics = Arc::new(Metrics::new());
        let measured =
            |store| -> Box<dyn Store> { Box::new(Measured { store, metrics: Arc::clone(&metrics) }) };
        let engine = Engine::open_with(uri, &options, measured).map_err(|error| match error {
            OpenError::Index { source, .. } if source.kind() == ErrorKind::NotFound => {
                let hint = "a new, empty one is made only with --create-index";
                anyhow::Error::new(source).context(format!("failed to open index `{uri}` ({hint})"))
            }
            error => error.into(),
        })?;
        engine.index().give_memory(MemoryLimits::of_job().n_spare_bytes());
        // The first query becomes as fast as later ones.
        engine.index().prepare().with_context(|| format!("failed to read index `{uri}`"))?;
        let document_url = config.document_url.clone();
        let over = Self::over_within(engine, &place, limits, memory, config.store_wait());
        Ok(Self { metrics, document_url, ..over })
    }

    /// Returns the configured index, before it is opened or created.
    pub(crate) fn asked(config: &Config) -> anyhow::Result<Asked<'_>> {
        let uri = config
            .store
            .uri()
            .context("name the index with --store, for example --store embedded:./my-index")?;
        // An index that does not outlive the process is created at every start.
        let creates = config.create_index || !uri.parse::<StoreUri>()?.capabilities().outlives_process;
        let mode = if creates { Mode::CreateIfMissing } else { Mode::MustExist };
        let mut options = config.store.options(mode, &config.recipe)?;
        options.patience = Some(config.store_wait());
        options.check()?;
        Ok(Asked { uri, options })
    }

    /// Builds a worker over an open engine. The metrics do not count calls of its store.
    #[must_use]
    pub fn over(engine: Engine, store: &StoreUri, limits: Limits) -> Self {
        Self::over_within(engine, store, limits, MemoryLimits::of_process(), STORE_WAIT)
    }

    /// The same within limits on memory, whose requests wait for a store that is away as long as
    /// `store_wait`.
    fn over_within(
        engine: Engine,
        store: &StoreUri,
        limits: Limits,
        memory: MemoryLimits,
        store_wait: Duration,
    ) -> Self {
        let engine = Arc::new(engine);
        Self {
            calls: Calls::new(&engine, store, store_wait),
            engine,
            store: store.public_name(),
            readiness: Arc::new(Semaphore::new(1)),
            checked: Mutex::default(),
            admission: Admission::new(&limits, memory),
            recent_texts: RecentTexts::new(limits.recent_texts_bytes_max),
            limits,
            document_url: None,
            stage: watch::Sender::new(Stage::Serving),
            metrics: Arc::new(Metrics::new()),
            outdated: Arc::default(),
            counting: Arc::new(Semaphore::new(1)),
        }
    }

    /// Returns the index.
    #[must_use]
    pub fn index(&self) -> &Index {
        self.engine.index()
    }

    /// Returns the store calls that requests share: searches and insertions.
    pub(crate) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Returns the fingerprinter of the index's recipe.
    #[must_use]
    pub fn fingerprinter(&self) -> &Fingerprinter {
        self.engine.extractor().fingerprinter()
    }

    /// Returns the normal form in which texts are compared.
    #[must_use]
    pub fn form(&self) -> NormalForm {
        self.engine.extractor().form()
    }

    /// Returns the public name of the store, without its operators' secrets.
    #[must_use]
    pub fn store(&self) -> &str {
        &self.store
    }

    /// Returns the address of documents for people, with `{id}` in place of the id.
    #[must_use]
    pub fn document_url(&self) -> Option<&str> {
        self.document_url.as_deref()
    }

    /// Returns the limits in force. `connections_max` may be lower than configured.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the texts of documents posted to this worker lately.
    pub(crate) fn recent_texts(&self) -> &RecentTexts {
        &self.recent_texts
    }

    /// Returns the features by which a text is filed and compared; `None` if it has none. Blocks
    /// for a time proportional to the length of the text.
    #[must_use]
    pub fn features(&self, text: &str) -> Option<Features> {
        thread_local! {
            static BUFFERS: RefCell<Buffers> = RefCell::default();
        }
        self.metrics.fingerprinted(text);
        let features = BUFFERS.with_borrow_mut(|buffers| self.engine.extractor().features(buffers, text));
        if text.len() > LONG_TEXT_BYTES {
            BUFFERS.take();
        }
        features
    }

    /// Returns the terms behind a text's simhash. Blocks as [`Self::features`] does.
    pub(crate) fn analyze(&self, text: &str) -> Analysis {
        self.metrics.fingerprinted(text);
        self.fingerprinter().analyze(text)
    }

    /// Subscribes to the stage of the worker's life.
    pub(crate) fn stage(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Enters a stage.
    pub(crate) fn reach(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// Admits one more request, until the permit is dropped at the end of its work.
    ///
    /// # Errors
    /// [`Problem::busy`] if the queue is full or the wait in it too long.
    pub(crate) async fn admit(&self) -> Result<Permit, Problem> {
        self.admission.request().await
    }

    pub(crate) fn admit_batch(&self) -> Result<Permit, Problem> {
        self.admission.batch()
    }

    /// Admits the work on texts of a request with a place, by the bytes of memory that it takes.
    ///
    /// # Errors
    /// [`Problem::busy`] if too many requests wait, or the process comes near a limit on memory.
    pub(crate) async fn admit_work(&self, permit: Permit, n_bytes: usize) -> Result<Permit, Problem> {
        self.admission.work(permit, n_bytes).await
    }

    /// Takes memory for the features of a text in a batch, which holds a place already. Blocks
    /// until the memory is free; `None` for light work.
    ///
    /// # Errors
    /// [`Problem::busy`] if the process comes near a limit on memory.
    pub(crate) fn memory_for(&self, text: &str) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        self.admission.memory(features_bytes(text))
    }

    pub(crate) fn room(&self, n_bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        self.admission.room(n_bytes)
    }

    /// Checks the length of a client's text.
    pub(crate) fn check_text(&self, text: &str) -> Result<(), Problem> {
        let bytes_max = self.limits.text_bytes_max;
        if text.len() > bytes_max { Err(Problem::text_too_long(bytes_max)) } else { Ok(()) }
    }

    /// Returns the counters and timers.
    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Returns the record of outdated file sets.
    pub(crate) fn outdated(&self) -> &Arc<Outdated> {
        &self.outdated
    }

    /// Returns all figures as text. Those of the store are left out if the store is slow.
    pub(crate) async fn figures(self: Arc<Self>) -> String {
        let status = match Arc::clone(&self.counting).try_acquire_owned() {
            Ok(permit) => {
                // A failure is counted in the metrics, and is no failure of this request.
                let status = Arc::clone(&self).work(permit, |worker| Ok(worker.index().status().ok()));
                tokio::time::timeout(STATUS_WAIT_MAX, status).await.ok().and_then(Result::ok).flatten()
            }
            Err(_) => None,
        };
        self.metrics.written(&Now {
            scheme: self.index().kind().name(),
            n_permits: self.limits.requests_max as usize,
            taken: self.admission.taken(&self.limits),
            n_log_lines_dropped: log::n_dropped(),
            recent_texts: self.recent_texts.size(),
            outdated: self.outdated.each().collect(),
            n_connections_max: self.limits.connections_max as usize,
            status,
        })
    }

    /// Runs the work of an admitted request on a blocking thread: the one crossing from async to
    /// blocking. Work whose caller leaves before its start is not begun.
    ///
    /// # Errors
    /// The error of `work`, or [`Problem::internal`] if it panicked.
    pub async fn work<T: Send + 'static>(
        self: Arc<Self>,
        permit: impl Send + 'static,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.work_for(permit, |worker, _| work(worker)).await
    }

    /// Runs work of several steps, which checks between steps whether its caller is still there.
    pub(crate) async fn work_for<T: Send + 'static>(
        self: Arc<Self>,
        permit: impl Send + 'static,
        work: impl FnOnce(&Self, &Caller) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let span = Span::current();
        // Dropped with this future, which is dropped when the caller leaves.
        let waits = Arc::new(());
        let caller = Caller(Arc::downgrade(&waits));
        let done = task::spawn_blocking(move || {
            let _permit = permit;
            caller.is_there()?;
            let done = span.in_scope(|| work(&self, &caller));
            engine::forget_long_texts();
            done
        });
        done.await.unwrap_or_else(|panicked| {
            error!(target: WORK_TARGET, error = %panicked, "a request's work broke off");
            Err(Problem::internal())
        })
    }
}
