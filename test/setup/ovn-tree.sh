# OVN and Open vSwitch of another Debian release, beside the machine's own: unpacked, not installed, nothing of it is ever started
# by a package. Sourced by setup.sh. Leaves <cache>/isthmus/ovn/<version> → a folder of this machine's architecture with
#   bin/       every OVN and OVS program, made to run here on the loader and the libraries of the tree
#   sbin/      nft, apart, for tests that read with this machine's own what that one has written
#   share/     ovn/*.ovsschema, openvswitch/vswitch.ovsschema
#   versions   the packages and their versions; written last: a folder without it does not count
#   tree/      the release itself

tree_packages=(nftables ovn-central ovn-common ovn-host ovn-ic ovn-ic-db openvswitch-common openvswitch-switch)

tree_suite() {
  case $1 in
    25.03) echo trixie ;;
    23.03) echo bookworm ;;
    *) stop "no Debian release with OVN $1 is known here; known are 25.03 (Debian 13) and 23.03 (Debian 12)" ;;
  esac
}

tree_path() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/isthmus/ovn/$1"; }

setup_tree() {
  local version=$1 suite path folder id
  case $(dpkg-query -W -f '${Version}' ovn-common 2>/dev/null) in
    "$version".*) say "OVN $version: this machine's own"; return ;;
  esac
  suite=$(tree_suite "$version")
  command -v dpkg-deb >/dev/null || stop 'no dpkg-deb here: it unpacks the Debian packages of the tree'
  path=$(tree_path "$version")
  id=$( (cat test/setup/ovn-tree.sh; dpkg --print-architecture; echo "$suite") | sha256sum | cut -c1-16)
  folder=$path-$id
  if ! tree_complete "$folder"; then
    need_root
    mkdir -p "$(dirname "$folder")"
    exec 8>"$path.lock"
    flock -n 8 || { say "OVN $version: another build is under way, waiting for it"; flock 8; }
    tree_complete "$folder" || build_tree "$version" "$suite" "$folder"
  fi
  [ "$(readlink "$path" || true)" = "${folder##*/}" ] ||
    { ln -sfn "${folder##*/}" "$path.$$" && mv -fT "$path.$$" "$path"; }
  say "OVN $version: $(sed -n 's/^\(ovn-central\|openvswitch-switch\) /\1 /p' "$folder/versions" | paste -sd, | sed 's/,/, /') in $path"
}
# setup_base SUITE=FOLDER: a Debian in a folder, for images where no registry has one.
setup_base() {
  local suite=${1%%=*} folder=${1#*=} log
  need_root
  install_packages debootstrap debian-archive-keyring gpgv
  log=$(mktemp)
  leftovers+=("$log")
  run_debootstrap "$log" "$suite" "$folder" || { tail -20 "$log" >&2; stop "debootstrap could not make a Debian $suite (see above)"; }
  rm -rf "$folder"/var/cache/apt/archives/*.deb "$folder"/var/lib/apt/lists/*
}
tree_complete() { [ -s "$1/versions" ]; }

build_tree() {
  local version=$1 suite=$2 folder=$3 next log begun=$SECONDS
  install_packages debootstrap debian-archive-keyring gpgv patchelf
  next=$(mktemp -d "$folder.XXXXXX"); log=$next.log
  leftovers+=("$next" "$log")
  say "OVN $version: fetching Debian $suite"
  fetch_tree "$suite" "$next/fetched" "$log" || { tail -20 "$log" >&2; stop "debootstrap could not fetch Debian $suite (see above)"; }
  unpack_tree "$next/fetched/var/cache/apt/archives" "$next/tree"
  write_versions "$next/fetched/var/cache/apt/archives" >"$next/versions.new"
  rm -rf "$next/fetched"
  copy_programs "$next/tree" "$folder/tree" "$next/bin" "$next/sbin"
  mkdir "$next/share"
  ln -s ../tree/usr/share/ovn ../tree/usr/share/openvswitch "$next/share/"
  check_tree "$version" "$next"
  mv "$next/versions.new" "$next/versions"; chmod 755 "$next"
  rm -rf "$folder"; mv -T "$next" "$folder"; rm -f "$log"
  say "OVN $version: built in $((SECONDS - begun)) s, $(du -sm "$folder" | cut -f1) MB"
}

fetch_tree() {
  local suite=$1 target=$2 log=$3 include
  include=$(IFS=,; echo "${tree_packages[*]}")
  run_debootstrap "$log" --download-only --include="$include" "$suite" "$target"
}

# run_debootstrap LOG OPTION… SUITE TARGET: uses the Debian mirror and the proxy of this machine's apt.
run_debootstrap() {
  local log=$1 mirror proxy; shift
  mirror=${DEBIAN_MIRROR:-$(debian_mirror)}
  if [ -z "$mirror" ]; then apt-get update >>"$log" 2>&1 || true; mirror=$(debian_mirror); fi
  [ -n "$mirror" ] || stop 'apt has no Debian mirror configured here: name one with DEBIAN_MIRROR=http://… make …'
  proxy=$(apt-config shell P Acquire::http::Proxy | sed -n "s/^P='\(.*\)'$/\1/p")
  [ -z "$proxy" ] || export http_proxy=$proxy
  with_progress "$log" debootstrap --force-check-gpg --variant=minbase --arch="$(dpkg --print-architecture)" "$@" "$mirror"
}
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1
}

# Without the packages' scripts: those would start Open vSwitch here.
unpack_tree() {
  local archives=$1 tree=$2 name deb
  mkdir -p "$tree"/usr/{bin,sbin,lib,lib64}
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$tree/$name"; done
  for deb in "$archives"/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$tree"
  done
}

write_versions() { local deb; for deb in "$1"/*.deb; do dpkg-deb --show --showformat '${Package} ${Version}\n' "$deb"; done; }

# copy_programs TREE PLACE BIN SBIN: TREE will lie at PLACE when the programs run. A program whose file names its loader and its libraries
# needs no chroot and no wrapper: files, sockets, pids and the name that ps shows are those of any program.
copy_programs() {
  local tree=$1 place=$2 bin=$3 sbin=$4 path libraries loader
  libraries=$(cd "$tree" && echo usr/lib/*-linux-gnu)
  loader=$(cd "$tree" && echo "$libraries"/ld-linux*.so.*)
  [ -e "$tree/$loader" ] || stop "the tree has no dynamic loader at $loader"
  mkdir "$bin" "$sbin"
  # In Debian, ovs-vswitchd is a link that only its package's script creates.
  for path in "$tree"/usr/{bin,sbin,lib/openvswitch-switch}/{ovn,ovs,ovsdb,vtep}-*; do
    is_program "$path" || continue
    cp "$path" "$bin/"
  done
  cp "$tree/usr/sbin/nft" "$sbin/"
  for path in "$bin"/* "$sbin"/*; do
    patchelf --set-interpreter "$place/$loader" --force-rpath --set-rpath "$place/$libraries" "$path"
  done
}
is_program() { [ -f "$1" ] && [ -x "$1" ] && [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]; }

check_tree() {
  local version=$1 next=$2 program file
  for program in ovn-northd ovn-controller ovn-ic ovn-nbctl ovn-sbctl ovn-ic-nbctl ovn-ic-sbctl ovn-trace ovn-appctl \
    ovsdb-server ovsdb-tool ovsdb-client ovs-vswitchd ovs-vsctl ovs-ofctl ovs-appctl; do
    [ -x "$next/bin/$program" ] || stop "Debian's packages of OVN $version have no $program"
  done
  for file in ovn/ovn-nb ovn/ovn-sb ovn/ovn-ic-nb ovn/ovn-ic-sb openvswitch/vswitch; do
    [ -s "$next/share/$file.ovsschema" ] || stop "Debian's packages of OVN $version have no $file.ovsschema"
  done
  grep -q "^ovn-central $version\." "$next/versions.new" ||
    stop "this is not OVN $version but $(grep '^ovn-central ' "$next/versions.new")"
}
