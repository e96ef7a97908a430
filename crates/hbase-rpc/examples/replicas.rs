//! Reads a table again and again, for so many seconds, by its replicas if the primaries do not
//! answer. Arguments: `HOST:PORT TABLE SECONDS`.
#![expect(clippy::print_stdout, reason = "it prints rows")]

use std::time::{Duration, Instant};

use hbase_rpc::{Client, ClientOptions, Get, Scan};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(server), Some(table), Some(seconds)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: replicas HOST:PORT TABLE SECONDS".into());
    };
    let (host, port) = server.rsplit_once(':').ok_or("write HOST:PORT")?;
    let client = Client::new(vec![(host.to_owned(), port.parse()?)], ClientOptions::default());
    let reads = client.timeline();
    let (begun, end) = (Instant::now(), Duration::from_secs(seconds.parse()?));
    let mut said = String::new();
    while begun.elapsed() < end {
        let now = Instant::now();
        let mut scanner = reads.scan(&table, Scan::default());
        let mut gets = Vec::new();
        while let Some(page) = scanner.next().await? {
            gets.extend(page.iter().map(|row| Get::new(row[0].row.clone())));
        }
        let rows = reads.get_many(&table, &gets).await?;
        let n_stale = rows.iter().filter(|row| row.is_stale).count();
        let by = if scanner.is_stale() { "with replicas" } else { "of primaries" };
        let says = format!("a scan {by} of {} rows, {n_stale} of them got of replicas", rows.len());
        if says != said {
            let (at, took) = (begun.elapsed().as_secs_f64(), now.elapsed().as_millis());
            println!("after {at:.1} s: {says}, in {took} ms");
            said = says;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
