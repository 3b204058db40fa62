#!/usr/bin/env bash
# test-conformance.sh PROGRAM   Conformance tests in their own lab, which is removed in any case (KEEP_LAB=1: unless one fails).
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/setup/own-lab.sh

say "lab $LAB"
step node "test/upstream/$1"
say 'all passed'
