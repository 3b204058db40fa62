#!/usr/bin/env bash
# system-tests.sh N FILE...   System tests, N files at once.
# They live by the clock of real servers: where one or two files fail, these run once more, by themselves. What passes only then is
# named in the last line, for somebody to look into.
set -uo pipefail
cd "$(dirname "$0")/../.."
at_once=$1
shift
failed=$(mktemp)
trap 'rm -f "$failed"' EXIT

run() {
  local at_once=$1
  shift
  node --test --test-concurrency="$at_once" --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=./test/setup/failed-files.mjs --test-reporter-destination="$failed" "$@"
}

run "$at_once" "$@" && exit
mapfile -t files <"$failed"
[ "${#files[@]}" -ge 1 ] && [ "${#files[@]}" -le 2 ] || exit 1
printf 'once more: %s\n' "${files[@]#"$PWD/"}"
run 1 "${files[@]}" || exit 1
printf 'failed once and passed when run again: %s\n' "${files[@]#"$PWD/"}"
