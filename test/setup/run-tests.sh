#!/usr/bin/env bash
# Check, unit tests and system tests, the latter against one lab of their own, which goes away whatever happens.
# run-tests.sh [without-check]   ISTHMUS_OVN chooses the OVN of all servers
set -euo pipefail
cd "$(dirname "$0")/../.."
LAB=t$(printf '%x' $((($(date +%s) ^ $$) & 0xffffff)))
unset TOPOLOGY
. test/setup/own-lab.sh

if [ "${1:-}" != without-check ]; then
  say 'types, lint, format'
  step npm run --silent check
fi
say "unit tests${ISTHMUS_OVN:+ on OVN $ISTHMUS_OVN}"
step npm run --silent test:unit
# Labs and joined clusters fill the machine: one at a time. The others wait for their servers most of the time.
on=${ISTHMUS_OVN:+ on OVN $ISTHMUS_OVN}
mapfile -t in_lab < <(grep -l 'openLab()' test/system/*.test.ts)
mapfile -t in_turn < <(ls test/system/{lab,ic,interconnect}*.test.ts | grep -vxF "$(printf '%s\n' "${in_lab[@]}")")
mapfile -t others < <(ls test/system/*.test.ts test/system/*/*.test.ts | grep -vxF "$(printf '%s\n' "${in_lab[@]}" "${in_turn[@]}")")
say "lab $LAB"
step node test/lab/main.ts up
say "system tests in the lab$on"
step test/setup/system-tests.sh 1 "${in_lab[@]}"
step node test/lab/main.ts down
say "system tests with labs of their own$on"
step test/setup/system-tests.sh 1 "${in_turn[@]}"
say "all other system tests$on"
step test/setup/system-tests.sh 2 "${others[@]}"
say "all tests passed${ISTHMUS_OVN:+ on OVN $ISTHMUS_OVN}"
