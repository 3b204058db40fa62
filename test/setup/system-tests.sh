#!/usr/bin/env bash
# system-tests.sh N FILE...   System tests, N files at once.
set -uo pipefail
cd "$(dirname "$0")/../.."
. test/setup/once-more.sh
trap 'rm -f "$failed"' EXIT
at_once=$1
shift
run_tests --test-concurrency="$at_once" "$@" || once_more
