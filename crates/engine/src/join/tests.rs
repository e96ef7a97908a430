use std::cell::Cell as StdCell;
use std::collections::BTreeSet;

use index::{Cursor, Features, NewDocument, OpenOptions, Profile, Segments, StoredDocument};

use simhash::Fingerprint;

use super::*;
use crate::{Engine, Options};

/// The error type of all calls.
type Failed = Box<dyn std::error::Error>;

type Pairs = Vec<(String, String, Nearness)>;

fn scratch() -> io::Result<File> {
    tempfile::tempfile()
}

fn id(name: &str) -> DocumentId {
    DocumentId::new(name).unwrap()
}

fn cell_join(index: &Index, block: usize) -> CellJoin<'_> {
    CellJoin { block, ..CellJoin::new(index, index.rule()).unwrap() }
}

fn documents(index: &Index) -> Vec<StoredDocument> {
    let page = index.scan(Cursor::start(), MAX_BATCH).unwrap();
    assert_eq!(page.next, None);
    page.documents
}

/// The documents, with their texts if the index keeps texts.
fn told(index: &Index) -> Vec<StoredDocument> {
    let mut documents = documents(index);
    for stored in &mut documents {
        let text = index.texts(std::slice::from_ref(&stored.document.id)).unwrap().remove(0);
        stored.document.sketch = stored.document.sketch.clone().with_text(text);
    }
    documents
}

fn cells(index: &Index) -> Vec<Cell> {
    let documents = documents(index).into_iter().map(|stored| stored.document);
    let of =
        |document: index::Document| Cell::of_document(&document.id, &document.sketch).collect::<Vec<_>>();
    let mut cells: Vec<Cell> = documents.flat_map(of).collect();
    cells.sort();
    cells
}

fn joined(index: &Index, cells: &[Cell], page: usize, block: usize) -> (Pairs, Joined) {
    let mut pairs = Vec::new();
    let pages = cells.chunks(page).map(|cells| Ok(cells.to_vec()));
    let mut visit = |pair: NearPair<'_>| -> Result<(), Failed> {
        assert!(pair.a < pair.b);
        pairs.push((pair.a.as_str().to_owned(), pair.b.as_str().to_owned(), pair.nearness));
        Ok(())
    };
    let joined = cell_join(index, block).run(pages, &scratch, &|_| Ok(()), &mut visit).unwrap();
    assert_eq!(joined.n_pairs, pairs.len() as u64);
    (pairs, joined)
}

/// Near pairs by the rule alone, over all pairs, with texts if the index keeps them.
fn naive(index: &Index) -> BTreeSet<(String, String)> {
    let (documents, rule) = (told(index), index.rule());
    let mut near = BTreeSet::new();
    for (n, a) in documents.iter().enumerate() {
        for b in &documents[n + 1..] {
            if rule.nearness(&a.document.sketch, &b.document.sketch).is_some() {
                let [a, b] = [a, b].map(|stored| stored.document.id.as_str().to_owned());
                near.insert((a.clone().min(b.clone()), a.max(b)));
            }
        }
    }
    near
}

fn names(pairs: &Pairs) -> BTreeSet<(String, String)> {
    let names: BTreeSet<_> = pairs.iter().map(|(a, b, _)| (a.clone(), b.clone())).collect();
    assert_eq!(names.len(), pairs.len(), "each pair once");
    names
}

/// Long and short texts with copies, edits and words in another order, and some of symbols.
fn texts() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for n in 0..12_u64 {
        let word = |k: u64| format!("w{:x}", (n * 1_000 + k).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
        for len in [6, 12, 80] {
            let words: Vec<String> = (0..len).map(word).collect();
            let mut edited = words.clone();
            edited[len as usize / 2] = "otherwise".to_owned();
            let mut turned = words.clone();
            turned.rotate_left(len as usize / 3);
            for (what, words) in
                [("text", words.clone()), ("copy", words), ("edited", edited), ("turned", turned)]
            {
                texts.push((format!("{what} {len} {n}"), words.join(" ")));
            }
        }
    }
    texts.extend((0..9).map(|n| (format!("symbols {n}"), if n < 6 { "★☆★" } else { "☆☆★★☯" }.to_owned())));
    texts.extend((0..11).map(|n| (format!("same {n}"), "one text that comes again and again".to_owned())));
    texts
}

