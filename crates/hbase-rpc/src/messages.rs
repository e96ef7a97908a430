//! The messages of HBase's RPC needed here, with the field numbers of the protocol files of HBase
//! 2.6. Fields that neither side needs here are left out. Servers may send them, and unknown fields
//! are skipped.

mod call;
mod meta;
mod row;
mod scan;

pub use self::call::*;
pub use self::meta::*;
pub use self::row::*;
pub use self::scan::*;
