//! Regions and their servers, read from `hbase:meta` and remembered.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use md5::{Digest, Md5};
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
pub struct Region {
    /// The name in requests: `table,start key,time.encoded.`.
    pub name: Bytes,
    /// The first key, empty for the first region.
    pub start: Bytes,
    /// The key after the last one, empty for the last region.
    pub end: Bytes,
    /// The server of the region, as far as is known.
    pub server: Address,
    /// The same rows on other servers, which may be behind. A replica has no replicas.
    pub replicas: Vec<Self>,
}

impl Region {
    /// Iterates over this region and then its replicas, in the order of asking.
    pub(crate) fn copies(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.replicas)
    }
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
        let region = Region { name, start: Bytes::new(), end: Bytes::new(), server, replicas: Vec::new() };
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
    let address = |server: &Bytes| {
        let (host, port) = std::str::from_utf8(server).ok()?.rsplit_once(':')?;
        Some((host.to_owned(), port.parse().ok()?))
    };
    let server = address(server).ok_or_else(|| damaged("info:server"))?;
    let name = row.first().map(|cell| cell.row.clone()).unwrap_or_default();
    let (start, end) = (info.start_key.unwrap_or_default(), info.end_key.unwrap_or_default());
    let mut region = Region { name, start, end, server, replicas: Vec::new() };
    for Cell { family, qualifier, value, .. } in row {
        let id = qualifier.strip_prefix(b"server_").filter(|_| &family[..] == b"info" && !value.is_empty());
        let Some(id) = id else { continue };
        let named = std::str::from_utf8(id).ok().and_then(|id| replica_name(&region.name, id));
        let (name, server) = named.zip(address(value)).ok_or_else(|| damaged("info:server of a replica"))?;
        let (start, end) = (region.start.clone(), region.end.clone());
        let replica = Region { name, start, end, server, replicas: Vec::new() };
        region.replicas.push(replica);
    }
    Ok(Some(region))
}

/// Returns the name of a replica by its number of four hexadecimal digits:
/// `table,start key,time_number.digest.`. A server looks at the digest alone. `None` if the name of
/// the region has no digest.
pub(crate) fn replica_name(region: &[u8], id: &str) -> Option<Bytes> {
    let end = region.strip_suffix(b".")?.iter().rposition(|byte| *byte == b'.')?;
    let mut name = [&region[..end], b"_", id.as_bytes()].concat();
    let digest = Md5::digest(&name);
    name.push(b'.');
    name.extend(digest.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()));
    name.push(b'.');
    Some(name.into())
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

    /// The expected name is one that HBase 2.6.1 made.
    #[test]
    fn replicas_are_named_after_their_region() {
        let name = b"twice,b,1795557328704.e45845efa36edc9c44b564901efad70c.";
        let expected = "twice,b,1795557328704_0001.40e6c2079e1f1a1fc64513a8984871ac.";
        assert_eq!(replica_name(name, "0001").unwrap(), expected);
        assert_eq!(replica_name(b"hbase:meta,,1", "0001"), None);

        let mut row = row("m", "", Some("b:2"), |_| {});
        let of_replica = |qualifier: &'static str, server: &'static str| Cell {
            qualifier: qualifier.into(),
            value: server.into(),
            ..row[0].clone()
        };
        // A replica on its way is no copy.
        row.extend([
            of_replica("server_0001", "c:3"),
            of_replica("server_0002", ""),
            of_replica("sn_0001", "c,3,4"),
        ]);
        let regions = Regions::of_meta(&[row]).unwrap();
        let copies: Vec<_> = regions.of_key(b"n").unwrap().copies().collect();
        assert_eq!(copies.len(), 2);
        assert_eq!((&copies[1].start[..], &copies[1].server), (&b"m"[..], &("c".to_owned(), 3)));
    }
}
