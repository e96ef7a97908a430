//! Retries by the clock of a paused runtime, which a sleep turns on at once.

use std::sync::Mutex;

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<&'static str>>);

impl Watch for Heard {
    fn waits(&self, _: &Error) {
        self.0.lock().unwrap().push("waits");
    }

    fn goes_on(&self) {
        self.0.lock().unwrap().push("goes on");
    }

    fn gives_up(&self) {
        self.0.lock().unwrap().push("gives up");
    }
}

/// Returns a client whose patience does not depend on answers, and its watcher.
fn client(patience: Duration) -> (Client, Arc<Heard>) {
    let heard = Arc::new(Heard::default());
    let options = ClientOptions {
        patience,
        first_patience: patience,
        watch: Some(Arc::clone(&heard) as Arc<dyn Watch>),
        ..ClientOptions::default()
    };
    (Client::new(Vec::new(), options), heard)
}

fn busy() -> Failed<Error> {
    Error::remote("CallQueueTooBigException", "as told").into()
}

/// Repeats an attempt until it succeeds or there is no hope.
async fn run(
    client: &Client,
    mut attempt: impl AsyncFnMut(&mut Retry<'_>) -> Result<(), Failed<Error>>,
) -> Result<(), Error> {
    let mut retry = Retry::new(client, "t");
    while let Err(failed) = attempt(&mut retry).await {
        retry.after(failed).await?;
    }
    retry.has_gone_on();
    Ok(())
}

/// Returns true for a pause whose random part is within its bounds, on a clock of milliseconds.
fn is_within(pause: Duration, whole: Duration) -> bool {
    let slack = Duration::from_millis(2);
    (whole.saturating_sub(slack) / 2..=whole + slack).contains(&pause)
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_up_to_a_bound() {
    let (client, heard) = client(PATIENCE);
    let mut begins = Vec::new();
    let outcome = run(&client, async |_| {
        begins.push(time::Instant::now());
        if begins.len() > 15 { Ok(()) } else { Err(busy()) }
    })
    .await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(begins.len(), 16);
    for (n, pair) in begins.windows(2).enumerate() {
        let whole = PAUSE_MAX.min(PAUSE_FIRST * 2_u32.pow(n as u32));
        assert!(is_within(pair[1] - pair[0], whole), "{n}: {:?}", pair[1] - pair[0]);
    }
    let mut expected = vec!["waits"; 15 - (TOLD_FROM as usize - 1)];
    expected.push("goes on");
    assert_eq!(*heard.0.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn the_last_try_comes_at_the_very_end() {
    let (client, heard) = client(PATIENCE);
    let begun = time::Instant::now();
    let mut last = begun;
    let outcome = run(&client, async |tries| {
        last = time::Instant::now();
        let left = PATIENCE.saturating_sub(last - begun);
        let usual = client.options().call_timeout;
        let expected = if last - begun < LAST_TRY { usual } else { usual.min(left.max(LAST_TRY)) };
        assert_eq!(tries.within(), expected);
        Err(busy())
    })
    .await;
    assert!(matches!(&outcome, Err(Error::GaveUp { waited, .. }) if *waited >= PATIENCE), "{outcome:?}");
    assert!((PATIENCE..PATIENCE + Duration::from_millis(2)).contains(&(last - begun)), "{:?}", last - begun);
    assert_eq!(heard.0.lock().unwrap().last(), Some(&"gives up"));
}

#[tokio::test(start_paused = true)]
async fn progress_begins_the_patience_anew() {
    let (client, _) = client(PATIENCE);
    let begun = time::Instant::now();
    let mut n_tries = 0;
    let outcome = run(&client, async |tries| {
        n_tries += 1;
        if n_tries <= 100 {
            tries.has_gone_on();
        }
        Err(busy())
    })
    .await;
    assert!(matches!(outcome, Err(Error::GaveUp { .. })), "{outcome:?}");
    // Each of the hundred pauses was the first.
    let most = PATIENCE + 100 * (PAUSE_FIRST + Duration::from_millis(2));
    assert!((PATIENCE..most).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_hopeless_error_ends_at_once() {
    let (client, heard) = client(PATIENCE);
    let begun = time::Instant::now();
    for is_of_caller in [false, true] {
        let outcome = run(&client, async |_| {
            let error = Error::remote("TableNotFoundException", "t");
            Err(if is_of_caller { Failed::Final(error) } else { error.into() })
        })
        .await;
        assert!(matches!(outcome, Err(Error::Remote(_))), "{outcome:?}");
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert!(heard.0.lock().unwrap().is_empty());
}

/// The calls can be spawned on a runtime with many threads.
#[tokio::test]
async fn calls_can_be_sent_to_another_thread() {
    fn sent<T>(future: impl Future<Output = T> + Send) -> impl Future<Output = T> + Send {
        future
    }
    let (client, _) = client(Duration::ZERO);
    let mut visit = |_: usize, _: crate::Pages| Ok::<_, Error>(());
    let page =
        crate::PageOptions { pieces_max: 1, cells_max: 1, together_min: 1, cache_blocks: false, since: None };
    let family = bytes::Bytes::from_static(b"f");
    let ranges = [crate::Range::new("a", "b")];
    let gets = [crate::Get::new("a")];
    assert!(sent(client.get_many("t", &gets, None)).await.is_err());
    assert!(sent(client.mutate_many("t", &[], None)).await.is_ok());
    assert!(sent(client.check_and_mutate_many("t", &[], None)).await.is_ok());
    assert!(sent(client.pages("t", &family, &ranges, &page, &mut visit)).await.is_err());
    assert!(sent(client.time_to_live("t", b"f", None)).await.is_err());
    assert!(sent(client.scan("t", crate::Scan::default()).next()).await.is_err());
}
