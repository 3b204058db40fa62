#!/usr/bin/env bash
# build.sh [isthmus|isthmus-ovn|coredns|agnhost|regression-issue-74839] …   Builds the images, the first two by default, with docker, podman or buildah. An image whose
#   inputs are the same is not built again. The last three are for labs: their programs are those of test/setup/setup.sh.
#   ENGINE    docker, podman or buildah; by default the first of them that works here
#   BASE      image of Debian 13 that the build runs in; by default debian:trixie-slim, or one made from Debian's packages where no registry has it
#   ARCH      amd64 or arm64; by default that of this machine. Images of another one have it at the end of their tags
#   AGAIN     1: build also what is there, and take nothing from earlier builds
#   ARCHIVES  a folder: each image is written there, too, as NAME-TAG.tar for `ctr images import`, `docker load` or `podman load`
set -euo pipefail
cd "$(dirname "$0")/.."
stop() { printf 'cannot build images: %s\n' "$*" >&2; exit 1; }
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
leftovers=()
trap 'rm -rf "${leftovers[@]}"' EXIT
chart_value() { sed -n "s|^ *$1: *\"\{0,1\}\([^\"]*\)\"\{0,1\}\$|\1|p" charts/isthmus/Chart.yaml; }
version=$(chart_value appVersion)
own_arch=$(dpkg --print-architecture 2>/dev/null || uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
arch=${ARCH:-$own_arch}
case $arch in amd64 | arm64) ;; *) stop "ARCH=$arch: images are for amd64 and arm64" ;; esac
suffix=
[ "$arch" = "$own_arch" ] || suffix=-$arch

works() {
  command -v "$1" >/dev/null || return 1
  # The client of docker is often there without its server.
  [ "$1" != docker ] || docker version >/dev/null 2>&1
}
find_engine() {
  local name
  for name in docker podman buildah; do if works "$name"; then echo "$name"; return; fi; done
  stop 'none of docker, podman and buildah works here. Debian: apt-get install buildah'
}
engine=${ENGINE:-$(find_engine)}
works "$engine" || stop "$engine does not work here (ENGINE=podman?)"

# What buildah alone needs: no runtime and no network of its own, so that it works in containers, too.
build() {
  # buildah 1.28 fills in the one that is predefined only where it is given.
  local more=(--platform "linux/$arch" --build-arg "BUILDPLATFORM=linux/$own_arch")
  [ -z "${AGAIN:-}" ] || more+=(--no-cache)
  case $engine in
    buildah) buildah bud --isolation chroot --network host --layers --timestamp "$epoch" "${more[@]}" "$@" ;;
    podman) podman build --timestamp "$epoch" "${more[@]}" "$@" ;;
    # The builder that knows platforms.
    *) DOCKER_BUILDKIT=1 docker build "${more[@]}" "$@" ;;
  esac
}
has_label() { "$engine" inspect --type image "$1" 2>/dev/null | grep -q "\"network.isthmus.inputs\": \"$2\""; }
archive() {
  case $engine in
    buildah) buildah push --quiet "$1" "docker-archive:$2:$3" ;;
    podman) podman save --quiet --format docker-archive --output "$2" "$1" ;;
    *) docker save --output "$2" "$1" ;;
  esac
}

# --- base ------------------------------------------------------------------------------------------------------------
made_base=localhost/isthmus-debian:trixie
find_base() {
  if [ -n "${BASE:-}" ]; then echo "$BASE"; return; fi
  if "$engine" inspect --type image "$made_base" >/dev/null 2>&1; then echo "$made_base"; return; fi
  if timeout 60 "$engine" pull --quiet docker.io/library/debian:trixie-slim >/dev/null 2>&1; then echo docker.io/library/debian:trixie-slim; return; fi
  make_base >&2
  echo "$made_base"
}
make_base() {
  say 'no registry has debian:trixie-slim: making the base from Debian packages'
  [ "$(id -u)" = 0 ] || stop 'no registry has debian:trixie-slim, and to make it from packages takes root (sudo make images), or name an image: BASE=… make images'
  local folder container
  folder=$(mktemp -d)
  leftovers+=("$folder")
  test/setup/setup.sh "base-trixie=$folder/root"
  case $engine in
    buildah)
      container=$(buildah from scratch)
      buildah add --quiet "$container" "$folder/root" / >/dev/null
      buildah commit --quiet --rm "$container" "$made_base" >/dev/null
      ;;
    *) tar -C "$folder/root" -c . | "$engine" import - "$made_base" >/dev/null ;;
  esac
  rm -rf "$folder"
}

