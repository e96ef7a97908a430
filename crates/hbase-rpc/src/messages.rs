//! The messages of HBase's RPC that are needed here, with the numbers of their fields in the protocol files of HBase 2.6.
//! What is left out of a message is a field that neither side needs here; a server sends what it likes, and unknown fields
//! are passed over.

mod call;
mod meta;
mod row;
mod scan;

pub use self::call::*;
pub use self::meta::*;
pub use self::row::*;
pub use self::scan::*;
