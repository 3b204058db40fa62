#!/usr/bin/env bash
# Prepares a bare Debian machine with Node 20, npm, Go and gcc for the lab and the tests. Each part first checks whether its
# work is done, so a second run takes a second.   setup.sh [packages|modules|tools|shim|tools-path|cache|cluster|conformance|policy-conformance|cyclonus|images|ovn-<version>] …
# (packages, modules, tools and shim by default; cluster: additions for a lab of kubelets; conformance, policy-conformance: Kubernetes' own tests;
#   cyclonus: that judge of network policies; images: requirements of the image tests)
#   ISTHMUS_KUBERNETES  1.30 for example: the control plane and the nodes run that release instead of the newest, which the tests run on by default
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=(ovn-central ovn-host ovn-ic ovn-ic-db openvswitch-switch frr bird2 gobgpd openbgpd exabgp etcd-server
  iproute2 iputils-ping ethtool nftables conntrack socat tcpdump procps jq curl containerd runc busybox-static)
programs=(kube-apiserver kube-controller-manager kubectl helm gobgpd gobgp cnitool bandwidth loopback portmap tuning)
cluster_packages=(buildah debootstrap iptables util-linux)
cluster_programs=(kubelet kube-proxy kube-scheduler)
# Of the module test/upstream, each from its package; policy.test and cyclonus from modules of their own below it.
declare -A upstream=([coredns]=./coredns [agnhost]=k8s.io/kubernetes/test/images/agnhost
  [regression-issue-74839]=k8s.io/kubernetes/test/images/regression-issue-74839 [ginkgo]=github.com/onsi/ginkgo/v2/ginkgo [e2e.test]=k8s.io/kubernetes/test/e2e
  [policy.test]=sigs.k8s.io/network-policy-api/conformance [cyclonus]=.)
kubernetes=v1.34.4
version=k8s.io/component-base/version
wireguard_flags='-s -w -X golang.zx2c4.com/wireguard/ipc.socketDirectory=/run/isthmus/wireguard'
kubernetes_flags="-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=34"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/isthmus
started=${EPOCHREALTIME/./}
say() { local us=$((${EPOCHREALTIME/./} - started)); printf '%4d.%d s  %s\n' $((us / 1000000)) $((us / 100000 % 10)) "$*"; }
stop() { printf 'cannot go on: %s\n' "$*" >&2; exit 1; }
leftovers=()
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "${leftovers[@]}"' EXIT

# Separators of PATH and of lines cannot be part of a folder's name.
case $PWD in
  *:* | *$'\n'*) stop "the checkout lies in a folder whose name has a colon or a line break, which PATH cannot name: move it, for example to $HOME/isthmus" ;;
esac

need_root() {
  [ "$(id -u)" = 0 ] || stop 'not root. The lab makes network namespaces; run make as root (sudo make …).'
  unshare --net true 2>/dev/null || stop 'this machine does not allow network namespaces (unshare --net fails). In a container: start it privileged.'
}

# --- Debian packages -------------------------------------------------------------------------------------------------
missing_packages() {
  local name
  for name in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)" = installed ] || echo "$name"
  done
}

setup_packages() {
  need_root
  command -v dpkg-query >/dev/null || stop "no dpkg here. Install by hand what Debian 12 has as: ${packages[*]}"
  install_packages "${packages[@]}"
  say 'Debian packages: present'
}

install_packages() {
  local missing; mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  say "Debian packages: installing ${missing[*]}"
  local log; log=$(mktemp); refuse_services
  export DEBIAN_FRONTEND=noninteractive
  { with_progress "$log" apt-get update && with_progress "$log" apt-get install -y --no-install-recommends "${missing[@]}"; } ||
    { tail -20 "$log" >&2; stop "apt-get could not install ${missing[*]} (see above)"; }
  rm -f "$log"
  disable_services "${missing[@]}"
}

