//! The calls over a connection. `scan` has those for pages.

use std::collections::HashMap;
use std::time::Duration;

use hbase_thrift::hbase::{BatchMutation, ColumnDescriptor, Mutation as ThriftMutation};
use thrift::protocol::{TInputProtocol, TType};

use super::connection::{Connection, Failure};
use super::plan::{Call, Resolve};
use super::protocol::protocol_error;
use super::witness::Witness;
use crate::rows::{Cell, Mutation, Row, Swap, Swapped};

/// Some columns of a few rows.
pub(super) struct Get<'a> {
    pub(super) table: &'a [u8],
    pub(super) columns: &'a [&'a [u8]],
    /// The number of the first row in the call.
    pub(super) first: usize,
    pub(super) keys: &'a [Vec<u8>],
    pub(super) witness: Witness<'a>,
    /// The rows that exist, in the gateway's order.
    pub(super) rows: Vec<Row>,
}

impl Call for Get<'_> {
    type Connection = Connection;

    fn start(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        connection.request("getRowsWithColumns", |fields| {
            fields.bytes(1, self.table)?;
            fields.list(2, TType::String, self.keys, |output, key| output.write_bytes(key))?;
            fields.list(3, TType::String, self.columns, |output, column| output.write_bytes(column))?;
            fields.attributes(4, &[])
        })?;
        self.witness.request(connection)?;
        connection.flush()
    }

    fn go_on(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        let mut exceptions = Exceptions::default();
        self.rows = exceptions.or_none(connection.reply(read_rows))?.unwrap_or_default();
        self.witness.reply(connection, &mut exceptions)?;
        exceptions.into_result().map(|()| true)
    }
}

/// The times for which the families of a table keep their cells.
pub(super) struct Describe<'a> {
    pub(super) table: &'a [u8],
    /// Seconds, by the first letter of the family.
    pub(super) families: HashMap<u8, i32>,
}

impl Call for Describe<'_> {
    type Connection = Connection;

    fn start(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        connection.request("getColumnDescriptors", |fields| fields.bytes(1, self.table))?;
        connection.flush()
    }

    fn go_on(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        let families = connection.reply(|input| {
            let map = input.read_map_begin()?;
            let mut families = HashMap::new();
            for _ in 0..map.size {
                let name = input.read_bytes()?;
                let family = ColumnDescriptor::read_from_in_protocol(input)?;
                families.extend(name.first().copied().zip(family.time_to_live));
            }
            input.read_map_end()?;
            Ok(families)
        })?;
        self.families = families.unwrap_or_default();
        Ok(true)
    }
}

/// A few mutations.
pub(super) struct Apply<'a> {
    pub(super) table: &'a [u8],
    pub(super) timestamp: i64,
    /// The time to live of the puts.
    pub(super) time_to_live: Option<Duration>,
    pub(super) mutations: &'a [Mutation],
    pub(super) witness: Witness<'a>,
}

impl Call for Apply<'_> {
    type Connection = Connection;

    fn start(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        let time_to_live = self.time_to_live.map(to_milliseconds);
        let attributes = time_to_live.as_ref().map(|bytes| (&b"_ttl"[..], &bytes[..]));
        connection.request("mutateRowsTs", |fields| {
            fields.bytes(1, self.table)?;
            fields.list(2, TType::Struct, self.mutations, |output, mutation| {
                let change = to_thrift(mutation);
                BatchMutation { row: Some(mutation.row.clone()), mutations: Some(vec![change]) }
                    .write_to_out_protocol(output)
            })?;
            fields.i64(3, self.timestamp)?;
            fields.attributes(4, attributes.as_slice())
        })?;
        self.witness.request(connection)?;
        connection.flush()
    }

    fn go_on(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        let mut exceptions = Exceptions::default();
        exceptions.or_none(connection.reply(|_| Ok(())))?;
        self.witness.reply(connection, &mut exceptions)?;
        exceptions.into_result().map(|()| true)
    }
}

/// A few compare-and-sets: the only call that must not be repeated.
pub(super) struct SwapCall<'a> {
    table: &'a [u8],
    /// The number of the first swap in the call.
    pub(super) first: usize,
    swaps: &'a [Swap],
    pub(super) answers: Vec<Swapped>,
    exceptions: Exceptions,
    pub(super) witness: Witness<'a>,
}

impl<'a> SwapCall<'a> {
    pub(super) fn new(table: &'a [u8], first: usize, swaps: &'a [Swap], witness: Witness<'a>) -> Self {
        let exceptions = Exceptions::default();
        Self { table, first, swaps, answers: Vec::new(), exceptions, witness }
    }
}

