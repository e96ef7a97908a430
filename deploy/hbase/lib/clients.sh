# shellcheck shell=bash
# The commands that become a client of the instance: shell, java, bulk-load, dfs; and fetch, which gets the jars that
# they and the roles need.

# For the commands that need an instance.
require_running() {
  if [[ -n $conf ]]; then
    create_data_folder
    write_configuration
    return
  fi
  refuse_deleted_folder
  [[ -n $(running_roles) ]] || die $not_running "nothing runs in $data: \`hbase up\` first"
}

# client_flags NAME: what every client is started with, one a line. The name is that of its log.
client_flags() {
  java_flags
  printf '%s\n' "-Dpigeonhole.log=$data/logs/$1.log" -Dpigeonhole.log.level=warn
}

# command_shell [SCRIPT]
command_shell() {
  local flags
  require_running
  find_java
  fetch_jars shell
  mapfile -t flags < <(client_flags shell)
  # A script is over before the JIT's second stage pays.
  flags+=(-XX:TieredStopAtLevel=1 -cp "$(class_path shell)")
  export JRUBY_OPTS=-X+O
  if (($# == 0)) && [[ -t 0 ]]; then exec "$java" "${flags[@]}" org.jruby.JarBootstrapMain; fi
  export IRBRC=$here/conf/irbrc
  if (($# == 0)); then keep_input && set -- /dev/fd/7; fi
  # After its script the shell reads on from its input, which a terminal would never end.
  exec "$java" "${flags[@]}" org.jruby.JarBootstrapMain -n "$@" </dev/null
}

# What is piped in becomes a file without a name, at descriptor 7: JRuby cannot read a script from a pipe.
keep_input() {
  local file
  file=$(mktemp "$data/tmp/shell.XXXXXX")
  cat >"$file"
  [[ -s $file ]] || echo >"$file"
  exec 7<"$file"
  rm "$file"
}

# command_java FILE [ARG…]
command_java() {
  local flags
  (($# > 0)) || die $usage "hbase java needs a source file"
  require_running
  find_java
  require_compiler
  fetch_jars server
  mapfile -t flags < <(client_flags java)
  exec "$java" "${flags[@]}" -cp "$(class_path server)" "$@"
}

# command_bulk_load ROWS [OPTION…]
command_bulk_load() {
  local staging=()
  (($# > 0)) || die $usage "hbase bulk-load needs a folder of rows"
  # In a cluster the loader takes the home folder in HDFS.
  if [[ ${setting[mode]} == standalone ]]; then staging=(--staging "file://$data/tmp/bulk-load"); fi
  command_java "$here/BulkLoad.java" "${staging[@]}" "$@"
}

# command_dfs -COMMAND [ARG…]
command_dfs() {
  local flags
  require_running
  has_hdfs || die $usage "a standalone HBase has no HDFS"
  find_java
  mapfile -t flags < <(client_flags dfs)
  exec "$java" "${flags[@]}" -XX:TieredStopAtLevel=1 -cp "$(class_path server)" org.apache.hadoop.fs.FsShell "$@"
}

command_fetch() {
  find_java
  fetch_jars server
  fetch_jars shell
}
