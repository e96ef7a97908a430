//! Puts a cell and gets it:
//! `cargo run -p hbase-rpc --example put_get -- MASTER_HOST:PORT TABLE FAMILY ROW VALUE`.
//!
//! The example creates nothing: the table must be there, as by `create 'TABLE', 'FAMILY'` in the
//! shell of HBase.
#![expect(clippy::print_stdout, reason = "it prints what it got")]

use std::time::{SystemTime, UNIX_EPOCH};

use hbase_rpc::{Cell, CellType, Client, ClientOptions, Get, Mutation};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [master, table, family, row, value] =
        <[String; 5]>::try_from(args).map_err(|_| "MASTER_HOST:PORT TABLE FAMILY ROW VALUE")?;
    let (host, port) = master.rsplit_once(':').ok_or("MASTER_HOST:PORT")?;
    let client = Client::new(vec![(host.to_owned(), port.parse()?)], ClientOptions::default());
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let cell = Cell {
        row: row.clone().into(),
        family: family.clone().into(),
        qualifier: "value".into(),
        // The caller's own time, so a put that is sent twice is the same put.
        timestamp: i64::try_from(now)?,
        kind: CellType::Put,
        value: value.into(),
    };
    client.mutate_many(&table, &[Mutation { cells: vec![cell], time_to_live: None }], None).await?;
    for cell in client.get(&table, Get::new(row).column(family, "value")).await? {
        println!("{:?} at {}", cell.value, cell.timestamp);
    }
    Ok(())
}
