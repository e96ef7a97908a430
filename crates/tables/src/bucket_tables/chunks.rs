//! A growing array that never moves more than one chunk of itself: no push stops the world.

use std::ops::{Index, IndexMut};

/// An array in chunks of [`LEN`](Self::LEN): all but the last are full. The first grows as a `Vec`
/// does, which keeps a small array small; every later one is allocated whole.
#[derive(Clone, Debug)]
pub(super) struct Chunks<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T> Chunks<T> {
    /// The elements of a chunk, a power of two: half a megabyte of the small ones.
    pub(super) const LEN: usize = if size_of::<T>() <= 2 { 1 << 18 } else { 1 << 16 };

    pub(super) fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * Self::LEN + last.len())
    }

    pub(super) fn push(&mut self, element: T) {
        self.room().push(element);
    }

    /// The number of elements that fit before a new chunk is begun.
    pub(super) fn left_in_chunk(&self) -> usize {
        self.chunks.last().map_or(0, |last| Self::LEN - last.len())
    }

    /// Returns the last chunk, with room for one element at least.
    fn room(&mut self) -> &mut Vec<T> {
        if self.left_in_chunk() == 0 {
            let is_first = self.chunks.is_empty();
            self.chunks.push(if is_first { Vec::new() } else { Vec::with_capacity(Self::LEN) });
        }
        self.chunks.last_mut().expect("a chunk was pushed where there was none")
    }

    /// Returns `len` elements from `start`, which must lie in one chunk.
    #[inline]
    pub(super) fn slice(&self, start: usize, len: usize) -> &[T] {
        let at = start % Self::LEN;
        &self.chunks[start / Self::LEN][at..at + len]
    }

    /// Returns `len` elements from `start`, which must lie in one chunk.
    pub(super) fn slice_mut(&mut self, start: usize, len: usize) -> &mut [T] {
        let at = start % Self::LEN;
        &mut self.chunks[start / Self::LEN][at..at + len]
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let elements: usize = self.chunks.iter().map(Vec::capacity).sum();
        elements * size_of::<T>() + self.chunks.capacity() * size_of::<Vec<T>>()
    }
}

impl<T: Copy + Default> Chunks<T> {
    /// Appends `len` default elements, at most [`left_in_chunk`](Self::left_in_chunk) or a new
    /// chunk's worth.
    pub(super) fn grow(&mut self, len: usize) {
        let chunk = self.room();
        chunk.resize(chunk.len() + len, T::default());
    }
}

impl<T: Copy> Chunks<T> {
    /// Copies `len` elements. Source and target must lie in one chunk each, and must not overlap.
    pub(super) fn copy(&mut self, from: usize, to: usize, len: usize) {
        let (from_chunk, from) = (from / Self::LEN, from % Self::LEN);
        let (to_chunk, to) = (to / Self::LEN, to % Self::LEN);
        if let Ok([source, target]) = self.chunks.get_disjoint_mut([from_chunk, to_chunk]) {
            target[to..to + len].copy_from_slice(&source[from..from + len]);
        } else {
            self.chunks[to_chunk].copy_within(from..from + len, to);
        }
    }
}

impl<T> Index<usize> for Chunks<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        &self.chunks[index / Self::LEN][index % Self::LEN]
    }
}

impl<T> IndexMut<usize> for Chunks<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.chunks[index / Self::LEN][index % Self::LEN]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stay_where_they_were_pushed() {
        const CHUNK_LEN: usize = Chunks::<usize>::LEN;
        let mut chunks = Chunks::default();
        let n = 2 * CHUNK_LEN + 3;
        for i in 0..n {
            assert_eq!(chunks.len(), i);
            chunks.push(i);
        }
        chunks[CHUNK_LEN] += 1;
        assert_eq!(chunks[CHUNK_LEN - 1], CHUNK_LEN - 1);
        assert_eq!(chunks[CHUNK_LEN], CHUNK_LEN + 1);
        assert_eq!(chunks.slice(2 * CHUNK_LEN, 3), [n - 3, n - 2, n - 1]);
        assert_eq!(chunks.left_in_chunk(), CHUNK_LEN - 3);
        // Nothing is held that was not asked for: three chunks, and their list.
        assert!(chunks.heap_bytes() <= 3 * CHUNK_LEN * 8 + 4 * size_of::<Vec<usize>>());
    }
}
