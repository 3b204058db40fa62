#!/usr/bin/env bash
# Checks, unit tests and system tests, several at once, some of them in one lab, which goes away whatever happens.
# run-tests.sh [without-check]   ISTHMUS_OVN chooses the OVN of all servers; AT_ONCE how many jobs run at once
set -euo pipefail
cd "$(dirname "$0")/../.."
LAB=t$(printf '%x' $((($(date +%s) ^ $$) & 0xffffff)))
unset TOPOLOGY
. test/setup/own-lab.sh

step node test/setup/suite/main.ts "${1:-all}"
say "all tests passed${ISTHMUS_OVN:+ on OVN $ISTHMUS_OVN}"
