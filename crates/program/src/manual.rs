//! Documentation of a program, generated from its own command line: man pages and shell
//! completions.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Subcommand;
use clap_complete::Shell;

/// The commands that every program has for it.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the completions of this program for a shell
    ///
    /// For bash, of indexer: indexer completions
    /// bash >~/.local/share/bash-completion/completions/indexer
    ///
    /// For zsh, into a folder of $fpath: indexer completions zsh >~/.zfunc/_indexer
    ///
    /// For fish: indexer completions fish >~/.config/fish/completions/indexer.fish
    Completions {
        /// Whose language they are in
        shell: Shell,
    },
    /// Write the man pages of this program and its commands to a folder
    ///
    /// The folder is made where it is missing. Example: indexer man ~/.local/share/man/man1; then:
    /// man indexer-dedup
    Man {
        /// Where the pages go
        folder: PathBuf,
    },
}

impl Command {
    /// Runs the command; `program` is the whole command line to be documented.
    ///
    /// # Errors
    /// If `stdout` or the folder cannot be written; the error names the folder.
    pub fn run(&self, mut program: clap::Command, stdout: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Completions { shell } => {
                let name = program.get_name().to_owned();
                let mut script = Vec::new();
                clap_complete::generate(*shell, &mut program, name, &mut script);
                stdout.write_all(&script)
            }
            Self::Man { folder } => fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(program.disable_help_subcommand(true), folder))
                .map_err(|error| {
                    let said = format!("failed to write man pages to `{}`: {error}", folder.display());
                    io::Error::new(error.kind(), said)
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser, ValueEnum};

    use super::*;

    /// Sort the mail
    #[derive(Parser)]
    #[command(name = "sorter")]
    struct Sorter {
        #[command(subcommand)]
        _command: Task,
    }

    #[derive(Subcommand)]
    enum Task {
        /// Put a letter in its hole
        File {
            /// Which hole
            #[arg(long)]
            _hole: u32,
        },
        #[command(flatten)]
        Manual(Command),
    }

    #[test]
    fn every_shell_gets_the_flags() {
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            Command::Completions { shell: *shell }.run(Sorter::command(), &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("sorter") && script.contains("hole"), "{shell}: {script}");
        }
    }

    #[test]
    fn a_page_for_each_command() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("man1");
        Command::Man { folder: folder.clone() }.run(Sorter::command(), &mut Vec::new()).unwrap();
        let mut names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["sorter-completions.1", "sorter-file.1", "sorter-man.1", "sorter.1"]);
        let page = fs::read_to_string(folder.join("sorter-file.1")).unwrap();
        assert!(page.contains("Put a letter in its hole") && page.contains("Which hole"), "{page}");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let folder = file.path().join("man1");
        let error =
            Command::Man { folder: folder.clone() }.run(Sorter::command(), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains(&folder.display().to_string()), "{error}");
    }
}
