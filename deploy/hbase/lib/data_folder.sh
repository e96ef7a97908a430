# shellcheck shell=bash
# The folder of one instance: its making, its lock, and the configuration that the templates in conf/ become. The file
# `settings` is in settings.sh, and the pid files are in processes.sh and start.sh.

create_data_folder() {
  # HDFS looks for its web pages on the class path; empty folders will do.
  mkdir -p "$data"/{conf/webapps/hdfs,conf/webapps/datanode,logs,run,tmp} 2>/dev/null ||
    die $no_folder "cannot create or write the data folder $data (--data)"
}

# One command at a time works on an instance. The lock goes with this process: the JVMs close it.
lock_data_folder() {
  exec 9>"$data/lock" || die $no_folder "cannot write to the data folder $data (--data)"
  flock -n 9 && return
  say "waiting for another hbase command on $data"
  flock -w 600 9 || die $taken "another hbase command keeps $data"
}

# Without that file HBase does not start, but waits and says so in its log only.
refuse_incomplete_data() {
  [[ ! -d $data/hbase || -f $data/hbase/hbase.version ]] ||
    die $failed "the data are incomplete, as when their folder is deleted while HBase runs: delete $data and try again"
}

write_configuration() {
  local name
  for name in $(configuration_files); do configuration "$name" >"$data/conf/$name"; done
}

configuration_files() {
  echo core-site.xml log4j2.properties
  if [[ ${setting[mode]} != hdfs ]]; then echo hbase-site.xml; fi
  if has_hdfs; then echo hdfs-site.xml; fi
}

# configuration FILE: what is in it by the templates and the settings.
configuration() {
  local template=$1
  if [[ $1 == hbase-site.xml ]]; then template=${setting[mode]}-site.xml; fi
  fill "$template"
}

# What was changed by hand or is of other templates is kept while roles run by it.
say_what_differs() {
  local name
  for name in $(configuration_files); do
    configuration "$name" | cmp -s - "$data/conf/$name" ||
      say "$data/conf/$name is kept as it is, though the settings and templates say otherwise:" \
        "\`hbase down\` and \`hbase up\` make it anew"
  done
}

# fill TEMPLATE: the words between at signs replaced.
fill() {
  local text name upper fs=file:///
  text=$(<"$here/conf/$1")
  text=${text/@COMMON@/"$(<"$here/conf/common-site.xml")"}
  for name in "${filled_names[@]}"; do
    upper=${name^^}
    text=${text//@${upper//-/_}@/"${setting[$name]}"}
  done
  if has_hdfs; then fs=hdfs://127.0.0.1:${setting[namenode-port]}; fi
  text=${text//@SERVERS_ADDRESS@/"$(servers_address)"}
  text=${text//@DEFAULT_FS@/"$fs"}
  printf '%s\n' "${text//@DATA@/"$data"}"
}
