# shellcheck shell=bash
# The roles of an instance, and what distinguishes them: ports, heap, main class. Which of them run is in processes.sh.

readonly cluster_roles=(namenode datanode zookeeper master regionserver-1 regionserver-2 gateway)

# In the order in which they are started.
roles() {
  case ${setting[mode]} in
    standalone) echo server gateway ;;
    cluster) echo "${cluster_roles[@]}" ;;
    hdfs) echo namenode datanode ;;
  esac
}

check_role() {
  [[ " $(roles) " == *" $1 "* ]] || die $usage "no role \`$1\` here; there are: $(roles)"
}

has_hdfs() { [[ ${setting[mode]} != standalone ]]; }

# The ports at which others expect a role. The DataNode's are any free ones, known to the NameNode.
ports_of() {
  case $1 in
    server) echo "${setting[zookeeper-port]} ${setting[master-port]} ${setting[regionserver-port]}" ;;
    namenode) echo "${setting[namenode-port]}" ;;
    datanode) ;;
    zookeeper) echo "${setting[zookeeper-port]}" ;;
    master) echo "${setting[master-port]}" ;;
    regionserver-1) echo "${setting[regionserver-port]}" ;;
    regionserver-2) echo "$((setting[regionserver-port] + 1))" ;;
    gateway) echo "${setting[port]}" ;;
  esac
}

# The address at which master and region servers listen: loopback, or that of the name under which others find them.
servers_address() {
  if [[ ${setting[hostname]} == localhost ]]; then echo 127.0.0.1; else echo "${setting[hostname]}"; fi
}

# address_of ROLE PORT: where the role listens. ZooKeeper, HDFS and, to these commands, the gateway are on loopback.
address_of() {
  case $1:$2 in
    *:"${setting[zookeeper-port]}") echo 127.0.0.1 ;;
    server:* | master:* | regionserver-?:*) servers_address ;;
    *) echo 127.0.0.1 ;;
  esac
}

flag_of_port() {
  local name
  for name in "${port_names[@]}"; do
    if [[ ${setting[$name]} == "$1" ]]; then
      printf -- '--%s' "$name"
      return
    fi
  done
  printf -- '--regionserver-port, plus one'
}

heap_of() {
  case $1 in
    server | regionserver-?) echo "${setting[heap]}" ;;
    master | gateway) echo 512m ;;
    namenode | datanode) echo 256m ;;
    zookeeper) echo 128m ;;
  esac
}

# main_of ROLE: its main class with the arguments, one a line.
main_of() {
  case $1 in
    server | master) printf '%s\n' org.apache.hadoop.hbase.master.HMaster start ;;
    namenode) echo org.apache.hadoop.hdfs.server.namenode.NameNode ;;
    datanode) echo org.apache.hadoop.hdfs.server.datanode.DataNode ;;
    zookeeper) echo org.apache.hadoop.hbase.zookeeper.HQuorumPeer ;;
    regionserver-?)
      echo org.apache.hadoop.hbase.regionserver.HRegionServer
      printf '%s\n' "-Dhbase.regionserver.port=$(ports_of "$1")" start
      ;;
    gateway)
      echo org.apache.hadoop.hbase.thrift.ThriftServer
      printf '%s\n' -threadpool -b "${setting[listen]}" -p "${setting[port]}"
      ;;
  esac
}
