//! Images of the search tables of an embedded index, written while the worker serves: the next
//! start then reads a few blocks, and not all records.

use std::sync::Arc;
use std::time::Duration;

use tokio::task;
use tracing::{info, warn};

use crate::worker::Worker;

/// The pause between two looks at how many documents are in no image. The first look is at once, as
/// a worker that was long in starting had no image.
const LOOK_INTERVAL: Duration = Duration::from_secs(600);

/// The longest pause. Each look that fails doubles the pause: an image that a full disk ends costs
/// its work each time, and a busy index is free again soon.
const LOOK_INTERVAL_MAX: Duration = Duration::from_secs(6 * 3600);

/// Writes images for as long as the runtime lives.
pub(crate) fn begin(worker: &Arc<Worker>) {
    let worker = Arc::clone(worker);
    tokio::spawn(async move {
        let mut pause = LOOK_INTERVAL;
        loop {
            let of_task = Arc::clone(&worker);
            match task::spawn_blocking(move || of_task.index().write_image(&mut |_| {})).await {
                Ok(Ok(is_written)) => {
                    pause = LOOK_INTERVAL;
                    if is_written {
                        info!("an image of the search tables was written: the next start is faster");
                    }
                }
                Ok(Err(error)) => {
                    pause = after_a_failure(pause);
                    let minutes = pause.as_secs() / 60;
                    warn!(%error, minutes, "no image of the search tables was written; the next try is after a pause");
                }
                Err(error) => {
                    warn!(%error, "the writing of an image of the search tables broke off");
                    return;
                }
            }
            tokio::time::sleep(pause).await;
        }
    });
}

fn after_a_failure(pause: Duration) -> Duration {
    (2 * pause).min(LOOK_INTERVAL_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_after_failures_grow_up_to_a_bound() {
        let pauses = std::iter::successors(Some(LOOK_INTERVAL), |&pause| Some(after_a_failure(pause)));
        let minutes: Vec<u64> = pauses.map(|pause| pause.as_secs() / 60).take(8).collect();
        assert_eq!(minutes, [10, 20, 40, 80, 160, 320, 360, 360]);
    }
}
