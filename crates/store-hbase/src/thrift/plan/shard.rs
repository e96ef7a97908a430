//! Cuts a batch into calls.

/// The number of items of a call: all connections have work, and none has too much at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shard {
    /// The fewest, to keep a little work on few connections.
    pub(crate) min: usize,
    /// The most.
    pub(crate) max: usize,
}

impl Shard {
    /// Returns the parts of a batch, each with the number of its first item.
    pub(crate) fn parts<T>(self, items: &[T], n_connections: usize) -> impl Iterator<Item = (usize, &[T])> {
        let len = items.len().div_ceil(n_connections).clamp(self.min, self.max);
        (0..).step_by(len).zip(items.chunks(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_neither_few_nor_long() {
        let shard = Shard { min: 3, max: 30 };
        for (n_items, n_connections, expected) in [
            (0, 4, &[][..]),
            (1, 4, &[(0, 1)]),
            (7, 4, &[(0, 3), (3, 3), (6, 1)]),
            (40, 4, &[(0, 10), (10, 10), (20, 10), (30, 10)]),
            (70, 2, &[(0, 30), (30, 30), (60, 10)]),
        ] {
            let items = vec![(); n_items];
            let parts: Vec<_> =
                shard.parts(&items, n_connections).map(|(at, part)| (at, part.len())).collect();
            assert_eq!(parts, expected, "{n_items} over {n_connections}");
        }
    }
}