impl Call for SwapCall<'_> {
    type Connection = Connection;

    fn start(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        for swap in self.swaps {
            let put = ThriftMutation {
                is_delete: Some(false),
                column: Some(swap.column.clone()),
                value: Some(swap.to.clone()),
                write_to_w_a_l: Some(true),
            };
            let time_to_live = swap.time_to_live.map(to_milliseconds);
            let attributes = time_to_live.as_ref().map(|bytes| (&b"_ttl"[..], &bytes[..]));
            connection.request("checkAndPut", |fields| {
                fields.bytes(1, self.table)?;
                fields.bytes(2, &swap.row)?;
                fields.bytes(3, &swap.column)?;
                // An empty value stands for no cell.
                fields.bytes(5, swap.from.as_deref().unwrap_or_default())?;
                fields.field(6, TType::Struct, |output| put.write_to_out_protocol(output))?;
                fields.attributes(7, attributes.as_slice())
            })?;
        }
        self.witness.request(connection)?;
        connection.flush()
    }

    fn go_on(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        for _ in self.answers.len()..self.swaps.len() {
            let answer = self.exceptions.or_none(connection.reply(|input| input.read_bool()))?;
            self.answers.push(match answer {
                Some(true) => Swapped::Done,
                Some(false) => Swapped::Refused,
                None => Swapped::Unknown,
            });
        }
        self.witness.reply(connection, &mut self.exceptions)?;
        std::mem::take(&mut self.exceptions).into_result().map(|()| true)
    }
}

impl Resolve for SwapCall<'_> {
    fn resolve(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        self.answers.resize(self.swaps.len(), Swapped::Unknown);
        self.witness.request(connection)?;
        connection.flush()
    }
}

/// Encodes milliseconds for the attribute `_ttl`.
fn to_milliseconds(time_to_live: Duration) -> [u8; 8] {
    i64::try_from(time_to_live.as_millis()).unwrap_or(i64::MAX).to_be_bytes()
}

fn to_thrift(mutation: &Mutation) -> ThriftMutation {
    ThriftMutation {
        is_delete: Some(mutation.value.is_none()),
        column: Some(mutation.column.clone()),
        value: mutation.value.clone(),
        write_to_w_a_l: Some(true),
    }
}

/// The first exception of several replies, all of which have to be read.
#[derive(Default)]
pub(super) struct Exceptions(Option<Failure>);

impl Exceptions {
    pub(super) fn or_none<T>(&mut self, answer: Result<Option<T>, Failure>) -> Result<Option<T>, Failure> {
        match answer {
            Err(failure @ Failure::Exception(_)) => {
                self.0.get_or_insert(failure);
                Ok(None)
            }
            answer => answer,
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn into_result(self) -> Result<(), Failure> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Reads a list of `TRowResult`, past its generated type, which would hold each byte string twice
/// and the cells in a map: too slow for a walk through a whole table.
pub(super) fn read_rows(input: &mut dyn TInputProtocol) -> thrift::Result<Vec<Row>> {
    let list = input.read_list_begin()?;
    let mut rows = Vec::with_capacity(usize::try_from(list.size).unwrap_or_default());
    for _ in 0..list.size {
        rows.push(read_row(input)?);
    }
    input.read_list_end()?;
    Ok(rows)
}

fn read_row(input: &mut dyn TInputProtocol) -> thrift::Result<Row> {
    let (mut key, mut cells) = (None, None);
    read_fields(input, &mut |input, id, kind| {
        match (id, kind) {
            (1, TType::String) => key = Some(input.read_bytes()?),
            (2, TType::Map) => cells = Some(read_cells(input)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let missing = |what: &str| protocol_error(format!("a row came without its {what}"));
    let key = key.ok_or_else(|| missing("key"))?;
    Ok(Row { key, cells: cells.ok_or_else(|| missing("columns"))? })
}

/// Reads a map from columns to cells, in an order of the gateway's own.
fn read_cells(input: &mut dyn TInputProtocol) -> thrift::Result<Vec<Cell>> {
    let map = input.read_map_begin()?;
    let mut cells = Vec::with_capacity(usize::try_from(map.size).unwrap_or_default());
    let missing = |what: &str| protocol_error(format!("a row came without its {what}"));
    for _ in 0..map.size {
        let mut qualifier = input.read_bytes()?;
        let colon = qualifier.iter().position(|&byte| byte == b':').ok_or_else(|| missing("families"))?;
        qualifier.drain(..=colon);
        let (mut value, mut timestamp) = (None, None);
        read_fields(input, &mut |input, id, kind| {
            match (id, kind) {
                (1, TType::String) => value = Some(input.read_bytes()?),
                (2, TType::I64) => timestamp = Some(input.read_i64()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let value = value.ok_or_else(|| missing("values"))?;
        cells.push(Cell { qualifier, value, timestamp: timestamp.ok_or_else(|| missing("timestamps"))? });
    }
    input.read_map_end()?;
    if !cells.is_sorted_by(|a, b| a.qualifier < b.qualifier) {
        cells.sort_unstable_by(|a, b| a.qualifier.cmp(&b.qualifier));
    }
    Ok(cells)
}

/// Calls `read` for each field of a struct; `read` reads the field, or returns `false` for an
/// unknown one.
fn read_fields(
    input: &mut dyn TInputProtocol,
    read: &mut dyn FnMut(&mut dyn TInputProtocol, i16, TType) -> thrift::Result<bool>,
) -> thrift::Result<()> {
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        if field.field_type == TType::Stop {
            return input.read_struct_end();
        }
        if !read(input, field.id.unwrap_or_default(), field.field_type)? {
            input.skip(field.field_type)?;
        }
        input.read_field_end()?;
    }
}
