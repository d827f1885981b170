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
  trap 'stop_sanitizers' EXIT
  for stage in "${stages[@]}"; do
    log=build/log/$stage.log
    begin=$SECONDS
    case $stage in setup | build) ;; *) [ -n "$sanitizers" ] || start_sanitizers "${stages[@]}" ;; esac
    say "test: $stage ... (log: $log)"
    if run_stage "$stage" "$log"; then
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

# The sanitizers are built and run while unit, lint, pytest and wheel run, with what these leave over of the
# cores; then the fuzz targets are built. Each writes its log, and its exit status when it has ended.
sanitizers=""
start_sanitizers() {  # STAGE...: all that were asked for
  local stage ahead=()
  for stage in asan tsan clang; do [[ " $* " != *" $stage "* ]] || ahead+=("$stage"); done
  [ ${#ahead[@]} -gt 0 ] || return 0
  [[ " $* " != *" fuzz "* ]] || ahead+=(fuzz-build)
  rm -f build/log/{asan,tsan,clang,fuzz-build}.status
  (need_clang) >build/log/clang-packages.log 2>&1 || return 0  # lint would install them at the same time
  setsid nice -n 10 "$PWD/dev" sanitizers "${ahead[@]}" >/dev/null 2>&1 &
  sanitizers=$!
}
stop_sanitizers() {  # setsid: its compilers are of one group, and end with it
  [ -z "$sanitizers" ] || kill -- "-$sanitizers" 2>/dev/null || true
}
do_sanitizers() {
  local stage status
  for stage in "$@"; do
    status=0
    "$PWD/dev" "$stage" >"build/log/$stage.log" 2>&1 || status=$?
    echo $status >"build/log/$stage.status"
  done
}

run_stage() {  # STAGE LOG
  local status=build/log/$1.status
  case $1 in
    asan | tsan | clang)
      if [ -n "$sanitizers" ]; then
        while [ ! -f "$status" ] && kill -0 "$sanitizers" 2>/dev/null; do sleep 1; done
        [ -f "$status" ] && return "$(cat "$status")"
      fi ;;
    fuzz) while [ -n "$sanitizers" ] && kill -0 "$sanitizers" 2>/dev/null; do sleep 1; done ;;  # one build in a folder
  esac
  local arguments=()
  [ "$1" != fuzz ] || arguments=(--total 90)  # the corpora above all; ./dev fuzz fuzzes longer
  "$PWD/dev" "$1" "${arguments[@]}" >"$2" 2>&1
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
