//! Files read in parts, in any order. A part is a window of some megabytes, since each costs a
//! request. The last windows are kept, since Parquet returns for bytes a little further on.
//! Outside of known extents a window is small at first and twice as long as the last one where it
//! goes on from there: a ZIP archive is read member by member, and some of them are passed over.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::{Buf, Bytes};

use super::Object;

const WINDOW_BYTES: u64 = 4 << 20;

/// Size of a window outside the known extents, as at first: enough for most footers.
const FIRST_BYTES: u64 = 64 << 10;

/// Size of the cache for all files together. If more columns than fit are read in turn, a window is
/// fetched again for each page.
const CACHE_BYTES: usize = 64 << 20;

/// Windows of all files of a run, the last used at the end.
#[derive(Default)]
pub(super) struct Cache(Mutex<VecDeque<Window>>);

struct Window {
    /// Number of the object.
    number: u64,
    start: u64,
    bytes: Bytes,
}

/// A file with random access.
#[derive(Clone)]
pub(crate) struct Windows {
    object: Object,
    /// Extents in order, each read from its beginning to its end. No window crosses the end of an
    /// extent.
    extents: Arc<OnceLock<Vec<Range<u64>>>>,
    /// The last window outside of them.
    last: Arc<Mutex<Range<u64>>>,
}

impl Windows {
    pub(super) fn new(object: Object) -> Self {
        Self { object, extents: Arc::default(), last: Arc::default() }
    }

    /// Announces the parts to be read, each from its beginning to its end.
    pub(crate) fn expect(&self, mut extents: Vec<Range<u64>>) {
        extents.sort_unstable_by_key(|extent| extent.start);
        // The extents of a file do not change once set.
        self.extents.set(extents).unwrap_or(());
    }

    pub(crate) fn n_bytes(&self) -> u64 {
        self.object.n_bytes()
    }

    /// Returns `len` bytes from `start` on.
    ///
    /// # Errors
    /// If the file ends earlier, or cannot be read.
    pub(crate) fn get(&self, start: u64, len: usize) -> io::Result<Bytes> {
        let end = start.checked_add(len as u64).filter(|end| *end <= self.n_bytes());
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let window = self.window(start, end)?;
        Ok(window.slice(..len))
    }

    /// Returns a reader from `start` to the end of the file.
    pub(crate) fn from(&self, start: u64) -> FromHere {
        FromHere { windows: self.clone(), next: start, bytes: Bytes::new() }
    }

    /// Returns the bytes from `start` to at least `end`.
    fn window(&self, start: u64, end: u64) -> io::Result<Bytes> {
        let cache = &self.object.remote.0.windows;
        if let Some(bytes) = cache.get(self.object.number, start, end) {
            return Ok(bytes);
        }
        let range = start..self.window_end(start).max(end).min(self.n_bytes());
        let bytes: Bytes = self.object.read(range.clone())?.into();
        if bytes.len() as u64 != range.end - range.start {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        cache.put(Window { number: self.object.number, start, bytes: bytes.clone() });
        Ok(bytes)
    }

    fn window_end(&self, start: u64) -> u64 {
        let extents = self.extents.get().map_or(&[][..], Vec::as_slice);
        let n_before = extents.partition_point(|extent| extent.start <= start);
        match n_before.checked_sub(1).map(|n| &extents[n]).filter(|extent| start < extent.end) {
            Some(extent) => extent.end.min(start.saturating_add(WINDOW_BYTES)),
            None => self.next_window_end(start),
        }
    }

    /// Returns the end of a window outside of the extents.
    fn next_window_end(&self, start: u64) -> u64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = !last.is_empty() && (last.start..=last.end).contains(&start);
        let len = if goes_on { (2 * (last.end - last.start)).min(WINDOW_BYTES) } else { FIRST_BYTES };
        *last = start..start.saturating_add(len);
        last.end
    }
}

impl Cache {
    fn get(&self, number: u64, start: u64, end: u64) -> Option<Bytes> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = windows.iter().position(|window| {
            window.number == number
                && window.start <= start
                && end <= window.start + window.bytes.len() as u64
                // The empty rest of a window, where the next one begins, is of no use.
                && start < window.start + window.bytes.len() as u64
        })?;
        let window = windows.remove(place)?;
        let bytes = window.bytes.slice((start - window.start) as usize..);
        windows.push_back(window);
        Some(bytes)
    }

    fn put(&self, window: Window) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.push_back(window);
        let mut n_bytes: usize = windows.iter().map(|window| window.bytes.len()).sum();
        while n_bytes > CACHE_BYTES
            && let Some(oldest) = windows.pop_front()
        {
            n_bytes -= oldest.bytes.len();
        }
    }
}

/// Reader of a file from some place on.
pub(crate) struct FromHere {
    windows: Windows,
    next: u64,
    bytes: Bytes,
}

impl Read for FromHere {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() && self.next < self.windows.n_bytes() {
            self.bytes = self.windows.window(self.next, self.next + 1)?;
            self.next += self.bytes.len() as u64;
        }
        let n = self.bytes.len().min(buffer.len());
        self.bytes.copy_to_slice(&mut buffer[..n]);
        Ok(n)
    }
}
