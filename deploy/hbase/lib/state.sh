# shellcheck shell=bash
# What the parts share: exit codes, the names of the settings, and every global variable, with the function that sets
# it. All other variables are local to a function. No function is here.

# Exit codes; `--help` explains them.
readonly ok=0 failed=1 not_running=3 partly_up=4 usage=64 unavailable=69 no_folder=73 taken=75

# What `up` remembers in the data folder. Ports are chosen so that a cluster and a standalone HBase never differ in
# them.
readonly port_names=(port zookeeper-port master-port regionserver-port namenode-port)
readonly filled_names=("${port_names[@]}" listen hostname) # what the templates of the configuration name
declare -rA default=(
  [listen]=127.0.0.1
  [hostname]=localhost
  [port]=9090
  [zookeeper-port]=2181
  [master-port]=16000
  [regionserver-port]=16020
  [namenode-port]=8020
)

# By `parse`: the options without their dashes, and the command with its words.
declare -A flag=()
words=()

# By `find_folders` and `choose_timeout`, of the command line or the environment; `conf` is empty where it is not given.
data='' cache='' conf='' timeout=''

declare -A remembered=() # by `read_remembered`, from the data folder
declare -A setting=()    # by `use_remembered` or `choose_settings`: what holds
declare -A started_at=() # by `start_role`: milliseconds, of the roles that this process started
java=''                  # by `find_java`: the program
