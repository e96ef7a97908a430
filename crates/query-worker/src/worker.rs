//! The worker's state: the index and all that requests share, the places that there are for them, and the one crossing
//! from async to blocking threads.
//!
//! What a request asks for, and how it comes in, does not belong here: nothing in this room knows of routes, keys or
//! connections.

mod admission;
pub(crate) mod calls;
mod gather;
mod measured;
mod outage;
pub(crate) mod recent;

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use anyhow::Context;
use engine::{Buffers, Engine, Extractor, OpenError, Options, StoreUri};
use features::{Analysis, Fingerprinter, NormalForm, grown_chars};
use index::{ErrorKind, Features, Index, Mode, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task;
use tracing::{Span, error};

use self::admission::Admission;
pub(crate) use self::admission::{Permit, is_heavy, n_heavy_max};
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

/// What work that breaks off is logged under. It is a name that operators filter by, and outlives where the code lies.
const WORK_TARGET: &str = "query_worker::server";

/// How long the store may take to say how it is, at the end and for the metrics.
pub(crate) const STATUS_WAIT_MAX: Duration = Duration::from_secs(1);

/// Blocking threads beside those of requests: the calls that requests make together, the check whether the store is ready,
/// and the question for its figures.
pub(crate) const BLOCKING_THREADS_MORE: usize = 64;

/// How long a request waits for a store that is away, unless the configuration says otherwise.
const STORE_WAIT: Duration = Duration::from_secs(5);

/// How long a check of the store may take.
const READY_WAIT_MAX: Duration = Duration::from_secs(5);

/// Bytes that the features of a text take while they are made and counted, for each character of
/// its normal form.
const FEATURES_BYTES: usize = 32;

/// Bytes that a text takes while it is explained, for each character of its normal form: its terms,
/// and its n-grams.
const EXPLAINED_BYTES: usize = 96;

/// Bytes of memory to make the features of a text.
pub(crate) fn features_bytes(text: &str) -> usize {
    grown_chars(text).saturating_mul(FEATURES_BYTES)
}

/// Bytes of memory to explain a text.
pub(crate) fn explained_bytes(text: &str) -> usize {
    grown_chars(text).saturating_mul(EXPLAINED_BYTES)
}

/// How far a worker is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Stage {
    Serving,
    /// All as before, but /readyz sends clients elsewhere.
    Draining,
    /// No new connections. Requests under way are finished.
    Stopping,
    /// Batches are cut off.
    Ending,
}

/// The index that the configuration asks for.
pub(crate) struct Asked<'a> {
    pub(crate) uri: &'a str,
    pub(crate) options: Options,
}

/// The request that some work is for.
pub(crate) struct Caller(Weak<()>);

impl Caller {
    /// Fails once no request waits for the work: its client has left, or its time is over.
    ///
    /// # Errors
    /// `Internal`, which reaches no client.
    pub(crate) fn is_there(&self) -> Result<(), Problem> {
        if self.0.strong_count() > 0 { Ok(()) } else { Err(Problem::internal()) }
    }
}

/// The index and what goes with it, shared by all requests.
pub struct Worker {
    index: Arc<Index>,
    calls: Calls,
    extractor: Extractor,
    /// Where the index is, as strangers may know it.
    store: String,
    /// One permit: checks of a store that hangs must not pile up, nor take the place of requests.
    readiness: Arc<Semaphore>,
    /// When the last check of the store began, and what came of it.
    checked: Mutex<Option<(Instant, Result<(), Problem>)>>,
    admission: Admission,
    recent_texts: RecentTexts,
    limits: Limits,
    stage: watch::Sender<Stage>,
    metrics: Arc<Metrics>,
    outdated: Arc<Outdated>,
    /// One permit: asking a store that hangs for its figures must not pile up either.
    counting: Arc<Semaphore>,
}

impl Worker {
    /// Opens the index, or creates it where that is asked for, and builds what makes the features of texts by its recipe.
    ///
    /// # Errors
    /// The index is not there, cannot be opened, or not with the recipe or scheme that the configuration insists on;
    /// or the process may not open enough files for a single connection.
    pub fn open(config: &Config) -> anyhow::Result<Self> {
        let Asked { uri, options } = Self::asked(config)?;
        let place: StoreUri = uri.parse()?;
        let mut limits = config.limits.clone();
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
        let (index, extractor) = engine.into_parts();
        // So that the first query is as quick as the later ones.
        index.prepare().with_context(|| format!("failed to read index `{uri}`"))?;
        Ok(Self { metrics, ..Self::waiting(index, extractor, &place, limits, config.store_wait()) })
    }

