//! Pages of `data.mdb` with other bytes than were written: no call dies of them, or answers by
//! them.

use std::fs;

use super::texts::{call, honest, open};
use super::*;

const PAGE_BYTES: usize = 4096;

/// An index with texts that has let pages go, and what is found in it.
fn index(path: &Path) -> Vec<String> {
    let store = open(path);
    for n in 0..12 {
        call(&store, n);
    }
    let many: Vec<_> = (0..600).map(|n| honest(&format!("many {n}"), 1_000 * n..1_000 * n + 60)).collect();
    store.insert(&many).unwrap();
    // With texts in pages of their own.
    store.insert(&[honest("long", 5_000_000..5_004_000), honest("longer", 6_000_000..6_009_000)]).unwrap();
    let answers = answers(&store).unwrap();
    assert!(answers.len() > 100);
    answers
}

/// All that can be read.
fn answers(store: &EmbeddedStore) -> Result<Vec<String>> {
    let page = store.scan(Cursor::start(), 1000)?;
    let ids: Vec<_> = page.documents.iter().map(|stored| stored.document.id.clone()).collect();
    let sketches: Vec<_> =
        page.documents.iter().take(5).map(|stored| stored.document.sketch.clone()).collect();
    let mut answers = vec![format!("{:?}", store.status()?.n_documents)];
    answers.extend(store.get(&ids)?.iter().map(|stored| format!("{stored:?}")));
    answers.extend(store.texts(&ids)?.iter().map(|text| format!("{text:?}")));
    answers.extend(store.near(&sketches, &within(3), 5)?.iter().map(|near| format!("{near:?}")));
    let mut examined = 0;
    store.examine(false, &mut |found| examined += u64::from(!matches!(found, Examined::Items(_))))?;
    answers.push(format!("{examined} findings"));
    Ok(answers)
}

/// Puts other bytes into each page in turn, opens the store, and counts the reported pages and all
/// pages. The other pages must change no answer: they are free.
fn count_told(mut spoil: impl FnMut(&mut [u8], u64), limits: Limits) -> (usize, usize) {
    let directory = directory();
    let before = index(directory.path());
    let file = directory.path().join(directory::DATA_FILE);
    let sound = fs::read(&file).unwrap();
    let n_pages = sound.len() / PAGE_BYTES;
    let mut n_told = 0;
    for number in 0..n_pages {
        let mut bytes = sound.clone();
        spoil(&mut bytes[number * PAGE_BYTES..][..PAGE_BYTES], number as u64);
        fs::write(&file, &bytes).unwrap();
        let opened = EmbeddedStore::open_with(directory.path(), Mode::MustExist, limits, Clock::system());
        match opened.and_then(|store| answers(&store)) {
            Ok(after) => assert_eq!(after, before, "page {number}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "page {number}: {error}");
                n_told += 1;
            }
        }
    }
    (n_told, n_pages)
}

fn noise(page: &mut [u8], seed: u64) {
    for (place, bytes) in page.chunks_exact_mut(8).enumerate() {
        bytes.copy_from_slice(&spread(spread(seed) ^ place as u64).to_be_bytes());
    }
}

#[test]
fn noise_in_any_page_is_told() {
    let (n_told, n_pages) = count_told(noise, SMALL);
    assert!(n_pages > 64 && n_told > n_pages / 2, "{n_told} of {n_pages}");
}

/// As a file of a size is that takes too long to look through when it is opened.
#[test]
fn noise_is_told_before_everything_is_read() {
    let (n_told, n_pages) = count_told(noise, Limits { looked_through_max: 0, ..SMALL });
    assert!(n_told > n_pages / 2, "{n_told} of {n_pages}");
}

/// Noise behind the header, which names the page; and a page that was written to another's place.
#[test]
fn sound_headers_deceive_nobody() {
    let (n_told, n_pages) = count_told(|page, seed| noise(&mut page[16..], seed), SMALL);
    assert!(n_told > n_pages / 2, "{n_told} of {n_pages}");
    let mut last = vec![0; PAGE_BYTES];
    let shifted = |page: &mut [u8], _| last.swap_with_slice(page);
    let (n_told, n_pages) = count_told(shifted, SMALL);
    assert!(n_told > n_pages / 2, "{n_told} of {n_pages}");
}
