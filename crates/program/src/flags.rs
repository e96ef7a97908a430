//! Flags that several programs have: the index, its recipe, and the inputs.

mod built;
#[cfg(feature = "input")]
mod input;
mod numbers;
mod recipe;
mod store;
mod uri;

pub use built::{BuiltArgs, ClockArgs, parse_similarity};
#[cfg(feature = "input")]
pub use input::{FileArgs, IdArgs, PageArgs, RecordArgs, TextlessArgs, digits, input_words, page_text};
pub use numbers::{bytes, count};
pub use recipe::{DictionaryFileError, Fold, RecipeArgs, TermArgs};
pub use store::{PlaceArgs, StoreArgs};
pub use uri::{UriParser, check_uri};