# The lab runs its own servers; the packages must not start theirs, neither now nor at the next boot.
refuse_services() {
  [ -e /usr/sbin/policy-rc.d ] && return
  leftovers+=(/usr/sbin/policy-rc.d)
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d
}
disable_services() {
  command -v systemctl >/dev/null || return 0
  local units; mapfile -t units < <(dpkg -L "$@" | sed -n 's|.*/systemd/system/\([^/@]*\.service\)$|\1|p' | sort -u)
  [ ${#units[@]} = 0 ] || systemctl disable --quiet "${units[@]}" 2>/dev/null || true
}

# --- npm packages ----------------------------------------------------------------------------------------------------
setup_modules() {
  command -v node >/dev/null && command -v npm >/dev/null || stop 'node and npm are not on PATH. Debian: apt-get install nodejs npm (18 or newer).'
  if node test/setup/modules-are-current.mjs; then say 'npm packages: present'; return; fi
  say 'npm packages: installing'
  local log; log=$(mktemp)
  with_progress "$log" npm ci --no-audit --no-fund || { tail -20 "$log" >&2; stop 'npm ci failed (see above)'; }
  rm -f "$log"
  [ -x node_modules/.bin/node ] || stop "npm has no Node 24 for this platform ($(uname -sm)); the project runs on Linux, x64 and arm64"
  say 'npm packages: installed'
}

# --- Go programs -----------------------------------------------------------------------------------------------------
go_present() { command -v go >/dev/null || stop 'go is not on PATH. It builds kube-apiserver, kubectl, helm, gobgpd and CNI plugins: install Go 1.24 or newer.'; }

# The folder of all programs; with ISTHMUS_KUBERNETES another one, which has some of that release.
tools_path() { echo "$(own_tools_path)${ISTHMUS_KUBERNETES:+-kubernetes-$ISTHMUS_KUBERNETES}"; }
own_tools_path() {
  go_present
  local id
  id=$( (cd test/tools && cat go.mod go.sum ./*.go && go version && echo "$kubernetes ${KUBEBUILDER_ASSETS:-}") | sha256sum | cut -c1-16)
  echo "$cache/tools/$id"
}

setup_tools() {
  setup_programs 'Go tools' 'ten minutes on two cores' tools.go "${programs[@]}"
  setup_wireguard
  setup_kubernetes
}
setup_cluster() {
  setup_packages
  install_packages "${cluster_packages[@]}"
  setup_programs 'kubelet and its like' 'five minutes on two cores' clusters.go "${cluster_programs[@]}"
  setup_upstream 'CoreDNS' 'two minutes on two cores' coredns
  setup_kubernetes
}
setup_conformance() {
  [ -z "${ISTHMUS_KUBERNETES:-}" ] || stop "Kubernetes' own tests are those of $kubernetes: without KUBERNETES=$ISTHMUS_KUBERNETES"
  setup_upstream "Kubernetes' own tests" 'fifteen minutes on two cores' agnhost regression-issue-74839 ginkgo e2e.test
}
setup_policy_conformance() { setup_upstream 'tests of the Network Policy API' 'three minutes on two cores' agnhost policy.test; }
setup_cyclonus() { setup_upstream 'Cyclonus' 'two minutes on two cores' cyclonus; }

# setup_programs WHAT DURATION FILE NAME…: FILE imports the programs
setup_programs() {
  local what=$1 duration=$2 file=$3 folder; folder=$(own_tools_path); shift 3
  if has_programs "$folder" "$@"; then say "$what: present"; return; fi
  mkdir -p "$(dirname "$folder")"
  exec 9>"$folder.lock"
  flock -n 9 || { say "$what: another build is under way, waiting for it"; flock 9; }
  if has_programs "$folder" "$@"; then say "$what: present"; return; fi
  say "$what: building (once; $duration)"
  build_programs "$folder" "$file"
  say "$what: built"
}
has_programs() { local folder=$1 name; shift; for name in "$@"; do [ -x "$folder/$name" ] || return 1; done; }

build_programs() {
  local folder=$1 file=$2 next log name skip=
  next=$(mktemp -d "$folder.XXXXXX"); log=$next.log
  for name in kube-apiserver kubectl; do
    if [ -x "${KUBEBUILDER_ASSETS:-/nonexistent}/$name" ]; then ln -s "$KUBEBUILDER_ASSETS/$name" "$next/$name"; skip="$skip $name"; fi
  done
  local wanted=() path
  for path in $(sed -n 's/^\t_ "\(.*\)"$/\1/p' "test/tools/$file"); do
    case "$skip " in *" ${path##*/} "*) ;; *) wanted+=("$path") ;; esac
  done
  # Helm takes the Kubernetes it renders for from its build, and from an untagged build something ancient.
  local helm=helm.sh/helm/v3/pkg/chartutil.k8sVersion
  (cd test/tools && CGO_ENABLED=0 with_progress "$log" go build -v -trimpath -o "$next/" \
    -ldflags "$kubernetes_flags -X ${helm}Major=1 -X ${helm}Minor=34" "${wanted[@]}") ||
    { tail -20 "$log" >&2; rm -rf "$next"; stop 'go build of the tools failed (see above)'; }
  mkdir -p "$folder"
  mv -f "$next"/* "$folder/"; rm -rf "$next" "$log"
}

# Kubernetes of another release, from a module of its own, beside all other programs.
setup_kubernetes() {
  local release=${ISTHMUS_KUBERNETES:-} module folder id log name wanted=(kube-apiserver kube-controller-manager "${cluster_programs[@]}")
  [ -n "$release" ] || return 0
  module=test/tools/kubernetes-$release
  [ -d "$module" ] || stop "KUBERNETES=$release: there are $(cd test/tools && echo kubernetes-*), and $kubernetes where nothing is said"
  folder=$(tools_path)
  mkdir -p "$folder"
  # Hard links, since images are built from this folder, too.
  for name in "$(own_tools_path)"/*; do
    case " ${wanted[*]} " in *" ${name##*/} "*) ;; *) ln -Pf "$name" "$folder/" ;; esac
  done
  id=$( (cd "$module" && cat go.mod go.sum && go version) | sha256sum | cut -c1-16)
  if [ "$(cat "$folder/kubernetes.inputs" 2>/dev/null)" = "$id" ]; then say "Kubernetes $release: present"; return; fi
  say "Kubernetes $release: building (once; eight minutes on two cores)"
  log=$(mktemp)
  local exact; exact=$(sed -n 's|^require k8s.io/kubernetes ||p' "$module/go.mod")
  (cd "$module" && CGO_ENABLED=0 with_progress "$log" go build -v -trimpath -o "$folder/" \
    -ldflags "-s -w -X $version.gitVersion=$exact -X $version.gitMajor=${release%.*} -X $version.gitMinor=${release#*.}" "${wanted[@]/#/k8s.io/kubernetes/cmd/}") ||
    { tail -20 "$log" >&2; stop "go build of Kubernetes $release failed (see above)"; }
  rm -f "$log"
  echo "$id" >"$folder/kubernetes.inputs"
  say "Kubernetes $release: built"
}

# WireGuard in user space, from a module of its own. Its control sockets are in a folder that daemons share with it.
setup_wireguard() {
  local folder id log; folder=$(own_tools_path)
  id=$( (cd test/tools/wireguard && cat go.mod go.sum && go version && echo "$wireguard_flags") | sha256sum | cut -c1-16)
  if [ "$(cat "$folder/wireguard.inputs" 2>/dev/null)" = "$id" ]; then say 'wireguard-go: present'; return; fi
  say 'wireguard-go: building (once; half a minute on two cores)'
  log=$(mktemp)
  (cd test/tools/wireguard && CGO_ENABLED=0 with_progress "$log" go build -v -trimpath -ldflags "$wireguard_flags" \
    -o "$folder/wireguard-go.new" golang.zx2c4.com/wireguard) || { tail -20 "$log" >&2; stop 'go build of wireguard-go failed (see above)'; }
  mv -f "$folder/wireguard-go.new" "$folder/wireguard-go"; rm -f "$log"
  echo "$id" >"$folder/wireguard.inputs"
  say 'wireguard-go: built'
}

# setup_upstream WHAT DURATION NAME…
setup_upstream() {
  local what=$1 duration=$2 folder name wanted=(); folder=$(own_tools_path); shift 2
  for name in "$@"; do [ "$(cat "$folder/$name.inputs" 2>/dev/null)" = "$(upstream_id "$name")" ] || wanted+=("$name"); done
  if [ ${#wanted[@]} = 0 ]; then say "$what: present"; return; fi
  say "$what: building (once; $duration)"
  for name in "${wanted[@]}"; do
    build_upstream "$folder" "$name" || stop "go build of $name failed (see above)"
    upstream_id "$name" >"$folder/$name.inputs"
  done
  say "$what: built"
}
upstream_id() {
  local own=
  case $1 in coredns) own=coredns/main.go ;; cyclonus) own='*.go' ;; esac
  # shellcheck disable=SC2086
  (cd "$(upstream_module "$1")" && cat go.mod go.sum $own && go version && echo "$kubernetes_flags") | sha256sum | cut -c1-16
}
upstream_module() {
  case $1 in
    policy.test) echo test/upstream/policy ;;
    cyclonus) echo test/upstream/cyclonus ;;
    *) echo test/upstream ;;
  esac
}
build_upstream() {
  local folder=$1 name=$2 log build=(build); log=$(mktemp)
  case $name in *.test) build=(test -c) ;; esac
  (cd "$(upstream_module "$name")" && CGO_ENABLED=0 with_progress "$log" go "${build[@]}" -v -trimpath -ldflags "$kubernetes_flags" \
    -o "$folder/$name.new" "${upstream[$name]}") || { tail -20 "$log" >&2; return 1; }
  mv -f "$folder/$name.new" "$folder/$name"; rm -f "$log"
}

