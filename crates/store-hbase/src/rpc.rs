//! Rows by HBase's own RPC, from the servers that have them: the crate `hbase-rpc` looks regions up
//! and tries again.

mod checks;
mod failures;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hbase_rpc::blocking::Client;
use hbase_rpc::{
    Cell as RpcCell, CellType, CheckAndMutate, Checked, ClientOptions, ConnectionOptions, Get, LATEST,
    Mutation as RpcMutation, PageOptions, Pages, Range, Tls,
};
use index::backend::Known;
use index::{ConnectionCounts, Error, ErrorKind, Result};

use self::checks::{Checkpoint, Checks};
use self::failures::Watch;
use crate::layout::{METADATA_COLUMN, METADATA_ROW};
use crate::options::Options;
use crate::rows::{
    Cell, MasterWait, Mutation, Mutations, PAGE_RESULTS, RESULT_CELLS, Row, Rows, Span, Swap, Swapped, Table,
    TableNames, Visit,
};
use crate::server::Server;
use crate::uri::{HbaseUri, TlsFiles};
use crate::witness::Witness;

/// The patience with a master, for a call that can do without one.
const MASTER_WAIT: Duration = Duration::from_secs(2);

/// The rows of one index on the servers of a cluster.
pub(crate) struct RpcRows {
    tables: TableNames,
    known: Known,
    client: Client,
    server: Server,
    n_connections: usize,
    checks: Checks,
}

impl RpcRows {
    /// Returns the rows of the index at `uri`. Reads the files for TLS, and makes no request to the
    /// cluster yet.
    pub(crate) fn new(uri: &HbaseUri, options: Options) -> Result<Self> {
        let HbaseUri { server: servers, name, user, tls, principal, .. } = uri;
        let addresses = servers.split(',').map(|server| {
            let (host, port) = server.rsplit_once(':')?;
            Some((host.trim_start_matches('[').trim_end_matches(']').to_owned(), port.parse().ok()?))
        });
        let addresses = addresses.collect::<Option<Vec<_>>>();
        let addresses = addresses
            .ok_or_else(|| Error::invalid(format!("{servers:?} are no servers; write HOST:PORT")))?;
        #[cfg(not(feature = "kerberos"))]
        if let Some(principal) = principal {
            return Err(Error::invalid(format!(
                "this build has no Kerberos, so it cannot ask {principal}; build it with the feature `kerberos`, or go \
                 through a gateway that has it, hbase://"
            )));
        }
        let connection = ConnectionOptions {
            user: user.to_owned(),
            connect_timeout: options.connect_timeout,
            tls: tls.as_ref().map(read_tls).transpose()?,
            #[cfg(feature = "kerberos")]
            kerberos: principal.as_deref().map(kerberos).transpose()?,
            ..ConnectionOptions::default()
        };
        let client_options = ClientOptions {
            connection,
            n_connections: options.n_connections,
            call_timeout: options.reply_timeout,
            patience: options.patience,
            first_patience: options.first_patience,
            watch: Some(Arc::new(Watch::new(servers))),
        };
        let client = Client::new(addresses, client_options).map_err(|error| {
            Error::new(ErrorKind::Unavailable, "the system gives no thread").caused_by(error)
        })?;
        Ok(Self {
            known: Known::new(format!("hbase+rpc://{servers}/{name}")),
            tables: TableNames::new(name),
            client,
            server: failures::server(servers, user, principal.as_deref()),
            n_connections: options.n_connections,
            checks: Checks::default(),
        })
    }

    fn seconds_to_live(
        &self,
        table: Table,
        family: u8,
        wait: MasterWait,
    ) -> Result<Option<Duration>, hbase_rpc::Error> {
        let patience = match wait {
            MasterWait::Whole => None,
            MasterWait::Short => Some(MASTER_WAIT),
        };
        self.client.time_to_live(self.name(table), &[family], patience)
    }

    fn failed(&self, error: hbase_rpc::Error) -> Error {
        failures::failed(error, &self.server, &self.tables)
    }

    /// Returns the request behind a call, which compares the metadata with those of the index.
    fn metadata(&self) -> Get {
        let (family, qualifier) = family_and_qualifier(METADATA_COLUMN);
        Get::new(METADATA_ROW).column(family.to_vec(), qualifier.to_vec())
    }

