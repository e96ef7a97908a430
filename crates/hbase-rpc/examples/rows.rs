//! Prints the rows of a table:
//! `cargo run -p hbase-rpc --example rows -- MASTER_HOST:PORT TABLE [ROWS]`.
#![expect(clippy::print_stdout, reason = "it prints rows")]

use hbase_rpc::{Client, ClientOptions, Scan};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (master, table) = (args.next().ok_or("MASTER_HOST:PORT")?, args.next().ok_or("TABLE")?);
    let n_max: usize = args.next().map_or(Ok(20), |n| n.parse())?;
    let (host, port) = master.rsplit_once(':').ok_or("MASTER_HOST:PORT")?;
    let client = Client::new(vec![(host.to_owned(), port.parse()?)], ClientOptions::default());
    let mut scanner = client.scan(&table, Scan::default());
    let mut n = 0;
    while let Some(rows) = scanner.next().await? {
        for row in rows.iter().filter(|_| {
            n += 1;
            n <= n_max
        }) {
            println!("{:?} {} cells", row[0].row, row.len());
        }
    }
    println!("{n} rows");
    Ok(())
}
