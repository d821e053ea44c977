# What the recipes of the interpreters have in common: tools and sources out of
# the machine's own Debian archive. A recipe sets guest and root, sources this,
# and has say, show, tools, fetch, source_of, patched and package_of; it works in
# $work.
# What is taken, in which version and with which digest stands in manifest.json.
work=${WORK:-$root/work}/$guest

say() { echo "$guest: $*" >&2; }
# show KEY: of the guest's entry in the manifest
show() { (cd "$root" && CGO_ENABLED=0 CC= go run ./wasm-modules/bake -guest "$guest" -show "$1"); }

# tools PACKAGE…: installs what is missing of them
tools() {
  missing=
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
  done
  if [ -n "$missing" ]; then
    as_root=
    if [ "$(id -u)" != 0 ]; then
      command -v sudo >/dev/null || { say "packages are missing that only root can install: apt-get install$missing"; exit 1; }
      as_root=sudo
    fi
    say "installing$missing"
    $as_root apt-get update -qq
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
  fi
  wanted=$(show settings.compiler)
  have=$(dpkg-query -W -f '${Version}' clang-19)
  case $have in
  "$wanted"*) ;;
  *) say "this is clang-19 $have, the committed module was built with $wanted: the bytes will differ" ;;
  esac
}

# A private apt that knows the suites of the manifest; the system's stays as it is.
private_apt() {
  mkdir -p "$work/apt/state/lists/partial" "$work/apt/cache/archives/partial"
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' | awk '$1 == "Debian" && !/security/ { print $2; exit }')
  if [ -z "$mirror" ]; then
    say "no Debian mirror in the machine's apt configuration: run apt-get update"
    exit 1
  fi
  for suite in $(show settings.suites); do
    for kind in deb deb-src; do
      echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
    done
  done >"$work/apt/sources.list"
  cat >"$work/apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$work/apt/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$work/apt/cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
CONF
}

complete() { echo "$sources" | (cd "$work/download" && sha256sum --check --status - 2>/dev/null); }

# gone FILE: of a package whose name begins the file's
gone() {
  has=$( (apt-cache showsrc "${1%%_*}"; apt-cache show "${1%%_*}") 2>/dev/null | awk '/^Version:/ { print $2 }' | sort -uV | xargs)
  say "$1 is not in the archive any more; of ${1%%_*} it has ${has:-nothing}."
  say "change the package's version, file and sha256 in sources and settings of $guest in wasm-modules/manifest.json."
  say "the committed artefacts do not need it."
  exit 1
}

# Every file that the manifest lists, one by one: a package of which only the
# description is gone can still be had.
fetch() {
  mkdir -p "$work/download"
  if complete; then return; fi
  private_apt
  export APT_CONFIG="$work/apt/apt.conf"
  apt-get update -qq
  (
    cd "$work/download"
    for package in $(show settings.packages); do
      apt-get source --download-only --print-uris -qq "$package" 2>/dev/null | tr -d "'"
    done
    for package in $(show settings.debs); do
      apt-get download --print-uris -qq "$package" 2>/dev/null | tr -d "'"
    done
  ) >"$work/download/uris"
  echo "$sources" | while read -r digest file; do
    echo "$digest  $work/download/$file" | sha256sum --check --status 2>/dev/null && continue
    uri=$(awk -v file="$file" '{ name = $2; gsub(/%3a/, ":", name); if (name == file || $1 ~ "/" file "$") { print $1; exit } }' "$work/download/uris")
    [ -n "$uri" ] || uri=$(awk '{ print $1 " " $2 }' "$work/download/uris" | grep -F -- "$file" | head -n 1 | cut -d ' ' -f 1)
    [ -n "$uri" ] || gone "$file"
    /usr/lib/apt/apt-helper -qq download-file "$uri" "$work/download/$file" "SHA256:$digest" >&2 || {
      say "$file cannot be fetched, or is not what the manifest's sha256 says: apt's words are above."
      exit 1
    }
  done
  unset APT_CONFIG
  complete || { say "what the archive gave has not the digests in the manifest"; exit 1; }
}

# file_of NAME PATTERN: path of the file of the manifest that is meant
file_of() { echo "$sources" | awk -v name="$1_" -v pattern="$2" -v folder="$work/download/" 'index($2, name) == 1 && $2 ~ pattern { print folder $2; exit }'; }

# source_of NAME DEPTH: unpacks a source package below $work/source, without the
# folders above its files, and with Debian's patches where the manifest has them.
source_of() {
  mkdir -p "$work/source/$1"
  tar -xf "$(file_of "$1" 'orig[.]tar')" -C "$work/source/$1" "--strip-components=$2"
  changes=$(file_of "$1" 'debian[.]tar')
  [ -n "$changes" ] || return 0
  tar -xf "$changes" -C "$work/source/$1"
  grep -v -e '^#' -e '^ *$' "$work/source/$1/debian/patches/series" | while read -r name _; do
    patch -s -p1 -d "$work/source/$1" <"$work/source/$1/debian/patches/$name"
  done
}

# patched NAME FOLDER: lays our own patches over an unpacked source
patched() {
  for p in "$2"/*.patch; do
    patch -s -p1 -d "$work/source/$1" <"$p"
  done
}

# package_of NAME FOLDER: unpacks a binary package
package_of() {
  mkdir -p "$2"
  dpkg -x "$(file_of "$1" '[.]deb$')" "$2"
}

mkdir -p "$work"
sources=$(show sources)