    /// Does a call with the request for the metadata behind it.
    fn witnessed<T>(
        &self,
        call: impl FnOnce(Option<(&str, &Get)>) -> Result<(T, Vec<RpcCell>), hbase_rpc::Error>,
    ) -> Result<T> {
        let mut witness = Witness::new(&self.known);
        let metadata = self.metadata();
        let last = witness.ask().then(|| (self.name(Table::Documents), &metadata));
        let checkpoint = Checkpoint::now(&self.client);
        let (answer, of_last) = call(last).map_err(|error| self.failed(error))?;
        witness.answer(of_last.into_iter().next().map(|cell| cell.value.to_vec()));
        witness.check()?;
        if witness.is_asked() {
            self.checks.succeeded(checkpoint);
        }
        Ok(answer)
    }
}

#[cfg(feature = "kerberos")]
fn kerberos(principal: &str) -> Result<hbase_rpc::Kerberos> {
    hbase_rpc::Kerberos::new(principal).map_err(|error| Error::invalid(error.to_string()))
}

fn read_tls(files: &TlsFiles) -> Result<Tls> {
    let read = |file: &Path| {
        fs::read(file).map_err(|error| {
            Error::invalid(format!("failed to read `{}` for TLS", file.display())).caused_by(error)
        })
    };
    let authorities = read(&files.authorities)?;
    let identity = files.identity.as_ref();
    let identity = identity.map(|(certificate, key)| Ok((read(certificate)?, read(key)?))).transpose()?;
    let identity = identity.as_ref().map(|(certificate, key)| (&certificate[..], &key[..]));
    Tls::new(&authorities, identity).map_err(|error| {
        Error::invalid("the files for TLS cannot be used; tls-ca, tls-cert and tls-key are PEM")
            .caused_by(error)
    })
}

/// The reason why reading pages ends early.
enum Broken {
    Rpc(hbase_rpc::Error),
    Visit(Error),
}

impl From<hbase_rpc::Error> for Broken {
    fn from(error: hbase_rpc::Error) -> Self {
        Self::Rpc(error)
    }
}

/// The fewest ranges in one region that a single scan reads together.
const TOGETHER_MIN: usize = 2;