# --- CNI shim --------------------------------------------------------------------------------------------------------
setup_shim() {
  local source=daemon/shim/shim.c target=daemon/shim/isthmus-cni compiler
  if [ -x "$target" ] && [ "$target" -nt "$source" ]; then say 'CNI shim: present'; return; fi
  compiler=$(command -v musl-gcc || command -v cc || command -v gcc) || stop 'no C compiler on PATH: install gcc and libc6-dev'
  "$compiler" -static -Os -Wall -Wextra -Werror -o "$target.new" "$source" || stop "$compiler could not build $source"
  mv "$target.new" "$target"
  say 'CNI shim: built'
}

# --- OVN of another Debian release -----------------------------------------------------------------------------------
source test/setup/ovn-tree.sh

# --- progress --------------------------------------------------------------------------------------------------------
# with_progress LOG COMMAND…: output goes to LOG; its last line is shown from time to time with the time that has passed.
with_progress() {
  local log=$1 begun=$SECONDS pid shown=0 every=15; shift
  [ -t 1 ] && every=1
  "$@" >>"$log" 2>&1 </dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.5
    [ $((SECONDS - begun - shown)) -ge "$every" ] || continue
    shown=$((SECONDS - begun)); show_progress "$log" "$shown"
  done
  if [ -t 1 ]; then printf '\r\033[K'; fi
  wait "$pid"
}
show_progress() {
  local last line; last=$(tail -n 1 "$1" | tr -d '\r' | cut -c1-80)
  line=$(printf '%4s s  … %s lines of output, last: %s' "$2" "$(wc -l <"$1")" "${last:-none yet}")
  if [ -t 1 ]; then printf '\r\033[K%s' "$line"; else printf '%s\n' "$line"; fi
}

[ $# -gt 0 ] || set -- packages modules tools shim
for part in "$@"; do
  case $part in
    packages) setup_packages ;;
    modules) setup_modules ;;
    tools) setup_tools ;;
    shim) setup_shim ;;
    tools-path) tools_path ;;
    cache) echo "$cache" ;;
    cluster) setup_cluster ;;
    conformance) setup_conformance ;;
    policy-conformance) setup_policy_conformance ;;
    cyclonus) setup_cyclonus ;;
    images) install_packages buildah debootstrap qemu-user-static ;;
    ovn-*) setup_tree "${part#ovn-}" ;;
    base-*=*) setup_base "${part#base-}" ;;
    *) stop "setup.sh knows packages, modules, tools, shim, tools-path, cache, cluster, conformance, policy-conformance, cyclonus, images and ovn-<version>, not $part" ;;
  esac
done
