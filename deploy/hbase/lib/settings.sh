# shellcheck shell=bash
# What an instance is given: options, else environment variables, else what the data folder remembers, else defaults;
# and which values are refused. Of files, only the data folder's `settings` is read and written here.

environment_name() {
  local name=${1^^}
  printf 'PIGEONHOLE_HBASE_%s' "${name//-/_}"
}

# chosen NAME: the flag, or its environment variable, or nothing.
chosen() {
  local variable
  variable=$(environment_name "$1")
  printf '%s' "${flag[$1]:-${!variable:-}}"
}

find_folders() {
  data=$(chosen data)
  cache=$(chosen cache)
  [[ -n ${HOME:-} ]] || [[ -n $data && -n $cache ]] ||
    die $usage "without a home folder, --data and --cache must be given"
  data=$(realpath -m -- "${data:-${XDG_STATE_HOME:-$HOME/.local/state}/pigeonhole/hbase}")
  cache=$(realpath -m -- "${cache:-${XDG_CACHE_HOME:-$HOME/.cache}/pigeonhole/hbase}")
  conf=$(chosen conf)
  if [[ -n $conf ]]; then conf=$(realpath -m -- "$conf"); fi
  check_folders
}

# They go into XML, comma-separated lists and class paths, none of which all of Hadoop escapes.
check_folders() {
  local bad_letters='],:;$%&<>*?"'\''\['
  if [[ $data$cache$conf == *["$bad_letters"]* || $data$cache$conf == *[[:cntrl:]]* ]]; then
    die $usage "the folders may not have any of [ ] : , ; \$ % & < > * quotes or backslashes in their names:" \
      "$data, $cache${conf:+, $conf}"
  fi
}

check_number() { [[ $2 =~ ^[0-9]{1,6}$ ]] || die $usage "--$1 is no number: $2"; }

choose_timeout() {
  timeout=$(chosen timeout)
  timeout=${timeout:-180}
  check_number timeout "$timeout"
}

read_remembered() {
  local name value
  remembered=()
  [[ -f $data/settings ]] || return 0
  while IFS='=' read -r name value; do
    if [[ -n $name && -n $value ]]; then remembered["$name"]=$value; fi
  done <"$data/settings"
}

# What holds for an instance that was started before.
use_remembered() {
  local name
  setting=([mode]=standalone)
  for name in "${!default[@]}"; do setting["$name"]=${default[$name]}; done
  for name in "${!remembered[@]}"; do setting["$name"]=${remembered[$name]}; done
}

# What holds for one that is started now.
choose_settings() {
  local name value
  use_remembered
  choose_mode
  for name in "${filled_names[@]}" heap; do
    value=$(chosen "$name")
    if [[ -n $value ]]; then setting["$name"]=$value; fi
  done
  if [[ -z ${setting[heap]:-} ]]; then
    if [[ ${setting[mode]} == cluster ]]; then setting[heap]=768m; else setting[heap]=2g; fi
  fi
  check_settings
  check_ports_differ
}

choose_mode() {
  if [[ -n ${flag[cluster]:-} ]]; then setting[mode]=cluster; fi
  if [[ -n ${flag[hdfs]:-} ]]; then setting[mode]=hdfs; fi
  if [[ ${setting[mode]} != "${remembered[mode]:-${setting[mode]}}" ]]; then
    die $usage "$data holds what was started as ${remembered[mode]}: take another --data for --${setting[mode]}"
  fi
}

check_settings() {
  local name
  for name in "${port_names[@]}"; do
    if ! [[ ${setting[$name]} =~ ^[1-9][0-9]{0,4}$ ]] || ((${setting[$name]} > 65534)); then
      die $usage "--$name is no port: ${setting[$name]}"
    fi
  done
  [[ ${setting[listen]} =~ ^[0-9]{1,3}(\.[0-9]{1,3}){3}$ ]] ||
    die $usage "--listen is no IPv4 address: ${setting[listen]}"
  [[ ${setting[hostname]} =~ ^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$ ]] ||
    die $usage "--hostname is no name of a machine in lower case: ${setting[hostname]}"
  [[ ${setting[heap]} =~ ^[1-9][0-9]*[mg]$ ]] || die $usage "--heap is no size like 768m or 2g: ${setting[heap]}"
}

check_ports_differ() {
  local role port used=' '
  for role in $(roles); do
    for port in $(ports_of "$role"); do
      [[ $used != *" $port "* ]] || die $usage "port $port is asked for twice: $(flag_of_port "$port") and another"
      used+="$port "
    done
  done
}

# A running instance keeps its settings.
refuse_changes() {
  local name
  for name in "${filled_names[@]}" heap; do
    # Of before there was --listen or --hostname.
    if [[ ${remembered[$name]:-${default[$name]:-}} != "${setting[$name]}" ]]; then
      die $usage "it runs with --$name ${remembered[$name]:-unknown}; to change that, \`hbase down\` first"
    fi
  done
}

remember_settings() {
  local name
  for name in mode heap "${filled_names[@]}"; do
    printf '%s=%s\n' "$name" "${setting[$name]}"
  done >"$data/settings.new"
  mv "$data/settings.new" "$data/settings"
}
