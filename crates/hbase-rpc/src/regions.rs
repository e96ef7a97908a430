//! Regions and their servers, read from `hbase:meta` and remembered.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use prost::Message;

use crate::messages::{REGION_NAME, RegionInfo, RegionSpecifier};
use crate::{Cell, Error};

/// The name of the one region of `hbase:meta`.
pub(crate) const META_REGION: &[u8] = b"hbase:meta,,1";

/// The table that names the servers of all other tables.
pub(crate) const META: &str = "hbase:meta";

/// The bytes before a message that is stored as the value of a cell.
pub(crate) const MAGIC: &[u8] = b"PBUF";

/// The host and port of a server.
pub type Address = (String, u16);

/// Rows of a table from one key to another, and their server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// The name in requests: `table,start key,time.encoded.`.
    pub name: Bytes,
    /// The first key, empty for the first region.
    pub start: Bytes,
    /// The key after the last one, empty for the last region.
    pub end: Bytes,
    /// The server of the region, as far as is known.
    pub server: Address,
}

/// The regions of a table, by their start keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions(BTreeMap<Bytes, Region>);

impl Regions {
    /// Reads the regions from rows of `hbase:meta`. A region without a server is on its way, and
    /// left out.
    pub(crate) fn of_meta(rows: &[Vec<Cell>]) -> Result<Self, Error> {
        let mut regions = BTreeMap::new();
        for row in rows {
            if let Some(region) = of_row(row)? {
                regions.insert(region.start.clone(), region);
            }
        }
        Ok(Self(regions))
    }

    /// Returns the one region of `hbase:meta`.
    pub(crate) fn of_meta_itself(server: Address) -> Self {
        let name = Bytes::from_static(META_REGION);
        let region = Region { name, start: Bytes::new(), end: Bytes::new(), server };
        Self(BTreeMap::from([(Bytes::new(), region)]))
    }

    /// Iterates over the regions in the order of their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Region> {
        self.0.values()
    }

    /// Returns the region of a key, or an error if the region is on its way.
    pub(crate) fn of_key(&self, key: &[u8]) -> Result<&Region, Error> {
        let before = self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
        before
            .map(|(_, region)| region)
            .filter(|region| region.end.is_empty() || key < &region.end[..])
            .ok_or_else(|| Error::remote("NotServingRegionException", "no server has that region now"))
    }

    /// Returns true if no region is known: the table does not exist, or all of its regions are on
    /// their way.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn of_row(row: &[Cell]) -> Result<Option<Region>, Error> {
    let value = |qualifier: &[u8]| {
        row.iter()
            .find(|cell| &cell.family[..] == b"info" && cell.qualifier == qualifier)
            .map(|cell| &cell.value)
    };
    let damaged = |what: &str| Error::Protocol(format!("a row of hbase:meta whose {what} cannot be read"));
    let (Some(info), Some(server)) = (value(b"regioninfo"), value(b"server")) else { return Ok(None) };
    let info = info.strip_prefix(MAGIC).ok_or_else(|| damaged("info:regioninfo"))?;
    let info = RegionInfo::decode(info).map_err(|_| damaged("info:regioninfo"))?;
    let is_gone = info.offline.unwrap_or(false) || info.split.unwrap_or(false);
    if is_gone || info.replica_id.unwrap_or(0) != 0 {
        return Ok(None);
    }
    let server = std::str::from_utf8(server).ok().and_then(|server| server.rsplit_once(':'));
    let (host, port) = server.ok_or_else(|| damaged("info:server"))?;
    let port = port.parse().map_err(|_| damaged("info:server"))?;
    let name = row.first().map(|cell| cell.row.clone()).unwrap_or_default();
    let (start, end) = (info.start_key.unwrap_or_default(), info.end_key.unwrap_or_default());
    Ok(Some(Region { name, start, end, server: (host.to_owned(), port) }))
}

