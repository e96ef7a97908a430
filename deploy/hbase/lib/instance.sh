# shellcheck shell=bash
# The commands that start and stop an instance or a role of it: up, down, start, stop, kill, run. How a JVM is started
# and stopped is in start.sh and processes.sh.

command_up() {
  local running missing
  prepare_start
  mapfile -t running < <(running_roles)
  if ((${#running[@]} > 0)); then
    refuse_deleted_folder
    refuse_changes
  fi
  mapfile -t missing < <(roles_without "${running[@]}")
  if ((${#missing[@]} > 0)); then start_missing "${missing[@]}"; fi
  # shellcheck disable=SC2046  # role names have no spaces
  wait_for $(roles)
  if ((${#missing[@]} > 0)); then
    echo "up after $SECONDS s: ${setting[mode]}, $(addresses)"
  else
    echo "runs already: ${setting[mode]}, $(addresses)"
  fi
}

prepare_start() {
  find_java
  create_data_folder
  lock_data_folder
  read_remembered
  choose_settings
}

# roles_without ROLE…: the instance's other roles.
roles_without() {
  local role
  for role in $(roles); do
    [[ " $* " == *" $role "* ]] || echo "$role"
  done
}

start_missing() {
  refuse_taken_ports "$@"
  refuse_incomplete_data
  fetch_jars server
  remember_settings
  write_configuration
  format_hdfs
  start_and_wait "$@"
}

# Where its clients find it.
addresses() {
  if [[ ${setting[mode]} == hdfs ]]; then
    printf 'hdfs://127.0.0.1:%s' "${setting[namenode-port]}"
  else
    printf 'master on %s:%s, Thrift on 127.0.0.1:%s, ZooKeeper on 127.0.0.1:%s' \
      "$(servers_address)" "${setting[master-port]}" "${setting[port]}" "${setting[zookeeper-port]}"
  fi
}

command_down() {
  if [[ -d $data ]]; then lock_data_folder; fi
  if [[ -z $(running_roles) ]]; then
    echo 'nothing runs'
    return
  fi
  # What is told to end tidily in a deleted folder fills it with half of its files.
  local signal=TERM
  if [[ ! -f $data/settings ]]; then signal=KILL; fi
  # HDFS and ZooKeeper last: the others write to them until they end.
  stop_roles $signal server gateway regionserver-1 regionserver-2 master
  stop_roles $signal zookeeper datanode namenode
  if [[ $signal == TERM ]]; then echo 'down; the data stay'; else echo 'down; the data were deleted before'; fi
}

# command_start ROLE
command_start() {
  local running
  check_role "$1"
  [[ -f $data/settings ]] || die $not_running "nothing was ever started in $data: \`hbase up\` first"
  find_java
  lock_data_folder
  if pid_of "$1" >/dev/null; then
    echo "$1 runs already"
    return
  fi
  read_remembered
  choose_settings
  mapfile -t running < <(running_roles)
  if ((${#running[@]} > 0)); then refuse_changes; fi
  refuse_taken_ports "$1"
  if ((${#running[@]} > 0)); then
    say_what_differs
  else
    remember_settings
    write_configuration
  fi
  start_and_wait "$1"
  echo "$1 is up"
}

# command_stop SIGNAL ROLE
command_stop() {
  check_role "$2"
  if ! pid_of "$2" >/dev/null; then
    echo "$2 does not run"
    return
  fi
  stop_roles "$1" "$2"
}

# command_run ROLE. No pid file: what started it has its process, and the other commands find it by its marker.
command_run() {
  local arguments
  prepare_start
  check_role "$1"
  [[ -z $conf || $1 == gateway ]] || die $usage "--conf is for \`run gateway\`: the $1 has the configuration of $here"
  if pid_of "$1" >/dev/null; then die $taken "the $1 runs already"; fi
  refuse_taken_ports "$1"
  refuse_incomplete_data
  fetch_jars server
  remember_settings
  write_configuration
  mapfile -t arguments < <(role_arguments "$1" -Dpigeonhole.appender=stderr)
  cd "$data/logs"
  LC_ALL=C.UTF-8 exec "$java" "${arguments[@]}" </dev/null 9>&-
}
