//! Flags that several programs have: the index, its recipe, and the inputs.

#[cfg(feature = "input")]
mod input;
mod numbers;
mod recipe;
mod store;
mod uri;

#[cfg(feature = "input")]
pub use input::{FileArgs, IdArgs, PageArgs, RecordArgs, TextlessArgs, digits, page_text};
pub use numbers::{bytes, count};
pub use recipe::{DictionaryFileError, Fold, RecipeArgs, TermArgs};
pub use store::{BuiltArgs, ClockArgs, PlaceArgs, StoreArgs, parse_similarity};
pub use uri::{UriParser, check_uri};
