# shellcheck shell=bash
# The commands that only look: status, logs. They change nothing, and need neither Java nor the lock.

# command_status [ROLE]
command_status() {
  local role pid ports state states=()
  refuse_deleted_folder
  if (($# > 0)); then
    check_role "$1"
    report_role "$1"
    return
  fi
  echo "${setting[mode]} HBase in $data"
  for role in $(roles); do
    pid=$(pid_of "$role") || pid=''
    state=$(state_of "$role" "$pid")
    states+=("$state")
    ports=$(ports_of "$role")
    printf '  %-15s %-10s pid %-8s port %s\n' "$role" "$state" "${pid:--}" "${ports:--}"
  done
  echo "  configuration   $data/conf"
  echo "  logs, pid files $data/logs, $data/run"
  status_code "${states[@]}"
}

# report_role ROLE: in a line, and as exit code.
report_role() {
  if ! pid_of "$1" >/dev/null; then
    echo "$1 does not run"
    return $not_running
  fi
  is_ready "$1" || { echo "$1 is not ready" && return $partly_up; }
  echo "$1 is up"
}

# state_of ROLE PID
state_of() {
  if [[ -z $2 ]]; then
    echo down
  elif is_ready "$1"; then
    echo up
  else
    echo 'not ready'
  fi
}

# status_code STATE…: the exit code of an instance whose roles are in these states.
status_code() {
  local state n_up=0 n_down=0
  for state in "$@"; do
    if [[ $state == up ]]; then n_up=$((n_up + 1)); fi
    if [[ $state == down ]]; then n_down=$((n_down + 1)); fi
  done
  if ((n_up == $#)); then return $ok; fi
  if ((n_down == $#)); then return $not_running; fi
  return $partly_up
}

# command_logs [ROLE]
command_logs() {
  local role=${1:-} lines=${flag[lines]:-20} files=()
  check_number lines "$lines"
  [[ -d $data/logs ]] || die $not_running "no logs in $data"
  if [[ -n $role ]]; then
    check_role "$role"
    files=("$data/logs/$role.out" "$data/logs/$role.log")
  else
    files=("$data"/logs/*.out "$data"/logs/*.log)
  fi
  tail -n "$lines" ${flag[follow]:+-F} "${files[@]}"
}
