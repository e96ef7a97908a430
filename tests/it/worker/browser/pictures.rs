//! Pictures of the page in the book, made anew with `PIGEONHOLE_UPDATE_PAGES=1`.

use std::fs;

use serde_json::json;

use super::{TEXT, edited, explained, find};
use crate::support::{BROWSER, Worker, browser, root};

/// Size of a picture that a reader waits for.
const BYTES_MAX: usize = 150_000;
const WIDTH: u32 = 1280;

/// A hit that is opened: both texts, what differs, and by what it was found.
#[test]
fn a_hit_is_in_the_book() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    worker.post("/v1/documents", &json!({ "id": "harbour", "text": TEXT, "source": "wire-7" }));
    page.prefer("light");
    page.open(worker.base());
    page.wait_for(".examples a");
    find(&page, &edited().replace("harbour", "haven"));
    explained(&page);
    page.click(".why > summary");
    page.script(
        "document.activeElement.blur(); scrollTo(0, 0); document.querySelector('#find-text').rows = 3; \
         document.querySelectorAll('.why > :not(summary, .found-by), .keyboard').forEach((part) => part.remove())",
    );
    let height =
        page.script("return Math.ceil(document.querySelector('.why').getBoundingClientRect().bottom) + 24");
    page.resize(WIDTH, u32::try_from(height.as_u64().unwrap()).unwrap());
    assert_eq!(page.texts(".matches .id"), ["harbour"]);
    assert_eq!((page.count(".two .texts"), page.count(".found-by")), (2, 1));
    let (path, picture) = (root().join("docs/src/images/page.png"), page.screenshot());
    // A picture has the time at which it was made, so it is made anew only where one asks for that,
    // in the browser of which the smaller pictures are.
    let is_asked_for = std::env::var_os("PIGEONHOLE_UPDATE_PAGES").is_some_and(|value| value == "1");
    if is_asked_for && std::env::var_os(BROWSER).is_none() {
        fs::write(&path, &picture).unwrap();
    }
    let shown = fs::read(&path).unwrap();
    assert!(shown.len() < BYTES_MAX, "the picture has {} bytes", shown.len());
    for picture in [picture, shown] {
        // The header of PNG has the width at its byte 16.
        assert_eq!(picture[16..20], WIDTH.to_be_bytes());
    }
    let service = fs::read_to_string(root().join("docs/src/service.md")).unwrap();
    assert!(service.contains("](images/page.png)"), "it is shown");
    assert_eq!(page.script("return document.title"), json!("Pigeonhole"));
}