impl Rows for RpcRows {
    fn scan(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> Result<()> {
        let mut pages: Vec<(usize, Vec<Row>)> = Vec::new();
        self.scan_ahead(table, family, spans, &mut |number, page| {
            pages.push((number, page));
            Ok(())
        })?;
        self.check()?;
        pages.into_iter().try_for_each(|(number, page)| visit(number, page))
    }

    fn scan_ahead(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> Result<()> {
        let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (number, Span { n_results, since, .. }) in spans.iter().enumerate() {
            groups.entry((*n_results, *since)).or_default().push(number);
        }
        // Pages of one length and from one time on; few calls have several.
        for ((pieces_max, since), numbers) in groups {
            let ranges: Vec<_> = numbers.iter().map(|&number| to_range(&spans[number])).collect();
            let options = PageOptions {
                pieces_max,
                cells_max: RESULT_CELLS,
                together_min: TOGETHER_MIN,
                // A walk through a whole table would push out the blocks that searches read again
                // and again.
                cache_blocks: pieces_max <= PAGE_RESULTS,
                since,
            };
            let visit = &mut |place: usize, page: Pages| {
                visit(numbers[place], page.into_iter().map(to_row).collect()).map_err(Broken::Visit)
            };
            let read = self.client.pages(self.name(table), &vec![family].into(), &ranges, &options, visit);
            read.map_err(|broken| match broken {
                Broken::Rpc(error) => self.failed(error),
                Broken::Visit(error) => error,
            })?;
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.checks.hold(&self.client) {
            return Ok(());
        }
        // The request for the metadata, behind a call of no requests.
        self.witnessed(|last| self.client.get_many(self.name(Table::Documents), &[], last)).map(drop)
    }

    fn get(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> Result<Vec<Vec<Cell>>> {
        let gets = gets(columns, rows);
        self.witnessed(|last| self.client.get_many(self.name(table), &gets, last)).map(to_cells)
    }

    fn get_to_read(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> Result<Vec<Vec<Cell>>> {
        if !self.checks.hold(&self.client) {
            return self.get(table, columns, rows);
        }
        let found = self.client.get_many(self.name(table), &gets(columns, rows), None);
        let (found, _) = found.map_err(|error| self.failed(error))?;
        self.check()?;
        Ok(to_cells(found))
    }

    fn time_to_live(&self, table: Table, family: u8, wait: MasterWait) -> Result<Option<Duration>> {
        self.seconds_to_live(table, family, wait).map_err(|error| self.failed(error))
    }

    fn has_family(&self, table: Table, family: u8, wait: MasterWait) -> Result<bool> {
        match self.seconds_to_live(table, family, wait) {
            Ok(_) => Ok(true),
            Err(error) if failures::is_of_a_family(&error) => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn name(&self, table: Table) -> &str {
        self.tables.of(table)
    }

    fn known(&self) -> &Known {
        &self.known
    }

    fn apply(&self, mutations: &Mutations) -> Result<()> {
        let Mutations { table, timestamp, time_to_live, mutations } = mutations;
        let to_rpc = |Mutation { row, column, value }: &Mutation| RpcMutation {
            cells: vec![cell(row, column, *timestamp, value.as_deref())],
            time_to_live: time_to_live.filter(|_| value.is_some()),
        };
        let mutations: Vec<_> = mutations.iter().map(to_rpc).collect();
        self.witnessed(|last| {
            self.client.mutate_many(self.name(*table), &mutations, last).map(|of_last| ((), of_last))
        })
    }

    fn swap(&self, table: Table, swaps: &[Swap]) -> Result<Vec<Swapped>> {
        let to_rpc = |Swap { row, column, from, to, time_to_live }: &Swap| {
            let (family, qualifier) = family_and_qualifier(column);
            CheckAndMutate {
                family: family.to_vec().into(),
                qualifier: qualifier.to_vec().into(),
                expected: from.clone().map(Into::into),
                mutation: RpcMutation {
                    cells: vec![cell(row, column, LATEST, Some(to))],
                    time_to_live: *time_to_live,
                },
            }
        };
        let checks: Vec<_> = swaps.iter().map(to_rpc).collect();
        let answers =
            self.witnessed(|last| self.client.check_and_mutate_many(self.name(table), &checks, last))?;
        let to_swapped = |checked| match checked {
            Checked::Done => Swapped::Done,
            Checked::Refused => Swapped::Refused,
            Checked::Unknown => Swapped::Unknown,
        };
        Ok(answers.into_iter().map(to_swapped).collect())
    }

    fn connections(&self) -> ConnectionCounts {
        let n_open = self.client.n_open();
        ConnectionCounts { n_max: self.n_connections, n_open, n_in_use: n_open }
    }
}

/// Returns a request for some columns of each row; a family alone stands for all of its columns.
pub(super) fn gets(columns: &[&[u8]], rows: &[Vec<u8>]) -> Vec<Get> {
    let mut wanted: Vec<(bytes::Bytes, Vec<bytes::Bytes>)> = Vec::new();
    for column in columns {
        let (family, qualifier) = family_and_qualifier(column);
        let place = wanted.iter().position(|(of, _)| of == family).unwrap_or(wanted.len());
        if place == wanted.len() {
            wanted.push((family.to_vec().into(), Vec::new()));
        }
        wanted[place].1.extend((!qualifier.is_empty()).then(|| qualifier.to_vec().into()));
    }
    let get = |row: &Vec<u8>| Get { row: row.clone().into(), columns: wanted.clone() };
    rows.iter().map(get).collect()
}

fn to_cells(rows: Vec<Vec<RpcCell>>) -> Vec<Vec<Cell>> {
    rows.into_iter().map(|cells| cells.into_iter().map(to_cell).collect()).collect()
}

fn to_range(span: &Span) -> Range {
    let Span { start, end, within, .. } = span;
    let after = within.clone().map(Into::into);
    Range { after, ..Range::new(start.clone(), end.clone()) }
}

fn to_row(cells: Vec<RpcCell>) -> Row {
    let key = cells.first().map(|cell| cell.row.to_vec()).unwrap_or_default();
    Row { key, cells: cells.into_iter().map(to_cell).collect() }
}

pub(super) fn to_cell(cell: RpcCell) -> Cell {
    Cell { qualifier: cell.qualifier.to_vec(), value: cell.value.to_vec(), timestamp: cell.timestamp }
}

/// Returns a cell that puts a value or, without one, deletes all versions up to `timestamp`; of a
/// family alone, all columns.
pub(super) fn cell(row: &[u8], column: &[u8], timestamp: i64, value: Option<&[u8]>) -> RpcCell {
    let (family, qualifier) = family_and_qualifier(column);
    RpcCell {
        row: row.to_vec().into(),
        family: family.to_vec().into(),
        qualifier: qualifier.to_vec().into(),
        timestamp,
        kind: match value {
            Some(_) => CellType::Put,
            None if family.len() == column.len() => CellType::DeleteFamily,
            None => CellType::DeleteColumn,
        },
        value: value.unwrap_or_default().to_vec().into(),
    }
}

/// Splits a column at its first colon; a family alone has no colon.
pub(super) fn family_and_qualifier(column: &[u8]) -> (&[u8], &[u8]) {
    match column.iter().position(|&byte| byte == b':') {
        Some(colon) => (&column[..colon], &column[colon + 1..]),
        None => (column, &[]),
    }
}