/// Returns the name of a region for a request.
pub(crate) fn specifier(region: &Region) -> RegionSpecifier {
    RegionSpecifier { kind: REGION_NAME, value: region.name.clone() }
}

/// Returns the rows of `hbase:meta` about a table: from the first key up to but without the second.
pub(crate) fn rows_of(table: &str) -> (Bytes, Bytes) {
    // HBase compares these keys by table, start key and time. Two commas come before all keys of
    // the table, and a hyphen comes after a comma.
    (Bytes::from(format!("{table},,")), Bytes::from(format!("{table}-")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CellType;
    use crate::messages::TableName;

    fn row(start: &str, end: &str, server: Option<&str>, more: impl Fn(&mut RegionInfo)) -> Vec<Cell> {
        let mut info = RegionInfo {
            region_id: 1,
            table: TableName { namespace: "default".into(), qualifier: "t".into() },
            start_key: Some(Bytes::from(start.to_owned())),
            end_key: Some(Bytes::from(end.to_owned())),
            ..RegionInfo::default()
        };
        more(&mut info);
        let value = Bytes::from([MAGIC, &info.encode_to_vec()].concat());
        let cell = |qualifier: &'static str, value| Cell {
            row: Bytes::from(format!("t,{start},1.abc.")),
            family: "info".into(),
            qualifier: qualifier.into(),
            timestamp: 1,
            kind: CellType::Put,
            value,
        };
        let server = server.map(|server| cell("server", Bytes::from(server.to_owned())));
        [cell("regioninfo", value)].into_iter().chain(server).collect()
    }

    #[test]
    fn keys_fall_into_regions() {
        let regions = Regions::of_meta(&[
            row("", "d", Some("a:1"), |_| {}),
            row("d", "m", None, |_| {}),
            row("m", "", Some("b:2"), |_| {}),
            row("m", "p", Some("b:2"), |info| info.replica_id = Some(1)),
            row("x", "", Some("c:3"), |info| info.split = Some(true)),
        ])
        .unwrap();
        let server = |key: &str| regions.of_key(key.as_bytes()).ok().map(|region| region.server.1);
        for (key, expected) in
            [("", Some(1)), ("c\u{ff}", Some(1)), ("d", None), ("l", None), ("m", Some(2)), ("z", Some(2))]
        {
            assert_eq!(server(key), expected, "{key}");
        }
        assert!(Regions::of_meta(&[]).unwrap().is_empty());
        assert!(Regions::of_meta(&[row("", "", Some("no port"), |_| {})]).is_err());
    }

    /// A table with `REGION_REPLICATION`: replicas are columns of the row of their primary.
    #[test]
    fn a_table_with_replicas_is_read_from_its_primaries_only() {
        let mut rows = vec![
            row("", "d", Some("a:1"), |_| {}),
            row("d", "m", None, |_| {}),
            row("m", "", Some("b:2"), |_| {}),
        ];
        let primaries = Regions::of_meta(&rows).unwrap();
        assert_eq!(primaries.iter().count(), 2);
        for row in &mut rows {
            let of_replica = |qualifier: &'static str, value: &'static str| Cell {
                qualifier: qualifier.into(),
                value: value.into(),
                ..row[0].clone()
            };
            let columns = [
                of_replica("server_0001", "c:3"),
                of_replica("server_0002", ""),
                of_replica("serverstartcode_0001", "12345678"),
                of_replica("sn_0001", "c,3,4"),
                of_replica("state_0001", "OPEN"),
            ];
            row.splice(0..0, columns);
        }
        // A row of a replica itself, after the row of its primary.
        rows.push(row("m", "", Some("c:3"), |info| info.replica_id = Some(1)));
        let found = Regions::of_meta(&rows).unwrap();
        assert!(found.iter().eq(primaries.iter()), "{found:?}");
        // A region without a primary is on its way, even if a replica is up.
        assert!(found.of_key(b"d").is_err());
    }
}
