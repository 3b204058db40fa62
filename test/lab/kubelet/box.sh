#!/usr/bin/env bash
# The machine of one node of a lab with kubelets: mount, PID, UTS, IPC and cgroup namespaces in a network namespace that is there already. Its /etc,
# /var, /opt and /run are its own, so that containerd, kubelet and the chart find their usual paths. The end of its first process is a power cut.
#   box.sh start FOLDER NODE ADDRESS LAB CGROUP HIERARCHY=OPTIONS …   puts itself into the cgroups, then into the namespaces
#   box.sh boot  …                                                   the first process in there, with the same arguments
# FOLDER: containerd.toml, kubelet.yaml, kubelet.kubeconfig, and kube-proxy.yaml where it runs; logs and disks of the node come there, too.
set -euo pipefail
command=$1 folder=$2 node=$3 address=$4 lab=$5 cgroup=$6
hierarchies=("${@:7}")

start() {
  local each
  # Before the cgroup namespace is created: its root is the cgroup of its creator.
  for each in "${hierarchies[@]}"; do echo $$ >"/sys/fs/cgroup/${each%%=*}$cgroup/cgroup.procs"; done
  exec unshare --mount --uts --ipc --cgroup --pid --fork --kill-child -- "${BASH_SOURCE[0]}" boot "${@:2}"
}

mount_disks() {
  local each
  # As systemd makes them: a volume with propagation needs a shared mount.
  mount --make-rshared /
  exec {kept}<"$lab"
  for each in etc var opt; do
    mkdir -p "$folder/disk/$each" "$folder/disk/.$each"
    mount -t overlay overlay -o "lowerdir=/$each,upperdir=$folder/disk/$each,workdir=$folder/disk/.$each" "/$each"
  done
  # At the first start: the underlying machine's files in these folders are not the node's.
  if [ ! -e "$folder/disk/made" ]; then rm -rf /etc/cni /opt/cni; : >"$folder/disk/made"; fi
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir -p /run/lock /run/netns
  [ -L /var/run ] || mount --bind /run /var/run
  mkdir -p /var/lib/containerd /var/lib/kubelet /var/log/pods /etc/cni/net.d /opt/cni/bin "$lab"
  # The lab may lie in one of these folders.
  mount --bind "/proc/self/fd/$kept" "$lab"
  exec {kept}<&-
  # overlayfs cannot lie on overlayfs, and kubelet measures its own folder.
  for each in containerd:/var/lib/containerd kubelet:/var/lib/kubelet pods:/var/log/pods; do
    mkdir -p "$folder/${each%%:*}"
    mount --bind "$folder/${each%%:*}" "${each#*:}"
  done
}

mount_kernel() {
  local each file
  mount -t proc proc /proc
  # With the machine's own below it, programs would find the machine's cgroups first.
  umount -R -l /sys
  mount -t sysfs sysfs /sys
  mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
  for each in "${hierarchies[@]}"; do
    mkdir "/sys/fs/cgroup/${each%%=*}"
    mount -t cgroup -o "${each#*=}" cgroup "/sys/fs/cgroup/${each%%=*}"
  done
  # kubelet sets these of the whole machine; here it finds them as it wants them, in files of the node.
  for each in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 kernel/keys/root_maxkeys=1000000 \
    kernel/keys/root_maxbytes=25000000; do
    file=/run/sysctl-${each//\//-}
    echo "${each#*=}" >"$file"
    mount --bind "$file" "/proc/sys/${each%=*}"
  done
}

# As systemd would: started again when it ends.
service() {
  while :; do
    "$@" >>"$folder/$1.log" 2>&1 </dev/null && true
    echo "$1 ended: $?" >>"$folder/$1.log"
    sleep 1
  done &
}

boot() {
  mount_disks
  mount_kernel
  hostname "$node"
  service containerd --config "$folder/containerd.toml"
  until ctr version >/dev/null 2>&1; do sleep 0.1; done
  service kubelet --config "$folder/kubelet.yaml" --kubeconfig "$folder/kubelet.kubeconfig" --hostname-override "$node" --node-ip "$address" \
    --root-dir /var/lib/kubelet
  [ ! -e "$folder/kube-proxy.yaml" ] || service kube-proxy --config "$folder/kube-proxy.yaml"
  # The first process takes in the orphans of all others.
  while :; do wait -n || true; done
}

"$command" "$@"
