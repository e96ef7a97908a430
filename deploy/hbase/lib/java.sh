# shellcheck shell=bash
# Java, and the jars that Maven fetches into the cache folder. What a role or a client adds to the flags is theirs.

find_java() {
  local debian='on Debian: apt-get install -y openjdk-17-jre-headless maven' version major
  java=${JAVA_HOME:+$JAVA_HOME/bin/java}
  java=$(command -v "${java:-java}") ||
    die $unavailable "Java 17 is missing: ${JAVA_HOME:+no java in JAVA_HOME=$JAVA_HOME; }$debian"
  version=$("$java" -version 2>&1 | sed -n 's/.* version "\([^"]*\)".*/\1/p')
  major=${version%%[.-]*}
  # Those with which it was tried.
  [[ $major == 17 || $major == 21 ]] ||
    die $unavailable "Java 17 or 21 is needed, $java is ${version:-of no version that could be read};" \
      "$debian, and set JAVA_HOME to it"
}

require_compiler() {
  "$java" --list-modules | grep -q '^jdk.compiler@' ||
    die $unavailable "$java has no compiler; on Debian: apt-get install -y openjdk-17-jdk-headless"
}

# One a line, the last ones from --java-flags. Java 17 closes what HBase and Hadoop reach into; the list is that of
# HBase's own start script.
java_flags() {
  local package
  local -a own
  read -ra own <<<"$(chosen java-flags)"
  for package in java.io java.nio sun.nio.ch java.lang jdk.internal.ref java.lang.reflect java.util \
    java.util.concurrent; do
    printf -- '--add-opens=java.base/%s=ALL-UNNAMED\n' "$package"
  done
  for package in java.base/jdk.internal.misc java.base/sun.net.dns java.base/sun.net.util \
    java.security.jgss/sun.security.krb5; do
    printf -- '--add-exports=%s=ALL-UNNAMED\n' "$package"
  done
  printf '%s\n' --add-modules=jdk.unsupported -Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true
  printf '%s\n' -Djava.net.preferIPv4Stack=true -Dfile.encoding=UTF-8 "-Djava.io.tmpdir=$data/tmp" "${own[@]}"
}

# class_path server|shell: what `--conf` names comes first.
class_path() { printf '%s' "${conf:+$conf:}$data/conf:$(jars_of "$1")/*"; }

# jars_of server|shell: the folder of a class path. Its name has the pom's hash, so a changed pom is fetched anew.
jars_of() {
  local hash
  hash=$(sha256sum <"$here/$1-pom.xml")
  printf '%s/%s-%s' "$cache" "$1" "${hash:0:12}"
}

# fetch_jars server|shell: once. The folder appears under its name when it is complete, and not before.
fetch_jars() {
  local jars
  jars=$(jars_of "$1")
  [[ ! -d $jars ]] || return 0
  command -v mvn >/dev/null ||
    die $unavailable 'Maven is missing, which fetches the jars of HBase; on Debian: apt-get install -y maven'
  mkdir -p "$cache" 2>/dev/null || die $no_folder "cannot create the folder of the jars, $cache (--cache)"
  (
    exec 8>"$cache/lock" || die $no_folder "cannot write to the folder of the jars, $cache (--cache)"
    flock -n 8 || { say 'waiting for another download' && flock 8; }
    [[ -d $jars ]] || fetch_into "$1" "$jars"
  )
}

# fetch_into server|shell FOLDER
fetch_into() {
  local partial=$2.partial
  say "fetching the jars of the $1 (120 MB, once) to $2"
  rm -rf "$partial"
  mkdir "$partial"
  copy_jars "$1" "$partial" || die $unavailable "Maven could not fetch the jars of the $1; its last lines are above"
  mv "$partial/lib" "$2"
  rm -rf "$partial"
}

# copy_jars server|shell FOLDER: into its folder `lib`.
copy_jars() {
  local log=$2/maven.log
  # A copy, so that Maven leaves nothing in the work tree.
  cp "$here/$1-pom.xml" "$2/pom.xml"
  mvn -B -f "$2/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$2/lib" >"$log" 2>&1 &&
    return
  grep -a ERROR "$log" | tail -n 10 >&2
  return 1
}
