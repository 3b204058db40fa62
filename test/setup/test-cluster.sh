#!/usr/bin/env bash
# The scenarios of test/cluster in a lab of kubelets of their own, which goes away whatever happens (KEEP_LAB=1: unless one fails).
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/setup/own-lab.sh

say "lab $LAB"
step node test/cluster/main.ts
say 'scenarios'
step node --test --test-concurrency=1 test/cluster/*.test.ts
say 'all scenarios passed'
