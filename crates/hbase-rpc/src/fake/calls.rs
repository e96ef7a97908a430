//! The execution of calls, by service and method.

use bytes::Bytes;
use prost::Message;

use super::faults::FaultKind;
use super::state::State;
use super::{Cluster, Failure, META_REGION, Reply, lock, meta, multi, scans};
use crate::messages::{
    BytesBytesPair, FamilySchema, GetActiveMasterResponse, GetMetaRegionLocationsResponse,
    GetTableDescriptorsRequest, GetTableDescriptorsResponse, MultiRequest, RegionInfo, RegionLocation,
    ScanRequest, ServerName, TableSchema,
};

/// The number of the master among the servers.
pub(super) const MASTER: usize = 0;

/// Executes a call on a server.
///
/// # Errors
/// The exception in place of an answer.
pub(super) fn execute(
    cluster: &Cluster,
    server: usize,
    service: &str,
    method: &str,
    mut rest: Bytes,
    fault: Option<&FaultKind>,
) -> Result<Reply, Failure> {
    let torn = |_| Failure::last("ipc.RpcServer$InvalidRequest", "a message that cannot be read");
    let len = prost::decode_length_delimiter(&mut rest).map_err(torn)?;
    if len > rest.len() {
        return Err(Failure::last("DoNotRetryIOException", "a message that is cut off"));
    }
    let message = rest.split_to(len);
    let state = &mut *lock(&cluster.0.state);
    match (service, method) {
        ("ClientMetaService", "GetMetaRegionLocations") => Ok(Reply::new(&of_meta(state), Bytes::new())),
        ("ClientMetaService", "GetActiveMaster") => {
            let server = state.servers[MASTER].is_up.then(|| name(state, MASTER));
            Ok(Reply::new(&GetActiveMasterResponse { server }, Bytes::new()))
        }
        ("MasterService", "GetTableDescriptors") if server == MASTER => {
            let request = GetTableDescriptorsRequest::decode(message).map_err(torn)?;
            Ok(Reply::new(&described(state, &request), Bytes::new()))
        }
        ("ClientService", "Scan") if server != MASTER => {
            let request = ScanRequest::decode(message).map_err(torn)?;
            scans::scan(state, server, &request, matches!(fault, Some(FaultKind::Heartbeat)))
        }
        ("ClientService", "Multi") if server != MASTER => {
            let request = MultiRequest::decode(message).map_err(torn)?;
            multi::multi(state, server, &request, rest, fault)
        }
        _ => Err(Failure::last("DoNotRetryIOException", &format!("no {method} of {service} here"))),
    }
}

fn name(state: &State, server: usize) -> ServerName {
    let port = Some(state.servers[server].port.into());
    ServerName { host: state.host.clone(), port, start_code: Some(1) }
}

fn of_meta(state: &State) -> GetMetaRegionLocationsResponse {
    debug_assert_eq!(META_REGION, b"hbase:meta,,1");
    let region = RegionInfo { region_id: 1, table: meta::table_name("hbase:meta"), ..RegionInfo::default() };
    let server = Some(name(state, state.meta));
    GetMetaRegionLocationsResponse { locations: vec![RegionLocation { region: Some(region), server }] }
}

fn described(state: &State, request: &GetTableDescriptorsRequest) -> GetTableDescriptorsResponse {
    let schema = |table: &super::table::Table| {
        let family = |(name, life): (&Bytes, &Option<u32>)| {
            let life = life.unwrap_or(i32::MAX as u32).to_string();
            let pair = |first: &'static str, second: String| BytesBytesPair {
                first: first.into(),
                second: second.into(),
            };
            let attributes = vec![pair("VERSIONS", "1".to_owned()), pair("TTL", life)];
            FamilySchema { name: name.clone(), attributes }
        };
        TableSchema { families: table.families.iter().map(family).collect() }
    };
    let wanted = |name: &&String| request.tables.contains(&meta::table_name(name));
    let found = state.tables.keys().filter(wanted).map(|name| schema(&state.tables[name]));
    GetTableDescriptorsResponse { tables: found.collect() }
}
