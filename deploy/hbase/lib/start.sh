# shellcheck shell=bash
# The start of roles: their command lines, the order, and what a start that fails takes back. Which are to be started,
# and with what settings, is for the commands in instance.sh.

refuse_taken_ports() {
  local role port
  for role in "$@"; do
    for port in $(ports_of "$role"); do
      if port_accepts "$role" "$port"; then
        die $taken "port $port of the $role is taken$(holder_of_port "$port"):" \
          "choose another with $(flag_of_port "$port")"
      fi
    done
  done
}

holder_of_port() {
  ss -ltnpH "sport = :$1" 2>/dev/null | sed -n 's/.*users:(("\([^"]*\)",pid=\([0-9]*\).*/ by \1 (pid \2)/p;q'
}

# role_arguments ROLE [FLAG…]: what its JVM is started with, one a line.
role_arguments() {
  local role=$1
  shift
  java_flags
  printf '%s\n' "-Xmx$(heap_of "$role")" -XX:+ExitOnOutOfMemoryError "$(marker "$role")" \
    "-Dpigeonhole.log=$data/logs/$role.log"
  # `dump` lists the region servers. ZooKeeper's web page would listen on port 8080 of every address.
  printf '%s\n' -Dzookeeper.4lw.commands.whitelist=dump -Dzookeeper.admin.enableServer=false
  case $role in namenode | datanode | zookeeper) echo -XX:+UseSerialGC ;; esac
  printf '%s\n' "$@" -cp "$(class_path server)"
  main_of "$role"
}

start_role() {
  local role=$1 arguments
  mapfile -t arguments < <(role_arguments "$role")
  started_at["$role"]=$(date +%s%3N)
  # A session of its own: Ctrl-C in this terminal is not for it.
  (
    cd "$data/logs"
    LC_ALL=C.UTF-8 exec setsid "$java" "${arguments[@]}"
  ) </dev/null >"$data/logs/$role.out" 2>&1 8>&- 9>&- &
  local pid=$!
  printf '%s\n' "$pid" >"$data/run/$role.pid"
  say "starting $role (pid $pid)"
  disown
  # Until it has become Java, it looks like any shell, and like one that has died.
  local tries=200
  while ((tries-- > 0)) && kill -0 "$pid" 2>/dev/null && ! is_role "$pid" "$role"; do sleep 0.05; done
}

# start_and_wait ROLE…: until they do their work.
start_and_wait() {
  local role
  trap undo_start EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  # HDFS and ZooKeeper first, as the others only wait for them.
  for role in "$@"; do
    case $role in
      namenode | datanode | zookeeper) start_role "$role" ;;
    esac
  done
  for role in "$@"; do
    case $role in
      namenode | zookeeper) wait_for "$role" ;;
    esac
  done
  for role in "$@"; do
    if [[ -z ${started_at[$role]:-} ]]; then start_role "$role"; fi
  done
  wait_for "$@"
  trap - EXIT INT TERM HUP
}

# A start that fails or is interrupted leaves nothing behind of what it started.
undo_start() {
  local code=$?
  trap '' INT TERM
  if ((code != ok && ${#started_at[@]} > 0)); then
    say 'stopping what was started'
    stop_roles KILL "${!started_at[@]}"
  fi
  exit "$code"
}

format_hdfs() {
  local flags
  has_hdfs && [[ ! -f $data/hdfs/name/current/VERSION ]] || return 0
  mapfile -t flags < <(java_flags)
  "$java" "${flags[@]}" "-Dpigeonhole.log=$data/logs/namenode.log" -cp "$(class_path server)" \
    org.apache.hadoop.hdfs.server.namenode.NameNode -format -force -nonInteractive >"$data/logs/namenode.out" 2>&1 ||
    { show_end_of_log namenode && die $failed 'HDFS could not be formatted'; }
}
