//! The calls that make later ones fast.

use super::Index;
use crate::Result;
#[cfg(doc)]
use crate::Store;

impl Index {
    /// See [`Store::prepare`]: a service calls it before it says that it is ready.
    ///
    /// # Errors
    /// Those of the store.
    pub fn prepare(&self) -> Result<()> {
        self.store.prepare()
    }

    /// See [`Store::leap_bytes`].
    #[must_use]
    pub fn leap_bytes(&self, n: usize) -> u64 {
        self.store.leap_bytes(n)
    }

    /// See [`Store::give_memory`].
    pub fn give_memory(&self, n_bytes: u64) {
        self.store.give_memory(n_bytes);
    }

    /// See [`Store::write_image`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn write_image(&self, progress: &mut dyn FnMut(f64)) -> Result<bool> {
        self.store.write_image(progress)
    }

    /// See [`Store::ready`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn ready(&self) -> Result<()> {
        self.store.ready()
    }
}
