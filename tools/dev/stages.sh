# shellcheck shell=bash
# Part of ./dev: test, in stages, quick ones first. Each stage is a command of ./dev.

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

# Two lanes. While the first runs unit, lint, pytest and wheel, the other builds and runs the
# sanitizers, lets clang read the rest and builds the fuzz targets, on the cores that the first
# leaves idle. Each stage writes a log and, when done, its exit status. With a full compiler cache,
# the other lane ends first and then runs groups of pytest's folders, starting with the last group.
# With an empty cache, the other lane ends last, and the first lane runs all groups itself.
sanitizers=""
start_sanitizers() {  # STAGE...: all requested stages
  local stage ahead=()
  for stage in asan tsan clang; do [[ " $* " != *" $stage "* ]] || ahead+=("$stage"); done
  [ ${#ahead[@]} -gt 0 ] || return 0
  [[ " $* " != *" fuzz "* ]] || ahead+=(fuzz-build)
  [[ " $* " != *" pytest "* ]] || ahead+=(pytest-groups)
  rm -rf build/log/{asan,tsan,clang,fuzz-build,pytest-groups}.status build/log/pytest
  (need_clang) >build/log/clang-packages.log 2>&1 || return 0  # or lint would install them as well
  setsid "$PWD/dev" sanitizers "${ahead[@]}" >/dev/null 2>&1 &
  sanitizers=$!
}
stop_sanitizers() {  # setsid: its compilers share a process group, which is killed as a whole
  [ -z "$sanitizers" ] || kill -- "-$sanitizers" 2>/dev/null || true
}
do_sanitizers() {
  local stage status
  for stage in "$@"; do
    status=0
    case $stage in
      pytest-groups) "$PWD/dev" pytest-groups other ;;
      *) nice -n 10 "$PWD/dev" "$stage" ;;
    esac >"build/log/$stage.log" 2>&1 || status=$?
    echo $status >"build/log/$stage.status"
  done
}

# The folders of tests/ in groups of a few minutes. The first group contains all folders that no
# other group lists.
pytest_groups=(rest "pack cli" "loader pixels" "diagnosis optim" tuning)

# Runs each unclaimed group as one pytest; the lane that creates build/log/pytest/N owns group N.
do_pytest-groups() {  # first|other: the lane; the other starts once the tests' build is done
  local order=("${!pytest_groups[@]}") number folder words status
  if [ "$1" = first ]; then
    do_build
    need_browser
    mkdir build/log/pytest
  else
    while [ ! -d build/log/pytest ]; do sleep 1; done
    mapfile -t order < <(printf '%s\n' "${order[@]}" | tac)
  fi
  for number in "${order[@]}"; do
    mkdir "build/log/pytest/$number" 2>/dev/null || continue
    words=()
    if [ "$number" = 0 ]; then
      for folder in ${pytest_groups[*]:1}; do words+=("--ignore=tests/$folder"); done
    else
      for folder in ${pytest_groups[number]}; do words+=("tests/$folder"); done
    fi
    status=0
    .venv/bin/python -m pytest -q -p no:cacheprovider "${words[@]}" >"build/log/pytest/$number/log" 2>&1 || status=$?
    echo $status >"build/log/pytest/$number/status"
  done
}

# The results of both lanes' groups; fails unless all ran and passed. Failed logs come last, where
# ./dev test shows them.
run_pytest_groups() {
  local number folder failed=()
  "$PWD/dev" pytest-groups first || return
  for number in "${!pytest_groups[@]}"; do
    folder=build/log/pytest/$number
    while [ ! -f "$folder/status" ] && kill -0 "$sanitizers" 2>/dev/null; do sleep 1; done
    if [ "$(cat "$folder/status")" = 0 ]; then cat "$folder/log"; else failed+=("$folder/log"); fi
  done
  [ ${#failed[@]} = 0 ] || { cat "${failed[@]}"; return 1; }
}

run_stage() {  # STAGE LOG
  local status=build/log/$1.status
  case $1 in
    pytest)
      if [ -n "$sanitizers" ]; then
        run_pytest_groups >"$2" 2>&1
        return
      fi ;;
    asan | tsan | clang)
      if [ -n "$sanitizers" ]; then
        while [ ! -f "$status" ] && kill -0 "$sanitizers" 2>/dev/null; do sleep 1; done
        [ -f "$status" ] && return "$(cat "$status")"
      fi ;;
    fuzz) while [ -n "$sanitizers" ] && kill -0 "$sanitizers" 2>/dev/null; do sleep 1; done ;;  # one build per folder
  esac
  local arguments=()
  [ "$1" != fuzz ] || arguments=(--total 60)  # mainly the corpora; ./dev fuzz and its campaign fuzz longer
  "$PWD/dev" "$1" "${arguments[@]}" >"$2" 2>&1
}

note_of() {  # one line from a stage's log
  case $1 in
    unit | asan | tsan) grep -a 'test cases:' "$2" | tail -n 1 | sed 's/.*test cases: *//; s/ *| */, /g' ;;
    pytest) grep -a -oE '[0-9]+ (passed|failed|skipped|errors?)' "$2" | awk '{ n[$2] += $1 } END { for (k in n) printf "%d %s ", n[k], k }' ;;
    fuzz) printf '%s targets' "$(grep -a -c '^fuzz .*replayed' "$2")" ;;
    clang) grep -a '^clang:' "$2" | tail -n 1 ;;
    wheel) grep -a '^wheel:' "$2" | tail -n 1 ;;
  esac || true
}