fn engine_of(profile: Profile, verify: Option<bool>) -> Engine {
    let options = Options { profile: Some(profile), verify, ..Options::of_words() };
    let engine = Engine::open("memory:", &options).unwrap();
    let (names, texts): (Vec<String>, Vec<String>) = texts().into_iter().unzip();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let features = engine.features(&texts).into_iter();
    let documents: Vec<(DocumentId, Features)> =
        names.iter().zip(features).filter_map(|(name, features)| Some((id(name), features?))).collect();
    engine.index().insert(&documents).unwrap();
    engine
}

#[test]
fn it_finds_what_the_rule_says_of_all_pairs() {
    for (profile, verify, n_min) in [
        (Profile::Classic, Some(false), 100),
        (Profile::Classic, None, 80),
        (Profile::Minhash, None, 100),
        (Profile::Full, None, 100),
    ] {
        let engine = engine_of(profile, verify);
        let index = engine.index();
        let (cells, expected) = (cells(index), naive(index));
        assert!(expected.len() > n_min, "{profile} {}", expected.len());
        let (whole, counts) = joined(index, &cells, MAX_BATCH, BLOCK_CELLS);
        assert_eq!(names(&whole), expected, "{profile}");
        let rows: BTreeSet<_> = cells.iter().map(|cell| cell.row).collect();
        assert_eq!(counts.n_rows, rows.len() as u64);
        // Cells twice and in pages of any length give the same pairs in the same order.
        let twice: Vec<Cell> = cells.iter().flat_map(|cell| [cell.clone(), cell.clone()]).collect();
        for page in [1, 7, 1_000] {
            assert_eq!(joined(index, &twice, page, BLOCK_CELLS), (whole.clone(), counts));
        }
        // A smaller block gives the same pairs, once each.
        for block in [1, 2, 3, 10] {
            let (crowded, _) = joined(index, &cells, 5, block);
            assert_eq!(names(&crowded), expected, "{profile}, blocks of {block}");
            assert_eq!(joined(index, &twice, 1_000, block).0, crowded);
        }
        // Parts together give the whole.
        let parts = Segments::parts(index.kind(), 7).unwrap();
        let of_part = |part: &Segments| {
            let cells: Vec<Cell> =
                cells.iter().filter(|cell| part.contains(cell.row.bucket())).cloned().collect();
            joined(index, &cells, 1_000, BLOCK_CELLS).0
        };
        assert_eq!(parts.iter().flat_map(of_part).collect::<Vec<_>>(), whole);
        let told = told(index);
        let sketch_of = |name: &str| {
            &told.iter().find(|stored| stored.document.id.as_str() == name).unwrap().document.sketch
        };
        for (a, b, nearness) in &whole {
            assert_eq!(index.rule().nearness(sketch_of(a), sketch_of(b)), Some(*nearness));
            assert_eq!(nearness.exact, verify != Some(false), "what is called was counted");
        }
    }
}

/// A bucket of very many cells was once compared to its end after another part had failed, and
/// whatever memory it took.
#[test]
fn a_crowd_ends_where_its_check_fails() {
    let engine = engine_of(Profile::Minhash, None);
    let all = cells(engine.index());
    let (n_steps, n_bytes_most) = (StdCell::new(0), StdCell::new(0));
    let run = |n_steps_max: u64, n_bytes_max: u64| {
        n_steps.set(0);
        n_bytes_most.set(0);
        let check = |n_bytes: u64| {
            n_steps.set(n_steps.get() + u64::from(n_bytes == 0));
            n_bytes_most.set(n_bytes_most.get().max(n_bytes));
            if n_steps.get() > n_steps_max || n_bytes > n_bytes_max { Err("ended".into()) } else { Ok(()) }
        };
        let visit = &mut |_: NearPair<'_>| Ok::<(), Failed>(());
        cell_join(engine.index(), 2).run(std::iter::once(Ok(all.clone())), &scratch, &check, visit)
    };
    run(u64::MAX, u64::MAX).unwrap();
    let (n_all, n_most) = (n_steps.get(), n_bytes_most.get());
    // Each block of two cells meets those behind it, and the end.
    let buckets = all.chunk_by(|one, next| one.row.bucket() == next.row.bucket());
    let crowds = buckets.map(|cells| cells.len().div_ceil(2) as u64).filter(|n_blocks| *n_blocks > 1);
    assert_eq!(n_all, crowds.map(|n| n + 1 + n * (n + 1) / 2).sum::<u64>());
    assert!(n_all > 100 && n_most > 0, "{n_all} {n_most}");
    for n_steps_max in [0, 1, n_all / 2, n_all - 1] {
        assert!(run(n_steps_max, u64::MAX).is_err());
        assert_eq!(n_steps.get(), n_steps_max + 1, "nothing is done afterwards");
    }
    assert!(run(u64::MAX, n_most - 1).is_err());
}