    /// What the configuration asks for, before anything is opened or made by it.
    pub(crate) fn asked(config: &Config) -> anyhow::Result<Asked<'_>> {
        let uri = config
            .store
            .uri()
            .context("name the index with --store, for example --store embedded:./my-index")?;
        // An index that does not outlive the process is a new one whenever it is opened.
        let creates = config.create_index || !uri.parse::<StoreUri>()?.capabilities().outlives_process;
        let mode = if creates { Mode::CreateIfMissing } else { Mode::MustExist };
        let mut options = config.store.options(mode, &config.recipe)?;
        options.patience = Some(config.store_wait());
        options.check()?;
        Ok(Asked { uri, options })
    }

    /// The worker over an index that is open already; `extractor` is of the index's recipe and kind. Calls of its store are not
    /// in the metrics.
    #[must_use]
    pub fn over(index: Index, extractor: Extractor, store: &StoreUri, limits: Limits) -> Self {
        Self::waiting(index, extractor, store, limits, STORE_WAIT)
    }

    /// The same, whose requests wait for a store that is away as long as `wait`.
    fn waiting(index: Index, extractor: Extractor, store: &StoreUri, limits: Limits, wait: Duration) -> Self {
        let index = Arc::new(index);
        Self {
            calls: Calls::new(&index, store, wait),
            index,
            extractor,
            store: store.public_name(),
            readiness: Arc::new(Semaphore::new(1)),
            checked: Mutex::default(),
            admission: Admission::new(&limits),
            recent_texts: RecentTexts::new(limits.recent_texts_bytes_max),
            limits,
            stage: watch::Sender::new(Stage::Serving),
            metrics: Arc::new(Metrics::new()),
            outdated: Arc::default(),
            counting: Arc::new(Semaphore::new(1)),
        }
    }

    /// The index.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Searches and insertions that go to the store with those of other requests.
    pub(crate) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// How texts become simhashes, by the recipe of the index.
    #[must_use]
    pub fn fingerprinter(&self) -> &Fingerprinter {
        self.extractor.fingerprinter()
    }

    /// The normal form in which texts are compared.
    #[must_use]
    pub fn form(&self) -> NormalForm {
        self.extractor.form()
    }

    /// Where the index is, without anything that only its operators should know.
    #[must_use]
    pub fn store(&self) -> &str {
        &self.store
    }

    /// How much it takes on.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The texts of documents that were posted here.
    pub(crate) fn recent_texts(&self) -> &RecentTexts {
        &self.recent_texts
    }

    /// By what a text is filed and compared in the index; `None` where it has no features. Blocks for as long as the text is.
    #[must_use]
    pub fn features(&self, text: &str) -> Option<Features> {
        thread_local! {
            static BUFFERS: RefCell<Buffers> = RefCell::default();
        }
        self.metrics.fingerprinted(text);
        BUFFERS.with_borrow_mut(|buffers| self.extractor.features(buffers, text))
    }

    /// What of a text makes its simhash. Blocks as [`Self::features`] does.
    pub(crate) fn analyze(&self, text: &str) -> Analysis {
        self.metrics.fingerprinted(text);
        self.fingerprinter().analyze(text)
    }

    /// How far it is in its life.
    pub(crate) fn stage(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// It is so far.
    pub(crate) fn reach(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// Admits one more request, for as long as the permit is held: until its work is done.
    ///
    /// # Errors
    /// [`Problem::busy`] where too many are under way for too long.
    pub(crate) async fn admit(&self) -> Result<Permit, Problem> {
        self.admission.request().await
    }

    pub(crate) fn admit_batch(&self) -> Result<Permit, Problem> {
        self.admission.batch()
    }

    /// Admits what a request that has a place does with its texts, by the memory that it takes.
    ///
    /// # Errors
    /// [`Problem::busy`] where too many wait.
    pub(crate) async fn admit_work(&self, permit: Permit, n_bytes: usize) -> Result<Permit, Problem> {
        self.admission.work(permit, n_bytes).await
    }

    /// Memory for the features of a text of a batch, which has a place already. Blocks until there
    /// is some.
    pub(crate) fn memory_for(&self, text: &str) -> Option<OwnedSemaphorePermit> {
        self.admission.memory(features_bytes(text))
    }

    pub(crate) fn room(&self, n_bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        self.admission.room(n_bytes)
    }

    /// Checks the length of a text that a client gave.
    pub(crate) fn check_text(&self, text: &str) -> Result<(), Problem> {
        let bytes_max = self.limits.text_bytes_max;
        if text.len() > bytes_max { Err(Problem::text_too_long(bytes_max)) } else { Ok(()) }
    }

    /// Whether the store can be searched and written to, asked of the store itself. Not one of the requests that are counted:
    /// a worker that is busy is not broken.
    ///
    /// # Errors
    /// What the store says, that the worker is stopping, or [`Problem::not_ready`] where it says nothing for too long.
    pub async fn ready(self: Arc<Self>) -> Result<(), Problem> {
        if *self.stage.borrow() > Stage::Serving {
            return Err(Problem::stopping());
        }
        let asked = Instant::now();
        let check = async {
            let permit =
                Arc::clone(&self.readiness).acquire_owned().await.map_err(|_| Problem::internal())?;
            Arc::clone(&self).work(permit, move |worker| worker.check_store(asked)).await
        };
        tokio::time::timeout(READY_WAIT_MAX, check)
            .await
            .unwrap_or_else(|_| Err(Problem::not_ready(READY_WAIT_MAX)))
    }

    /// What came of a check of the store that began after `asked`: those who asked while another was under way share one.
    fn check_store(&self, asked: Instant) -> Result<(), Problem> {
        // It is replaced as a whole, so a panic leaves it right.
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((begun, answer)) = &*checked
            && *begun >= asked
        {
            return answer.clone();
        }
        let begun = Instant::now();
        let answer = self.index.ready().map_err(Problem::unready);
        *checked = Some((begun, answer.clone()));
        answer
    }

    /// What is counted and timed.
    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// What is in force and not what its files say.
    pub(crate) fn outdated(&self) -> &Arc<Outdated> {
        &self.outdated
    }

    /// All figures as text, those of the store only where it gives them soon.
    pub(crate) async fn figures(self: Arc<Self>) -> String {
        let status = match Arc::clone(&self.counting).try_acquire_owned() {
            Ok(permit) => {
                // That it fails is counted, and no failure of a request.
                let status = Arc::clone(&self).work(permit, |worker| Ok(worker.index.status().ok()));
                tokio::time::timeout(STATUS_WAIT_MAX, status).await.ok().and_then(Result::ok).flatten()
            }
            Err(_) => None,
        };
        self.metrics.written(&Now {
            scheme: self.index.kind().name(),
            n_permits: self.limits.requests_max as usize,
            taken: self.admission.taken(&self.limits),
            n_log_lines_dropped: log::n_dropped(),
            recent_texts: self.recent_texts.size(),
            outdated: self.outdated.each().collect(),
            n_connections_max: self.limits.connections_max as usize,
            status,
        })
    }

    /// Does the whole work of an admitted request on a blocking thread. Work that has not begun
    /// when its caller leaves is not begun. The one place where async meets blocking.
    ///
    /// # Errors
    /// What `work` answers, or [`Problem::internal`] where it broke off.
    pub async fn work<T: Send + 'static>(
        self: Arc<Self>,
        permit: impl Send + 'static,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.work_for(permit, |worker, _| work(worker)).await
    }

    /// The same for work of several steps, which asks between them whether its caller is still
    /// there.
    pub(crate) async fn work_for<T: Send + 'static>(
        self: Arc<Self>,
        permit: impl Send + 'static,
        work: impl FnOnce(&Self, &Caller) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let span = Span::current();
        // It is dropped with this future, which the caller's leaving drops.
        let waits = Arc::new(());
        let caller = Caller(Arc::downgrade(&waits));
        let done = task::spawn_blocking(move || {
            let _permit = permit;
            caller.is_there()?;
            span.in_scope(|| work(&self, &caller))
        });
        done.await.unwrap_or_else(|panicked| {
            error!(target: WORK_TARGET, error = %panicked, "a request's work broke off");
            Err(Problem::internal())
        })
    }
}
