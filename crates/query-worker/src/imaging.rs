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

/// Writes images for as long as the runtime lives, or until one fails.
pub(crate) fn begin(worker: &Arc<Worker>) {
    let worker = Arc::clone(worker);
    tokio::spawn(async move {
        loop {
            let of_task = Arc::clone(&worker);
            match task::spawn_blocking(move || of_task.index().write_image(&mut |_| {})).await {
                Ok(Ok(true)) => info!("an image of the search tables was written: the next start is faster"),
                Ok(Ok(false)) => {}
                Ok(Err(error)) => {
                    warn!(%error, "no image of the search tables was written, so the next start takes longer");
                    return;
                }
                Err(error) => {
                    warn!(%error, "the writing of an image of the search tables broke off");
                    return;
                }
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    });
}