/// Cells of an earlier version of a document, of missing documents, and of one that is still to
/// come.
#[test]
fn cells_that_lead_nowhere_make_no_pairs() {
    let engine = engine_of(Profile::Full, None);
    let index = engine.index();
    let mut all = cells(index);
    let gone: Vec<DocumentId> = (0..3).map(|n| id(&format!("same {n}"))).collect();
    assert_eq!(index.remove(&gone).unwrap(), [true; 3]);
    // The document was near to its copies, and is near to another text now.
    let other = index.get(&[id("text 80 1")]).unwrap().pop().flatten().unwrap();
    let features = other.document.sketch.features().clone();
    index.insert(&[NewDocument { id: id("text 80 0"), features, source: None }]).unwrap();
    all.extend(cells(index));
    all.sort();
    let expected = naive(index);
    assert!(expected.contains(&("text 80 0".to_owned(), "text 80 1".to_owned())));
    for block in [2, BLOCK_CELLS] {
        let (pairs, _) = joined(index, &all, 100, block);
        assert_eq!(names(&pairs), expected);
    }
}

#[test]
fn a_narrower_rule_finds_less_and_a_wider_one_is_refused() {
    let engine = engine_of(Profile::Full, None);
    let index = engine.index();
    let cells = cells(index);
    let n_pairs = |min_similarity: f64, n_bits: u32| -> IndexResult<u64> {
        let min_similarity = minhash::Similarity::new(min_similarity);
        let rule = Rule { min_similarity, max_distance: n_bits.to_string().parse().unwrap(), ..index.rule() };
        let join = CellJoin::new(index, rule)?;
        let visit = &mut |_: NearPair<'_>| Ok::<(), Failed>(());
        let pages = std::iter::once(Ok(cells.clone()));
        Ok(join.run(pages, &scratch, &|_| Ok(()), visit).unwrap().n_pairs)
    };
    let (own, narrower) = (n_pairs(0.8, 3).unwrap(), n_pairs(1.0, 0).unwrap());
    assert!(0 < narrower && narrower < own, "{narrower} {own}");
    // Below the index's own similarity its bands find fewer of the pairs, but no fewer than at it.
    assert!(n_pairs(0.7, 3).unwrap() >= n_pairs(0.8, 3).unwrap() && n_pairs(0.8, 4).is_err());
}

/// A pair of simhashes is a candidate in its first shared bucket alone, as row keys tell that
/// bucket.
#[test]
fn what_row_keys_tell_is_not_read_again() {
    let options =
        OpenOptions { profile: Some(Profile::Classic), verify: Some(false), ..OpenOptions::default() };
    let index = crate::open_index("memory:", &options).unwrap();
    let near = [("a", 0), ("b", 1), ("c", u64::MAX)].map(|(name, bits)| (id(name), Fingerprint(bits)));
    index.insert(&near).unwrap();
    let (_, counts) = joined(&index, &cells(&index), 100, BLOCK_CELLS);
    assert_eq!((counts.n_candidates, counts.n_pairs), (1, 1));
}

/// An index without texts estimates, from the side of the lesser id.
#[test]
fn without_texts_estimates_decide() {
    let options = Options { texts: Some(index::TextKeeping::None), ..Options::default() };
    let engine = Engine::open("memory:", &options).unwrap();
    let words: Vec<String> =
        (0..100_u64).map(|n| format!("w{:x}", (n + 9).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)).collect();
    let texts = [("b", words.join(" ")), ("a", words[..93].join(" "))];
    let texts = texts.each_ref().map(|(name, text)| crate::Text::new(id(name), text));
    engine.insert(&texts).unwrap();
    let index = engine.index();
    let (pairs, _) = joined(index, &cells(index), 100, BLOCK_CELLS);
    let [(a, b, nearness)] = &pairs[..] else { panic!("one pair: {pairs:?}") };
    let [of_a, of_b] = nearness.shares.unwrap();
    assert!(a == "a" && b == "b" && !nearness.exact && of_a > of_b, "{nearness:?}");
}
