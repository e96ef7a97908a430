//! Faults of a real cluster in the middle of a load, of searches, and of two jobs with the same
//! documents: nothing is lost, no answer is wrong, and one of each group of near-duplicates stays.

mod trial;

use std::time::Duration;

use self::trial::{Trial, WAIT_MAX};
use super::{n_cells, n_index_rows};
use crate::support::{Mood, hbase_cluster, run, until_within};

/// The server with `hbase:meta` and all regions of the indexes is killed with -9; its regions open
/// on the other server.
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
    trial.check("region server killed", true, &|searches| {
        cluster.script("kill", "regionserver-1");
        // The load and the searches meet the outage, and go on without the server.
        searches.wait_for_more(100);
        cluster.script("start", "regionserver-1");
    });
}

/// Programs with an open index need no master. A program that opens an index does without one, too:
/// it does not learn the tables' time to live.
#[test]
fn the_master_is_away() {
    let Some((cluster, _one)) = hbase_cluster() else { return };
    let trial = Trial::new(cluster, "away", "");
    let n_failed = trial.check("master killed", true, &|searches| {
        cluster.script("kill", "master");
        searches.wait_for_more(100);
        let store = cluster.url("away");
        run("pigeonhole", ["info", "--store", &store]).expect(0);
        searches.wait_for_more(100);
        cluster.script("start", "master");
    });
    assert_eq!(n_failed, 0, "no search needs the master");
}

/// A load that meets disabled tables names the remedy, and finishes when run again.
#[test]
fn the_tables_are_disabled_and_enabled() {
    let Some((cluster, _one)) = hbase_cluster() else { return };
    let trial = Trial::new(cluster, "off", "");
    let n_failed = trial.check("tables disabled", false, &|searches| {
        let disable = "%w[off off_docs].each { |table| disable table }\nsleep 2\n";
        let enable = "%w[off_docs off].each { |table| enable table }\n";
        cluster.hbase.shell_text("off_and_on", &[disable, enable].concat()).expect(0);
        searches.wait_for_more(50);
    });
    assert!(n_failed > 0, "there are answers only where the tables are");
}

/// A region server repeatedly cuts its answers in their middle; then they trickle.
#[test]
fn a_region_server_cuts_its_answers_and_is_slow() {
    let Some((cluster, _one)) = hbase_cluster() else { return };
    let trial = Trial::new(cluster, "cut", "");
    let gate = &cluster.gate;
    let (n_cut, slow) = (gate.n_cut(), gate.slow());
    trial.check("answers cut and slow", true, &|searches| {
        gate.set(Mood::Cut);
        until_within(WAIT_MAX, || gate.n_cut() >= n_cut + 30);
        gate.set(Mood::Slow(Duration::from_millis(50)));
        until_within(WAIT_MAX, || gate.slow() >= slow + Duration::from_secs(5));
        searches.wait_for_more(50);
        gate.set(Mood::Open);
    });
}
