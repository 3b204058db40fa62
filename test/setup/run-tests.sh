#!/usr/bin/env bash
# Checks, unit tests and system tests, several at once, some of them in one lab, which is removed in any case.
# run-tests.sh [all|without-check|system [FILE…]]   FILE: only these system tests. ISTHMUS_OVN chooses the OVN of all servers; AT_ONCE how many
# jobs run at once
set -euo pipefail
cd "$(dirname "$0")/../.."
LAB=t$(printf '%x' $((($(date +%s) ^ $$) & 0xffffff)))
unset TOPOLOGY
. test/setup/own-lab.sh

[ $# -gt 0 ] || set -- all
step node test/setup/suite/main.ts "$@"
say "all tests passed${ISTHMUS_OVN:+ on OVN $ISTHMUS_OVN}"
