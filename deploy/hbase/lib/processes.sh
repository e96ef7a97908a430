# shellcheck shell=bash
# The JVMs as processes of this machine: which run, and their end. Whether they do their work is in readiness.sh, and
# their start in start.sh.

# Every JVM carries this argument. It tells a role from a stranger that got its process id, and finds a JVM whose pid
# file was lost with its folder.
marker() { printf -- '-Dpigeonhole.hbase=%s@%s' "$1" "$data"; }

# is_role PID ROLE. The marker comes to grep as a file, as else grep's own command line would match.
is_role() { grep -qsaxzF -f <(marker "$2") "/proc/$1/cmdline"; }

# pid_of ROLE: its process id, if it runs.
pid_of() {
  local pid=''
  if [[ -f $data/run/$1.pid ]]; then pid=$(<"$data/run/$1.pid"); fi
  if ! [[ $pid =~ ^[0-9]+$ ]] || ! is_role "$pid" "$1"; then
    pid=$(grep -lsaxzF -f <(marker "$1") /proc/[0-9]*/cmdline | sed -n '1s|/proc/\([0-9]*\)/.*|\1|p') || true
  fi
  [[ -n $pid ]] && printf '%s' "$pid"
}

# Of all roles, as a data folder that was deleted no longer tells its mode.
running_roles() {
  local role
  for role in server "${cluster_roles[@]}"; do
    if pid_of "$role" >/dev/null; then echo "$role"; fi
  done
}

refuse_deleted_folder() {
  ((${#remembered[@]} > 0)) || [[ -z $(running_roles) ]] ||
    die $partly_up "JVMs run whose data folder was deleted ($data): \`hbase down\` stops them"
}

# stop_roles SIGNAL ROLE…: sends it to all, waits, and kills what does not go. A slow disk gets the time to write what
# is only in memory.
stop_roles() {
  local signal=$1 role pid deadline=$((SECONDS + 90))
  local -A pids=()
  shift
  for role in "$@"; do
    if pid=$(pid_of "$role"); then
      pids[$role]=$pid
      kill "-$signal" "$pid" 2>/dev/null || true
    fi
  done
  for role in "${!pids[@]}"; do
    wait_for_end "$role" "${pids[$role]}" "$deadline"
    rm -f "$data/run/$role.pid"
    say "stopped $role (pid ${pids[$role]})"
  done
}

# wait_for_end ROLE PID DEADLINE
wait_for_end() {
  while is_role "$2" "$1"; do
    if ((SECONDS >= $3)); then
      say "$1 does not stop: killing it (pid $2)"
      kill -KILL "$2" 2>/dev/null || true
    fi
    sleep 0.1
  done
}
