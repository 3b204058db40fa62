#!/usr/bin/env bash
# The unit tests in two processes side by side: each loads the project once, and many tests wait for servers.
# What the second one prints comes after the first one's.
set -uo pipefail
cd "$(dirname "$0")/../.."
. test/setup/once-more.sh
files=('lib/**/*.test.ts' '{central,controller,daemon,interconnect,speaker,cli}/**/*.test.ts' 'test/{charts,lab,bench,model,structure}/**/*.test.ts')
second=$(mktemp)
trap 'rm -f "$second" "$failed"' EXIT
shard() { run_tests --test-isolation=none --test-shard="$1" "${files[@]}"; }
shard 2/2 >"$second" 2>&1 &
other=$!
code=0
shard 1/2 || code=1
wait "$other" || code=1
cat "$second"
[ "$code" = 0 ] || once_more
