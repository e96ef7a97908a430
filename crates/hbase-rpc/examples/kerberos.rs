//! Counts the rows of a table in a cluster with Kerberos, by the ticket of `kinit`. Arguments:
//! `MASTER_HOST:PORT TABLE hbase/_HOST@REALM`.
#![expect(clippy::print_stdout, reason = "it prints a number")]

use hbase_rpc::{Client, ClientOptions, ConnectionOptions, Kerberos, Scan};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(server), Some(table), Some(principal)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: kerberos MASTER_HOST:PORT TABLE hbase/_HOST@REALM".into());
    };
    let (host, port) = server.rsplit_once(':').ok_or("write HOST:PORT")?;
    let kerberos = Some(Kerberos::new(&principal)?);
    let connection = ConnectionOptions { kerberos, ..ConnectionOptions::default() };
    let options = ClientOptions { connection, ..ClientOptions::default() };
    let client = Client::new(vec![(host.to_owned(), port.parse()?)], options);
    let mut scanner = client.scan(&table, Scan::default());
    let mut n_rows = 0;
    while let Some(page) = scanner.next().await? {
        n_rows += page.len();
    }
    println!("{n_rows} rows");
    Ok(())
}
