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

    /// See [`Store::write_image`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn write_image(&self) -> Result<bool> {
        self.store.write_image()
    }

    /// See [`Store::ready`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn ready(&self) -> Result<()> {
        self.store.ready()
    }
}
