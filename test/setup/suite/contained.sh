#!/bin/sh
# Runs a program as a member of a cgroup, with mounts and names of network namespaces of its own: when the cgroup's last process has
# ended, the kernel removes them.   contained.sh CGROUP-FOLDER PROGRAM [ARGUMENT…]
set -eu
echo $$ > "$1/cgroup.procs"
shift
# Namespaces of other programs are unmounted here, or these mounts would keep them alive.
# shellcheck disable=SC2016
own='mkdir -p /run/netns
if mountpoint -q /run/netns; then umount --recursive --lazy /run/netns; fi
mount -t tmpfs netns /run/netns
exec "$@"'
exec unshare --mount --propagation slave -- sh -euc "$own" contained "$@"
