//! The programs on a real HBase that requires tickets of a real KDC.

use std::path::Path;
use std::process::Command;

use crate::support::{Kerberos, Run, news, programs_with, run_command};

#[test]
fn who_has_a_ticket_is_let_in_and_others_are_told_how() {
    let Some(kerberos) = Kerberos::start() else { return };
    let (cache, none) = (kerberos.cache("ticket"), kerberos.cache("no-ticket"));
    let programs = programs_with("kerberos", &["indexer", "pigeonhole"]);
    let (indexer, pigeonhole) = (programs.join("indexer"), programs.join("pigeonhole"));
    kerberos.kinit(&cache);
    kerberos.shell("schema/create.rb", "tickets", &cache).expect(0);

    let direct = kerberos.direct_url("tickets");
    let by_ticket = format!("{direct}?principal={}", kerberos.principal());
    let news = news();
    let index = ["index", "-q", "--store", &by_ticket, news.to_str().unwrap()];
    let run = |program: &Path, args: &[&str], cache: &Path| -> Run {
        run_command(kerberos.command(Command::new(program), cache).args(args))
    };
    let digest = |store: &str, cache: &Path| run(&pigeonhole, &["info", "--digest", "--store", store], cache);

    // The servers refuse a program without a ticket, and the program says how to get one.
    let said = run(&indexer, &index, &none).expect(2).stderr;
    for says in ["no Kerberos with the HBase servers of localhost:", "there is no ticket", "run `kinit`"] {
        assert!(said.contains(says), "{said}");
    }
    let indexed = run(&indexer, &index, &cache).expect(0).stdout;
    assert!(indexed.contains("indexed                 35"), "{indexed}");
    let query = ["query", "--store", &by_ticket, "--", "The harbour of the old town"];
    run(&pigeonhole, &query, &cache).expect(0);
    assert!(run(&indexer, &index, &cache).expect(0).stdout.contains("unchanged               35"));

    // The same documents as through the gateway, where clients without a ticket use its keytab.
    let by_gateway = digest(&kerberos.gateway_url("tickets"), &none).expect(0).stdout;
    let line = |stdout: &str| stdout.lines().find(|line| line.starts_with("digest")).map(str::to_owned);
    let digested = digest(&by_ticket, &cache).expect(0).stdout;
    assert!(line(&digested).is_some(), "{digested}");
    assert_eq!(line(&by_gateway), line(&digested));

    // A keytab does the same as `kinit`.
    let fresh = kerberos.cache("by-keytab");
    let mut info = kerberos.command(Command::new(&pigeonhole), &fresh);
    info.env("KRB5_CLIENT_KTNAME", kerberos.keytab()).args(["info", "--store", &by_ticket]);
    run_command(&mut info).expect(0);

    let without = run(&pigeonhole, &["info", "--store", &direct], &cache).expect(2).stderr;
    for says in ["wants Kerberos", "?principal=hbase/_HOST@REALM", "feature `kerberos`", "hbase://"] {
        assert!(without.contains(says), "{without}");
    }
    let other = by_ticket.replace("principal=hbase/", "principal=hive/");
    let unknown = run(&pigeonhole, &["info", "--store", &other], &cache).expect(2).stderr;
    assert!(unknown.contains("no ticket for hive/localhost@"), "{unknown}");
    assert!(unknown.contains("not found in Kerberos database"), "{unknown}");
}
