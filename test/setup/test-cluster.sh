#!/usr/bin/env bash
# The scenarios of test/cluster in a lab of kubelets of their own, which goes away whatever happens (KEEP_LAB=1: unless one fails).
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PWD/node_modules/.bin:$PATH
ISTHMUS_TOOLS=$(test/setup/setup.sh tools-path)
export PATH ISTHMUS_TOOLS
unset KUBECONFIG LAB_WITHOUT
end() {
  local code=$?
  trap - EXIT HUP INT TERM
  if [ "$code" != 0 ] && [ -n "${KEEP_LAB:-}" ]; then echo "lab $LAB is kept: make cluster-down LAB=$LAB"; exit "$code"; fi
  node test/lab/main.ts down || code=1
  exit "$code"
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
node test/cluster/main.ts
node --test --test-concurrency=1 test/cluster/*.test.ts
