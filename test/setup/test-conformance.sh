#!/usr/bin/env bash
# Kubernetes' conformance tests in their own lab of kubelets, which is removed in any case (KEEP_LAB=1: unless one fails).
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/setup/own-lab.sh

say "lab $LAB"
step node test/upstream/main.ts
say 'all passed'
