# Functions that the recipes of the interpreters share: tools and sources from
# the machine's Debian archive. A recipe sets guest and root, sources this file,
# and uses say, show, tools, fetch, source_of, patched and package_of; it works in
# $work.
# manifest.json lists the files with versions and digests.
work=${WORK:-$root/work}/$guest

say() { echo "$guest: $*" >&2; }
# show KEY: prints a value of the guest's entry in the manifest
show() { (cd "$root" && CGO_ENABLED=0 CC= go run ./wasm-modules/bake -guest "$guest" -show "$1"); }

# tools PACKAGE…: installs missing packages
tools() {
  missing=
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
  done
  if [ -n "$missing" ]; then
    as_root=
    if [ "$(id -u)" != 0 ]; then
      command -v sudo >/dev/null || { say "install missing packages as root: apt-get install$missing"; exit 1; }
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

# A private apt configuration with the suites of the manifest; the system's does not change.
private_apt() {
  mkdir -p "$work/apt/state/lists/partial" "$work/apt/cache/archives/partial"
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' | awk '$1 == "Debian" && !/security/ { print $2; exit }')
  if [ -z "$mirror" ]; then
    say "no Debian mirror in the apt configuration: run apt-get update"
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

# gone FILE: reports a file that the archive no longer has
gone() {
  has=$( (apt-cache showsrc "${1%%_*}"; apt-cache show "${1%%_*}") 2>/dev/null | awk '/^Version:/ { print $2 }' | sort -uV | xargs)
  say "$1 is no longer in the archive, which has versions of ${1%%_*}: ${has:-none}."
  say "change the package's version, file and sha256 in sources and settings of $guest in wasm-modules/manifest.json."
  say "the committed artefacts stay valid."
  exit 1
}

# Downloads each file of the manifest separately: a file may still exist
# when its package is no longer listed.
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
      say "$file cannot be fetched, or does not match the sha256 in the manifest: see apt's message above."
      exit 1
    }
  done
  unset APT_CONFIG
  complete || { say "the downloaded files do not match the digests in the manifest"; exit 1; }
}

# file_of NAME PATTERN: prints the path of a file of the manifest
file_of() { echo "$sources" | awk -v name="$1_" -v pattern="$2" -v folder="$work/download/" 'index($2, name) == 1 && $2 ~ pattern { print folder $2; exit }'; }

# source_of NAME DEPTH: unpacks a source package below $work/source, without the
# folders above its files, and with Debian's patches if the manifest lists them.
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

# patched NAME FOLDER: applies our patches to an unpacked source
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
