//! End-to-end tests: the programs run as processes, with arguments and HTTP in, and output and exit
//! status out.
#![expect(clippy::disallowed_methods, reason = "what a test says it says about itself")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod backup;
mod bench;
mod carry;
mod clocks;
mod clusters;
mod collect;
mod contained;
mod corpora;
mod crash;
mod deploy;
mod eval;
mod file_size;
mod files;
mod hbase;
mod idf;
mod image;
mod indexer;
mod instructions;
mod kerberos;
mod known_ids;
mod licences;
mod memory;
mod noise;
mod pages;
mod pairs;
mod pigeonhole;
mod plan;
mod printed;
mod python;
mod race;
mod redis;
mod remote;
mod removing;
mod report;
mod reports;
mod resume;
mod settings;
mod shards;
mod spilled;
mod support;

mod tidy;
mod tune;
mod upkeep;
mod verdict;
mod worker;
