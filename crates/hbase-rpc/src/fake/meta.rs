//! The rows of `hbase:meta`, made from the present state of the cluster.

use std::cmp::Ordering;

use bytes::Bytes;
use prost::Message;

use super::state::State;
use crate::messages::{RegionInfo, TableName, TableState};
use crate::regions::MAGIC;
use crate::{Cell, CellType};

/// Returns the namespace and the name within it.
pub(super) fn table_name(table: &str) -> TableName {
    let (namespace, qualifier) = table.split_once(':').unwrap_or(("default", table));
    TableName { namespace: Bytes::from(namespace.to_owned()), qualifier: Bytes::from(qualifier.to_owned()) }
}

fn stored(message: &impl Message) -> Bytes {
    [MAGIC, &message.encode_to_vec()].concat().into()
}

/// Returns all rows, in their order.
pub(super) fn rows(state: &State) -> Vec<(Bytes, Vec<Cell>)> {
    let cell = |row: &Bytes, family: &'static str, qualifier: &'static str, value: Bytes| Cell {
        row: row.clone(),
        family: family.into(),
        qualifier: qualifier.into(),
        timestamp: 1,
        kind: CellType::Put,
        value,
    };
    let mut rows = Vec::new();
    for (name, table) in &state.tables {
        let row = Bytes::from(name.clone());
        let value = stored(&TableState { state: table.state });
        rows.push((row.clone(), vec![cell(&row, "table", "state", value)]));
    }
    for (row, region) in &state.regions {
        let info = RegionInfo {
            region_id: region.id,
            table: table_name(&region.table),
            start_key: Some(region.start.clone()),
            end_key: Some(region.end.clone()),
            offline: Some(false),
            split: Some(false),
            replica_id: Some(0),
        };
        let server = Bytes::from(format!("{}:{}", state.host, state.servers[region.server].port));
        let cells = vec![cell(row, "info", "regioninfo", stored(&info)), cell(row, "info", "server", server)];
        rows.push((row.clone(), cells));
    }
    rows.sort_by(|a, b| compare(&a.0, &b.0));
    rows
}

/// Compares keys as HBase does: by table, by the start key between the first comma and the last,
/// and by the rest. A key without such a part comes first.
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    parts(a).cmp(&parts(b))
}

fn parts(key: &[u8]) -> [Option<&[u8]>; 3] {
    let comma = |byte: &u8| *byte == b',';
    let Some(first) = key.iter().position(comma) else { return [Some(key), None, None] };
    let (table, rest) = (&key[..first], &key[first + 1..]);
    match rest.iter().rposition(comma) {
        Some(last) => [Some(table), Some(&rest[..last]), Some(&rest[last + 1..])],
        None => [Some(table), Some(rest), None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_compared_by_their_parts() {
        let keys: [&[u8]; 8] =
            [b"t", b"t,,", b"t,,1.a.", b"t,\0,2.b.", b"t,\0\0,1.c.", b"t,a,b,1.d.", b"t-", b"t-x,,1.e."];
        for pair in keys.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
    }
}
