# For the scripts that run tests. Tests live by the clock of real servers and of a machine that may stand still: where one or two files
# fail, these run once more, by themselves. What passes only then is named in the last line, for somebody to look into.

# The files with a test that failed, one in a line.
failed=$(mktemp)

# run_tests ARGUMENT...   node --test, which adds to the list of failed files.
run_tests() {
  local own code=0
  own=$(mktemp)
  node --test --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=./test/setup/failed-files.mjs --test-reporter-destination="$own" "$@" || code=$?
  cat "$own" >>"$failed"
  rm -f "$own"
  return "$code"
}

once_more() {
  local files
  mapfile -t files < <(sort -u "$failed")
  [ "${#files[@]}" -ge 1 ] && [ "${#files[@]}" -le 2 ] || return 1
  printf 'once more: %s\n' "${files[@]#"$PWD/"}"
  run_tests --test-concurrency=1 "${files[@]}" || return 1
  printf 'failed once and passed when run again: %s\n' "${files[@]#"$PWD/"}"
}
