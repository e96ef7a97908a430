//! Faults of a real cluster in the middle of a load, of searches, and of two jobs that insert the same: nothing is
//! lost, no answer is wrong, and of near-duplicates one stays.

mod trial;

use std::time::Duration;

use self::trial::{Trial, wait_until};
use super::{n_cells, n_index_rows};
use crate::support::{Mood, hbase_cluster, run};

/// The server that has `hbase:meta` and all regions of the indexes is killed with -9; its regions come up on the other
/// one.
#[test]
fn a_region_server_dies_that_has_all_of_it() {
    let Some((cluster, _one)) = hbase_cluster() else { return };
    let gather = r#"
java_import org.apache.hadoop.hbase.HBaseConfiguration
java_import org.apache.hadoop.hbase.TableName
java_import org.apache.hadoop.hbase.client.ConnectionFactory
admin = ConnectionFactory.createConnection(HBaseConfiguration.create).getAdmin
balance_switch false
first = admin.getRegionServers.to_a.min_by(&:getPort)
%w[dies dies_docs dies_race dies_race_docs hbase:meta].each do |table|
  admin.getRegions(TableName.valueOf(table)).each { |region| admin.move(region.getEncodedNameAsBytes, first) }
end
"#;
    let trial = Trial::new(cluster, "dies", gather);
    trial.check(true, &|searches| {
        cluster.script("kill", "regionserver-1");
        // The load and the searches meet it while it is gone, and go on without it.
        searches.wait_for_more(100);
        cluster.script("start", "regionserver-1");
    });
}

/// Programs that have the index open need no master. One that opens it does without, too: it does
/// not learn how long the tables keep their cells.
#[test]
fn the_master_is_away() {
    let Some((cluster, _one)) = hbase_cluster() else { return };
    let trial = Trial::new(cluster, "away", "");
    let n_failed = trial.check(true, &|searches| {
        cluster.script("kill", "master");
        searches.wait_for_more(100);
        let store = cluster.url("away");
        run("pigeonhole", ["info", "--store", &store]).expect(0);
        searches.wait_for_more(100);
        cluster.script("start", "master");
    });
    assert_eq!(n_failed, 0, "no search needs the master");
}

/// A load that meets it says what to do, and does the rest when it is run again.
#[test]
fn the_tables_are_disabled_and_enabled() {
    let Some((cluster, _one)) = hbase_cluster() else { return };
    let trial = Trial::new(cluster, "off", "");
    let n_failed = trial.check(false, &|searches| {
        let disable = "%w[off off_docs].each { |table| disable table }\nsleep 2\n";
        let enable = "%w[off_docs off].each { |table| enable table }\n";
        cluster.hbase.shell_text("off_and_on", &[disable, enable].concat()).expect(0);
        searches.wait_for_more(50);
    });
    assert!(n_failed > 0, "there are answers only where the tables are");
}

/// Answers of a region server are cut in their middle, again and again; then they trickle.
#[test]
fn a_region_server_cuts_its_answers_and_is_slow() {
    let Some((cluster, _one)) = hbase_cluster() else { return };
    let trial = Trial::new(cluster, "cut", "");
    let gate = &cluster.gate;
    let (n_cut, slow) = (gate.n_cut(), gate.slow());
    trial.check(true, &|searches| {
        gate.set(Mood::Cut);
        wait_until(&|| gate.n_cut() >= n_cut + 30);
        gate.set(Mood::Slow(Duration::from_millis(50)));
        wait_until(&|| gate.slow() >= slow + Duration::from_secs(5));
        searches.wait_for_more(50);
        gate.set(Mood::Open);
    });
}
