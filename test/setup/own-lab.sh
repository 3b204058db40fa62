# Sourced by scripts with their own lab ($LAB), which is removed in any case (KEEP_LAB=1: unless a step fails).
PATH=$PWD/node_modules/.bin:$PATH
ISTHMUS_TOOLS=$(test/setup/setup.sh tools-path)
export PATH ISTHMUS_TOOLS LAB
unset KUBECONFIG LAB_WITHOUT

started=${EPOCHREALTIME/./}
say() { local us=$((${EPOCHREALTIME/./} - started)); printf '%4d.%d s  %s\n' $((us / 1000000)) $((us / 100000 % 10)) "$*"; }
end() {
  local code=$?
  trap '' HUP INT TERM
  trap - EXIT
  stop_step
  if [ "$code" != 0 ] && [ -n "${KEEP_LAB:-}" ]; then say "lab $LAB is kept: make lab-down LAB=$LAB"; exit "$code"; fi
  node test/lab/main.ts down || code=1
  exit "$code"
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Beside this shell, which heeds a signal only between two commands, and in a session of its own, so that its end is all of it.
step=
step() {
  setsid "$@" &
  step=$!
  wait "$step" || { local code=$?; step=; return "$code"; }
  step=
}
stop_step() {
  [ -n "$step" ] || return 0
  kill -TERM -- "-$step" 2>/dev/null || return 0
  wait "$step" 2>/dev/null || true
}
