# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The steps of .ci/run and of tools/release_test, which source this file in the
# top folder. A step is a command. Its time is printed behind it. The last line
# counts the commands, and the test cases that they run.

exec < /dev/null
passed=0 failed=0 skipped=0
log="$(mktemp)"
trap 'kill $(jobs -p) 2> /dev/null; rm -f "$log"*' EXIT

# Counts a command by its exit status, and says how many seconds it took.
count() {
  case $1 in
    0) ((++passed)) ;;
    77) ((++skipped)) ;;  # It says why.
    *) ((++failed)) ;;
  esac
  printf '%d s\n' "$2"
}

step() {
  local began=$SECONDS good=0 bad=0
  printf '\n$ %s\n' "$*"
  "$@" 2>&1 | tee "$log"
  count "${PIPESTATUS[0]}" "$((SECONDS - began))"
  read -r _ _ _ _ good _ _ bad _ < <(grep '^Test cases: finished with' "$log")
  ((passed += ${good:-0}, failed += ${bad:-0}))
}

# Runs commands that keep one core busy, two at a time. Each is one argument.
steps_two_at_a_time() {
  local commands=("$@") processes=() i status
  for i in "${!commands[@]}"; do
    ((i < 2)) || wait -n
    (
      began=$SECONDS
      ${commands[i]} &> "$log.$i"
      status=$?
      echo "$((SECONDS - began))" > "$log.$i.seconds"
      exit "$status"
    ) &
    processes+=("$!")
  done
  for i in "${!commands[@]}"; do
    wait "${processes[i]}"
    status=$?
    printf '\n$ %s\n' "${commands[i]}"
    cat "$log.$i"
    count "$status" "$(cat "$log.$i.seconds")"
    rm "$log.$i"*
  done
}

skip() {
  printf '\nskipped: %s\n' "$*"
  ((++skipped))
}

# has VERSION: whether the Python of a version of TensorFlow is installed.
has() {
  third_party/py/find_python "$1" > /dev/null
  (($? != 1))  # A wrong setting (2) fails the step that needs it.
}

# test_on VERSION CONFIG TARGET...: tests that wait for a process leave their
# core to another test.
test_on() {
  local version=$1 config=$2
  shift 2
  if has "$version"; then
    step tools/bazelw test "--config=$config" "--config=tf${version/./_}" \
      '--local_cpu_resources=HOST_CPUS*1.5' '--jobs=HOST_CPUS*1.5' \
      --keep_going --test_summary=testcase -- "$@"
  else
    skip "tests on TensorFlow $version"
  fi
}

# Prints the last line; fails if a step failed.
end_steps() {
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  ((failed == 0))
}
