use super::*;
use crate::sealed::for_each_damage;

fn record(n: u32) -> Vec<u8> {
    match n % 5 {
        0 => Vec::new(),
        1 => n.to_be_bytes().to_vec(),
        2 => vec![n as u8; 40 * n as usize],
        3 => format!("{n} ferries leave. ").repeat(9).into_bytes(),
        _ => (0..n).map(|byte| (byte * byte + n) as u8).collect(),
    }
}

#[test]
fn records_come_back_as_they_were_pushed() {
    for (packing, n_cached_bytes, n_waiting_bytes) in
        [(Packing::Plain, 0), (Packing::Plain, 1 << 20), (Packing::Zstandard, 1 << 20)]
            .into_iter()
            .flat_map(|(packing, n)| [(packing, n, 0), (packing, n, 1 << 20), (packing, n, 1 << 30)])
    {
        let folder = tempfile::tempdir().unwrap();
        let mut records = Records::create(folder.path(), packing, n_cached_bytes).unwrap();
        records.set_waiting(n_waiting_bytes);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the file has no name");
        let get = |records: &Records, n| records.get(n, <[u8]>::to_vec).unwrap().map(|got| got == record(n));
        for n in 0..2_000 {
            let of_n = record(n);
            let (head, rest) = of_n.split_at(of_n.len() / 3);
            assert_eq!(records.push(&[head, rest]).unwrap(), n);
            assert_eq!(get(&records, n), Some(true), "{n}");
            assert_eq!(get(&records, n / 2), Some(true), "{n}");
        }
        for n in (0..2_000).rev().chain([3, 1_999, 1_000]) {
            assert_eq!(get(&records, n), Some(true), "{n}");
        }
        records.foresee([0, 0, 900, 1_999]);
        let mut place = Place::default();
        for n in [0, 0, 1, 7].into_iter().chain(900..2_000).chain([5]) {
            let record_of_n = records.get_in_order(&mut place, n, <[u8]>::to_vec).unwrap();
            assert!(record_of_n == Some(record(n)), "{n}");
        }
        assert_eq!(records.get_in_order(&mut place, 2_000, <[u8]>::to_vec).unwrap(), None);
        assert_eq!(get(&records, 2_000), None);
        assert_eq!(records.len(), 2_000);
    }
}

#[test]
fn texts_take_half_of_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = Records::create(folder.path(), Packing::Zstandard, 0).unwrap();
    let mut n_bytes = 0;
    for n in 0..400_u64 {
        let words = (0..150).map(|k| (n * 31 + k * k * 7) % 997);
        let text: String = words.map(|word| format!("word{word} of the {} ", word % 13)).collect();
        n_bytes += text.len() as u64;
        records.push(&[text.as_bytes()]).unwrap();
    }
    assert!(records.n_bytes() < n_bytes / 2, "{} of {n_bytes}", records.n_bytes());
}

/// Short records share pages, and a read of one is of one page. Long ones leave few bytes free.
#[test]
fn plain_blocks_begin_with_pages() {
    let folder = tempfile::tempdir().unwrap();
    for (n_bytes, is_short) in [(150..190, true), (1..400, true), (3_000..5_000, false)] {
        let mut records = Records::create(folder.path(), Packing::Plain, 0).unwrap();
        let mut n_pushed = 0;
        for n in (0..2_000).map(|n| n_bytes.start + n * 7919 % n_bytes.len()) {
            n_pushed += n as u64;
            records.push(&[&vec![1; n]]).unwrap();
        }
        let is_page = |block: &Block| {
            block.offset.is_multiple_of(BLOCK_BYTES as u64) && block.n_bytes <= BLOCK_BYTES as u32
        };
        assert!(!is_short || records.blocks.iter().all(is_page), "{n_bytes:?}");
        assert!(records.n_bytes() < n_pushed + n_pushed / 10, "{n_bytes:?}: {}", records.n_bytes());
    }
}

#[test]
fn a_damaged_block_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for packing in [Packing::Plain, Packing::Zstandard] {
        let mut records = Records::create(folder.path(), packing, 0).unwrap();
        for n in 0..300 {
            records.push(&[&record(n)]).unwrap();
        }
        // The packed blocks come to the file one after another.
        while records.n_written() < 20 {
            records.push(&[&record(303)]).unwrap();
        }
        let same = records.file.file().try_clone().unwrap();
        let n_bytes = same.metadata().unwrap().len();
        let is_damaged = |at: u64, is_read_in_order: bool| {
            let block = records.blocks[..records.n_written()].partition_point(|block| block.offset <= at) - 1;
            let first = records.blocks[block].first;
            let read = match is_read_in_order {
                true => records.get_in_order(&mut Place::default(), first, |_| ()),
                false => records.get(first, |_| ()),
            };
            let damaged = read.err().filter(|error| error.kind() == io::ErrorKind::InvalidData);
            let (offset, len) = records.place_of(block as u32);
            assert_eq!(damaged.is_some(), at < offset + len, "{packing:?} at {at} of {n_bytes}");
        };
        for_each_damage(&same, 499, |at| [true, false].iter().for_each(|in_order| is_damaged(at, *in_order)));
    }
}
