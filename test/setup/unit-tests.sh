#!/usr/bin/env bash
# The unit tests in two processes side by side: each loads the project once, and many tests wait for servers.
# What the second one prints comes after the first one's.
set -uo pipefail
cd "$(dirname "$0")/../.."
files=('lib/**/*.test.ts' '{controller,daemon,interconnect,speaker,cli}/**/*.test.ts' 'test/{charts,lab,bench,model}/**/*.test.ts')
second=$(mktemp)
trap 'rm -f "$second"' EXIT
shard() { exec node --test --test-isolation=none --test-shard="$1" "${files[@]}"; }
(shard 2/2) >"$second" 2>&1 &
other=$!
(shard 1/2)
code=$?
wait "$other" || code=1
cat "$second"
exit "$code"
