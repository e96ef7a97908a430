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
      -*)
        name=${1#--}
        name=${name%%=*}
        takes_value "$name" || die $usage "unknown option $1; see \`hbase --help\`"
        if [[ $1 == *=* ]]; then
          flag["$name"]=${1#*=}
        else
          (($# > 1)) || die $usage "$1 needs a value"
          flag["$name"]=$2
          shift
        fi
        ;;
      *) words+=("$1") ;;
    esac
    shift
  done
}

# Whether all that is left goes to the program that the command runs.
passes_on() {
  [[ ${words[0]:-} =~ ^(shell|java|bulk-load)$ && ${#words[@]} -gt 1 || ${words[0]:-} == dfs ]]
}

# takes_value NAME: whether there is an option of that name with a value.
takes_value() {
  local name
  for name in data cache conf java-flags "${filled_names[@]}" heap timeout lines; do
    if [[ $1 == "$name" ]]; then return 0; fi
  done
  return 1
}

# expect_words MIN MAX: how many words may follow the command.
expect_words() {
  local n=$((${#words[@]} - 1))
  if ((n < $1 || n > $2)); then die $usage "wrong number of words after \`hbase ${words[0]}\`; see \`hbase --help\`"; fi
}
