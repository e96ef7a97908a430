# shellcheck shell=bash
# How the script speaks to people and ends. What it prints as a result, a command prints itself, to stdout.

print_help() { cat "$here/help.txt"; }

say() { printf '%s\n' "$*" >&2; }

# die CODE WORD…: the words become one message.
die() {
  local code=$1
  shift
  say "hbase: $*"
  exit "$code"
}
