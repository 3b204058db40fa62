#!/usr/bin/env bash
# test-cluster.sh [scenario ...]   Scenarios of test/cluster, all by default, in a lab of kubelets of their own, which goes away whatever
# happens (KEEP_LAB=1: unless one fails).
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/setup/own-lab.sh

files=(test/cluster/*.test.ts)
if [ $# -gt 0 ]; then files=("${@/#/test/cluster/}") && files=("${files[@]/%/.test.ts}"); fi

say "lab $LAB"
step node test/cluster/main.ts
say 'scenarios'
step node --test --test-concurrency=1 "${files[@]}"
say "all scenarios passed: ${files[*]}"
