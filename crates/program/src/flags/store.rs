//! Flags that name an index, for every program.

use std::collections::BTreeMap;

use clap::Args;
use engine::Options;
use index::{Mode, OpenOptions};

use super::uri::UriParser;
use super::{BuiltArgs, DictionaryFileError, RecipeArgs};

/// The place of an index, and the settings of a new one.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// The settings of a new index.
    #[command(flatten)]
    pub built: BuiltArgs,
}

/// The place of an index.
#[derive(Args, Clone, Debug, Default)]
pub struct PlaceArgs {
    /// Where the index is.
    ///
    /// embedded:PATH keeps it in a directory of this machine; several programs may use it at once.
    /// Example: --store embedded:./news-index
    ///
    /// hbase+rpc://HOST:PORT/NAME keeps it in two tables of HBase, which schema/create.rb makes;
    /// HOST:PORT is a master (or several, with commas between them), and the region servers must be
    /// reachable from here. Any number of programs on any number of machines may use it at once.
    /// ?user=NAME after it is the name that HBase is told [default: that of HADOOP_USER_NAME or of
    /// the user]. &tls-ca=PATH is for servers that speak TLS: the certificates of the authorities
    /// that signed theirs; &tls-cert=PATH and &tls-key=PATH are for those that ask for one, which
    /// is HBase's default. &principal=hbase/_HOST@REALM is for servers that want Kerberos: what
    /// they go by; the ticket is that of kinit or of KRB5_CLIENT_KTNAME, and the program one that
    /// was built with the feature `kerberos`. &tier-mb=N is for insertion into large indexes: up to
    /// N megabytes of this program's memory hold what it must know of older documents, so that
    /// HBase need not read them; &tier-file=PATH keeps that for the next start. Example: --store
    /// hbase+rpc://master-1:16000,master-2:16000/news
    ///
    /// hbase://HOST:PORT/NAME is the same index through a Thrift gateway, best one beside the
    /// program: for a cluster with Kerberos, or behind a firewall. ?connections=N after it allows
    /// up to N connections [default: 8]. Example: --store hbase://localhost:9090/news
    ///
    /// redis://HOST:PORT/NAME keeps it in a Redis server, under keys that begin with
    /// pigeonhole:{NAME}:. Any number of programs on any number of machines may use it at once.
    /// ?db=N after it names another database than 0, &user=NAME a user, and &password-file=PATH a
    /// file with the password. Example: --store redis://localhost:6379/news
    ///
    /// memory: keeps it in this program only, and it is gone when the program ends.
    #[arg(long, value_name = "URL", env = "PIGEONHOLE_STORE", value_parser = UriParser, help_heading = "Index")]
    store: Option<String>,
}

impl PlaceArgs {
    /// The URL, if given.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        self.store.as_deref()
    }
}

impl StoreArgs {
    /// The URL, if given.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        self.place.uri()
    }

    /// See [`BuiltArgs::options`].
    ///
    /// # Errors
    /// Where a dictionary file of the recipe cannot be used.
    pub fn options(&self, mode: Mode, recipe: &RecipeArgs) -> Result<Options, DictionaryFileError> {
        self.built.options(mode, recipe)
    }

    /// See [`BuiltArgs::open_options`].
    #[must_use]
    pub fn open_options(
        &self,
        mode: Mode,
        recipe: BTreeMap<String, String>,
        recipe_default: BTreeMap<String, String>,
    ) -> OpenOptions {
        self.built.open_options(mode, recipe, recipe_default)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use index::{Profile, Retention, SketchKind};
    use simhash::Distance;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        store: StoreArgs,
    }

    #[test]
    fn flags_become_options() {
        let args = [
            "program",
            "--store",
            "embedded:./x",
            "--scheme",
            "t11",
            "--max-distance",
            "2",
            "--retain",
            "2d",
            "--clock-ahead-max",
            "36h",
        ];
        let Program { store } = Program::parse_from(args);
        assert_eq!(store.uri(), Some("embedded:./x"));
        let options = store.open_options(Mode::MustExist, BTreeMap::new(), BTreeMap::new());
        assert_eq!(options.mode, Mode::MustExist);
        assert_eq!(options.scheme.as_deref(), Some("t11"));
        assert_eq!(options.max_distance, Some(Distance::of_differing(0b11)));
        assert_eq!(options.retain, Retention::from_seconds(172_800));
        assert_eq!(options.clock_ahead_max, Some(Duration::from_secs(129_600)));
        assert!(Program::try_parse_from(["program", "--clock-ahead-max", "2"]).is_err());
        assert!(Program::try_parse_from(["program", "--retain", "2"]).is_err());
        assert!(Program::try_parse_from(["program", "--store", "./x"]).is_err());
    }

    #[test]
    fn expected_documents_choose_profile_and_scheme() {
        let Program { store } = Program::parse_from(["program", "--expect-documents", "1e10"]);
        let options = store.open_options(Mode::MustExist, BTreeMap::new(), BTreeMap::new());
        assert_eq!((options.profile, options.scheme.as_deref()), (Some(Profile::Classic), Some("t11")));
        let both = ["program", "--expect-documents", "1e10", "--profile", "full"];
        assert!(Program::try_parse_from(both).is_err());
    }

    #[test]
    fn the_help_names_every_scheme() {
        let help = <Program as clap::CommandFactory>::command().render_long_help().to_string();
        for name in SketchKind::NAMES {
            assert!(help.contains(name), "{name}");
        }
    }
}
