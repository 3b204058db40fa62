#!/usr/bin/env bash
# Kubernetes' own tests in a lab of kubelets of their own, which goes away whatever happens (KEEP_LAB=1: unless one fails).
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/setup/own-lab.sh

say "lab $LAB"
step node test/upstream/main.ts
say 'all passed'
