# shellcheck shell=bash
# The command line, taken apart into `flag` and `words`. What the values may be is in settings.sh.

# Flags may stand before and after the command; what follows a script, a Java file or a folder of rows is its own.
parse() {
  local name
  while (($# > 0)); do
    if passes_on; then
      words+=("$@")
      return
    fi
    case $1 in
      -h | --help) print_help && exit $ok ;;
      --cluster | --hdfs | --follow) flag[${1#--}]=1 ;;
      --data=* | --cache=* | --conf=* | --listen=* | --port=* | --*-port=* | --heap=* | --timeout=* | --lines=*)
        name=${1%%=*}
        flag[${name#--}]=${1#*=}
        ;;
      --data | --cache | --conf | --listen | --port | --zookeeper-port | --master-port | --regionserver-port | \
        --namenode-port | --heap | --timeout | --lines)
        (($# > 1)) || die $usage "$1 needs a value"
        flag[${1#--}]=$2
        shift
        ;;
      -*) die $usage "unknown option $1; see \`hbase --help\`" ;;
      *) words+=("$1") ;;
    esac
    shift
  done
}

# Whether all that is left goes to the program that the command runs.
passes_on() {
  [[ ${words[0]:-} =~ ^(shell|java|bulk-load)$ && ${#words[@]} -gt 1 || ${words[0]:-} == dfs ]]
}

# expect_words MIN MAX: how many words may follow the command.
expect_words() {
  local n=$((${#words[@]} - 1))
  if ((n < $1 || n > $2)); then die $usage "wrong number of words after \`hbase ${words[0]}\`; see \`hbase --help\`"; fi
}