# --- images ----------------------------------------------------------------------------------------------------------
declare -A dockerfile=(
  [isthmus]=images/isthmus/Dockerfile [isthmus-ovn]=images/ovn/Dockerfile
  [coredns]=test/upstream/coredns/Dockerfile [agnhost]=test/upstream/agnhost/Dockerfile
  [regression-issue-74839]=test/upstream/regression-issue-74839/Dockerfile
)
declare -A tag=(
  [isthmus]=$version [isthmus-ovn]=$(chart_value isthmus.network/ovn-image-tag)
  [coredns]=$(sed -n 's|.*github.com/coredns/coredns v||p' test/upstream/go.mod) [agnhost]=lab [regression-issue-74839]=lab
)
declare -A inputs=(
  [isthmus]='images package.json package-lock.json .npmrc lib proto central controller daemon interconnect speaker cli test/tools/go.mod test/tools/go.sum'
  [isthmus-ovn]='images/ovn images/sbom images/unpack'
  [coredns]='test/upstream/coredns test/upstream/go.mod test/upstream/go.sum'
  [agnhost]='test/upstream/agnhost test/upstream/coredns test/upstream/go.mod test/upstream/go.sum'
  [regression-issue-74839]='test/upstream/regression-issue-74839 test/upstream/go.mod test/upstream/go.sum'
)
# What the build finds files in.
context_of() { case $1 in isthmus | isthmus-ovn) echo . ;; *) test/setup/setup.sh tools-path ;; esac; }
hash_inputs() {
  # shellcheck disable=SC2086
  { echo "${tag[$1]} $arch"; find ${inputs[$1]} -type f ! -name '*.test.ts' ! -path 'images/authorities/*.crt' ! -path '*/node_modules/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; } | sha256sum | cut -c1-32
}
# The time of the last commit that changed them, and so the same for the same inputs.
epoch_of() {
  local time=
  # shellcheck disable=SC2086
  time=$(git log -1 --format=%ct -- ${inputs[$1]} 2>/dev/null) || true
  echo "${time:-0}"
}

for file in /usr/local/share/ca-certificates/*.crt; do
  [ -e "$file" ] || continue
  leftovers+=("images/authorities/${file##*/}")
  cp "$file" images/authorities/
done

base=
for name in "${@:-isthmus isthmus-ovn}"; do
  for image in $name; do
    [ -n "${dockerfile[$image]:-}" ] || stop "there is no image $image; there are ${!dockerfile[*]}"
    hash=$(hash_inputs "$image")
    name_tag=$image:${tag[$image]}$suffix
    if [ -z "${AGAIN:-}" ] && has_label "$name_tag" "$hash"; then
      say "$name_tag: present"
    else
      base=${base:-$(find_base)}
      epoch=$(epoch_of "$image")
      say "$name_tag: building with $engine"
      build --build-arg "BASE=$base" --build-arg "ARCH=$arch" --build-arg "SOURCE_DATE_EPOCH=$epoch" --build-arg "VERSION=${tag[$image]}" \
        --label "network.isthmus.inputs=$hash" -f "${dockerfile[$image]}" -t "$name_tag" "$(context_of "$image")"
      say "$name_tag: built"
    fi
    if [ -n "${ARCHIVES:-}" ]; then
      mkdir -p "$ARCHIVES"
      file=$ARCHIVES/$image-${tag[$image]}$suffix.tar
      if [ -n "${AGAIN:-}" ] || [ "$(cat "$file.inputs" 2>/dev/null)" != "$hash" ]; then
        rm -f "$file" "$file.inputs"
        archive "$name_tag" "$file" "$name_tag"
        echo "$hash" >"$file.inputs"
      fi
      say "$file"
    fi
  done
done
