//! The items of a batch: gets, changes, and changes on a condition.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use prost::Message;

use crate::messages::{
    self, Action, BINARY_COMPARATOR, BinaryComparator, ByteArrayComparable, Column, Comparator, Condition,
    DELETE, EQUAL, NameBytesPair, PUT, TIME_TO_LIVE,
};
use crate::{Cell, CellType, Error};

/// A request for some columns of a row, as of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Get {
    /// The key of the row.
    pub row: Bytes,
    /// Families, each with some of its columns, or with none for all of them. An empty list stands
    /// for the whole row.
    pub columns: Vec<(Bytes, Vec<Bytes>)>,
}

impl Get {
    /// Asks for a whole row.
    #[must_use]
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { row: row.into(), columns: Vec::new() }
    }

    /// Asks for this column, and for the columns named before.
    #[must_use]
    pub fn column(mut self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Self {
        self.columns.push((family.into(), vec![qualifier.into()]));
        self
    }

    pub(super) fn message(&self) -> messages::Get {
        let column = |(family, qualifiers): &(Bytes, Vec<Bytes>)| Column {
            family: family.clone(),
            qualifiers: qualifiers.clone(),
        };
        messages::Get {
            row: self.row.clone(),
            columns: self.columns.iter().map(column).collect(),
            max_versions: Some(1),
        }
    }
}

/// A change of one row. A repetition changes nothing, since the caller sets the times of the cells;
/// with [`LATEST`](crate::LATEST) each try is a version of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The cells, all of one row; either all put, or all delete.
    pub cells: Vec<Cell>,
    /// The time after which put cells vanish by themselves.
    pub time_to_live: Option<Duration>,
}

impl Mutation {
    fn message(&self, block: &mut BytesMut) -> Result<messages::Mutation, Error> {
        let first = self.cells.first().ok_or(Error::Invalid("a change without cells"))?;
        let kind = if first.kind == CellType::Put { PUT } else { DELETE };
        for cell in &self.cells {
            if cell.row != first.row || (cell.kind == CellType::Put) != (kind == PUT) {
                return Err(Error::Invalid("a change of several rows, or one that puts and deletes"));
            }
            cell.encode(block).map_err(|_| Error::Invalid("a cell that is too long"))?;
        }
        let attribute = |time: Duration| NameBytesPair {
            name: TIME_TO_LIVE.to_owned(),
            value: Some(Bytes::copy_from_slice(
                &i64::try_from(time.as_millis()).unwrap_or(i64::MAX).to_be_bytes(),
            )),
        };
        Ok(messages::Mutation {
            row: Some(first.row.clone()),
            kind: Some(kind),
            attributes: self.time_to_live.map(attribute).into_iter().collect(),
            associated_cell_count: i32::try_from(self.cells.len()).ok(),
        })
    }
}

/// A change of one row, made only if a cell of the row holds an expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckAndMutate {
    /// The family of the compared cell.
    pub family: Bytes,
    /// The column of the compared cell.
    pub qualifier: Bytes,
    /// The expected value, `None` for no cell or an empty one.
    pub expected: Option<Bytes>,
    /// The change to make.
    pub mutation: Mutation,
}

impl CheckAndMutate {
    fn condition(&self) -> Option<Condition> {
        let comparable = ByteArrayComparable { value: Some(self.expected.clone().unwrap_or_default()) };
        let comparator = Comparator {
            name: BINARY_COMPARATOR.to_owned(),
            serialized: Some(BinaryComparator { comparable }.encode_to_vec().into()),
        };
        Some(Condition {
            row: Some(self.mutation.cells.first()?.row.clone()),
            family: Some(self.family.clone()),
            qualifier: Some(self.qualifier.clone()),
            compare_type: Some(EQUAL),
            comparator: Some(comparator),
        })
    }
}

/// The outcome of a [`CheckAndMutate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The change was made.
    Done,
    /// The cell holds another value, and nothing was changed.
    Refused,
    /// The answer was lost, so the change may have been made or not: a caller that must know reads
    /// the row.
    Unknown,
}

/// An item of a batch.
pub(super) trait Item {
    /// The outcome of one item.
    type Outcome;

    /// The most items in one call, which a server executes one after another.
    const CALL_LEN: usize;

    fn row(&self) -> Result<&Bytes, Error>;

    /// Returns the item as a part of a request, and appends the cells of a change to `block`.
    fn action(&self, block: &mut BytesMut) -> Result<(Action, Option<Condition>), Error>;

    /// Returns the outcome by a server's result.
    fn outcome(cells: Vec<Cell>, is_processed: bool) -> Self::Outcome;

    /// Returns the outcome after an error, or `None` if the item is to be tried again.
    fn lost(_error: &Error) -> Option<Self::Outcome> {
        None
    }
}

impl Item for Get {
    type Outcome = Vec<Cell>;
    const CALL_LEN: usize = 500;

    fn row(&self) -> Result<&Bytes, Error> {
        Ok(&self.row)
    }

    fn action(&self, _: &mut BytesMut) -> Result<(Action, Option<Condition>), Error> {
        Ok((Action { get: Some(self.message()), ..Action::default() }, None))
    }

    fn outcome(cells: Vec<Cell>, _: bool) -> Vec<Cell> {
        cells
    }
}

impl Item for Mutation {
    type Outcome = ();
    const CALL_LEN: usize = 2_500;

    fn row(&self) -> Result<&Bytes, Error> {
        self.cells.first().map(|cell| &cell.row).ok_or(Error::Invalid("a change without cells"))
    }

    fn action(&self, block: &mut BytesMut) -> Result<(Action, Option<Condition>), Error> {
        Ok((Action { mutation: Some(self.message(block)?), ..Action::default() }, None))
    }

    fn outcome(_: Vec<Cell>, _: bool) {}
}

impl Item for CheckAndMutate {
    type Outcome = Checked;
    // Each check waits for a sync of the log, and calls side by side share the syncs.
    const CALL_LEN: usize = 32;

    fn row(&self) -> Result<&Bytes, Error> {
        self.mutation.row()
    }

    fn action(&self, block: &mut BytesMut) -> Result<(Action, Option<Condition>), Error> {
        let (action, _) = self.mutation.action(block)?;
        Ok((action, self.condition()))
    }

    fn outcome(_: Vec<Cell>, is_processed: bool) -> Checked {
        if is_processed { Checked::Done } else { Checked::Refused }
    }

    fn lost(error: &Error) -> Option<Checked> {
        error.may_be_done().then_some(Checked::Unknown)
    }
}
