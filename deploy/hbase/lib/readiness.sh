# shellcheck shell=bash
# Whether a role that runs does its work, and the wait for it. Ports, ZooKeeper, the gateway and the logs are asked;
# nothing is started or stopped here.

# port_accepts ROLE PORT
port_accepts() { (exec 3<>"/dev/tcp/$(address_of "$1" "$2")/$2") 2>/dev/null; }

# Whether a running role does its work.
is_ready() {
  local role=$1 port
  for port in $(ports_of "$role"); do
    port_accepts "$role" "$port" || return 1
  done
  case $role in
    gateway) is_initialised && gateway_answers ;;
    datanode) is_registered ;;
    server) (($(registered_at "${setting[regionserver-port]}") > ${started_at[$role]:-0})) ;;
    regionserver-?) (($(registered_at "$(ports_of "$role")") > ${started_at[$role]:-0})) ;;
  esac
}

# Asks the gateway for the names of the tables, which it has to ask the master for: where that serves, the answer is a
# list (0f), elsewhere an exception, or none.
gateway_answers() {
  local call='\x80\x01\x00\x01\x00\x00\x00\x0dgetTableNames\x00\x00\x00\x01\x00' reply
  reply=$(
    exec 3<>"/dev/tcp/127.0.0.1/${setting[port]}"
    # shellcheck disable=SC2059  # the escapes are the message
    printf "$call" >&3
    timeout 5 head -c 26 <&3 | od -An -v -tx1 | tr -d ' \n'
  ) 2>/dev/null || return 1
  [[ $reply == 80010002*0f ]]
}

# Before that the master lists tables to the gateway, but makes none, and does not end when it is told to. It waits for
# the region servers, which `start` of it alone does not bring.
is_initialised() {
  local role
  for role in server master; do
    has_logged "$role" 'Master has completed initialization' || return 1
  done
}

# Before that nothing can be written.
is_registered() { has_logged datanode 'successfully registered with NN'; }

# has_logged ROLE PATTERN: whether it has done that since this process started it.
has_logged() {
  local since pattern=$2
  [[ -n ${started_at[$1]:-} ]] || return 0
  since=$(date -d "@$((${started_at[$1]} / 1000))" +%FT%T)
  awk -v since="$since" -v pattern="$pattern" '$1 >= since && $0 ~ pattern { found = 1 } END { exit !found }' \
    "$data/logs/$1.log" 2>/dev/null
}

# When the region server at PORT registered, in milliseconds: its start code. Never, if it did not.
registered_at() {
  local codes
  codes=$(
    exec 3<>"/dev/tcp/127.0.0.1/${setting[zookeeper-port]}"
    printf dump >&3
    timeout 5 cat <&3 | sed -n "s|.*/hbase/rs/${setting[hostname]},$1,||p" | sort -n | tail -n 1
  ) 2>/dev/null || true
  printf '%s' "${codes:-0}"
}

# wait_for ROLE…: until all are ready; not longer than --timeout, and not when one has died.
wait_for() {
  local role deadline=$((SECONDS + timeout))
  for role in "$@"; do
    until is_ready "$role"; do
      all_alive "$@"
      if ((SECONDS >= deadline)); then
        show_end_of_log "$role"
        die $failed "the $role was not ready in time (--timeout)"
      fi
      sleep 0.3
    done
  done
  all_alive "$@"
}

all_alive() {
  local role
  for role in "$@"; do
    if ! pid_of "$role" >/dev/null; then
      show_end_of_log "$role"
      die $failed "the $role died; why is in $data/logs/$role.log"
    elif has_aborted "$role"; then
      show_end_of_log "$role"
      die $failed "the $role has given up; why is in $data/logs/$role.log"
    fi
  done
}

# Whether a role has given up since this process started it. Its JVM may hang instead of ending, and the others wait.
has_aborted() { [[ -n ${started_at[$1]:-} ]] && has_logged "$1" 'ABORTING (master|region server)'; }

show_end_of_log() {
  say "---- the end of $data/logs/$1.{out,log}"
  tail -qn 12 "$data/logs/$1.out" "$data/logs/$1.log" 2>/dev/null | cut -c 1-240 >&2 || true
  say '----'
}
