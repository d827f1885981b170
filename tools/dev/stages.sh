# shellcheck shell=bash
# Part of ./dev: test, in stages; quick ones first. Each stage is a command of ./dev.

all_stages="setup build unit lint pytest wheel asan tsan clang fuzz"
quick_stages="setup build unit pytest"

do_test() {
  local stages=() stage log begin seconds failed=() summary=()
  while [ $# -gt 0 ]; do
    case $1 in
      --quick) read -ra stages <<<"$quick_stages" ;;
      *) [[ " $all_stages " == *" $1 "* ]] || die "no stage is called '$1'; there are: $all_stages"; stages+=("$1") ;;
    esac
    shift
  done
  [ ${#stages[@]} -gt 0 ] || read -ra stages <<<"$all_stages"
  mkdir -p build/log
  trap 'stop_compiling_ahead' EXIT
  for stage in "${stages[@]}"; do
    log=build/log/$stage.log
    begin=$SECONDS
    case $stage in
      pytest) [[ " ${stages[*]} " != *" asan "* ]] || compile_ahead ;;
      asan | tsan | clang | fuzz) wait_for_compiling_ahead ;;
    esac
    say "test: $stage ... (log: $log)"
    if "$PWD/dev" "$stage" >"$log" 2>&1; then
      seconds=$((SECONDS - begin))
      if grep -q 'untested: left out' "$log"; then verdict="left out"; else verdict=ok; fi
      summary+=("$(printf '  %-9s %-8s %4d s  %s' "$stage" "$verdict" "$seconds" "$(note_of "$stage" "$log")")")
    else
      seconds=$((SECONDS - begin))
      tail -n 120 "$log" >&2
      say "test: stage $stage FAILED after $seconds s; repeat it with: ./dev $stage"
      failed+=("$stage")
      summary+=("$(printf '  %-9s %-8s %4d s  %s' "$stage" FAILED "$seconds" "./dev $stage")")
    fi
    say "${summary[-1]}"
    case $stage in setup | build) [ ${#failed[@]} -eq 0 ] || break ;; esac
  done
  say ""
  say "summary, $((SECONDS / 60)) min $((SECONDS % 60)) s on $cores cores ($system)"
  printf '%s\n' "${summary[@]}" >&2
  [ ${#failed[@]} -eq 0 ] || die "failed: ${failed[*]}"
  say "all stages passed"
}

# The sanitizers' builds are compiled while pytest and wheel run, with what these leave over of the
# cores. Errors are not looked at here: the stage itself compiles again and reports them.
compiling_ahead=""
compile_ahead() {
  setsid nice -n 19 "$PWD/dev" compile-ahead >build/log/compile-ahead.log 2>&1 &
  compiling_ahead=$!
}
wait_for_compiling_ahead() {
  [ -n "$compiling_ahead" ] || return 0
  wait "$compiling_ahead" || true
  compiling_ahead=""
}
stop_compiling_ahead() {  # setsid: its compilers are of one group, and end with it
  [ -n "$compiling_ahead" ] || return 0
  kill -- "-$compiling_ahead" 2>/dev/null || true
}
do_compile-ahead() {
  need_clang || return 0
  local targets
  mapfile -t targets < <(printf 'fuzz_%s\n' $(basename -s .cpp fuzz/*.cpp))
  build_sanitized asan unit_tests "${targets[@]}"
  build_sanitized tsan unit_tests
}

note_of() {  # one line out of a stage's log
  case $1 in
    unit | asan | tsan) grep -a 'test cases:' "$2" | tail -n 1 | sed 's/.*test cases: *//; s/ *| */, /g' ;;
    pytest) grep -a -E '[0-9]+ passed' "$2" | tail -n 1 ;;
    fuzz) printf '%s targets' "$(grep -a -c '^fuzz .*replayed' "$2")" ;;
    clang) grep -a '^clang:' "$2" | tail -n 1 ;;
    wheel) grep -a '^wheel:' "$2" | tail -n 1 ;;
  esac || true
}
