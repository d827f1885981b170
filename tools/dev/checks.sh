# shellcheck shell=bash
# Part of ./dev: the linters, the sanitizers, the second compiler, the fuzz targets.

sources() { git ls-files --cached --others --exclude-standard '*.cpp' '*.h' '*.cu' '*.cuh' | while read -r f; do [ ! -f "$f" ] || echo "$f"; done; }

do_lint() {
  need_python
  local fix=${1:-} bad=0
  if need_clang; then
    if [ "$fix" = --fix ]; then
      sources | xargs -r clang-format-22 -i
    else
      sources | xargs -r clang-format-22 --dry-run --Werror || bad=1
    fi
  fi
  if [ "$fix" = --fix ]; then
    .venv/bin/ruff check -q --fix . || bad=1
    .venv/bin/ruff format -q .
  else
    .venv/bin/ruff check -q . || bad=1
    .venv/bin/ruff format -q --check . || bad=1
  fi
  if [ -f python/tundish/__init__.py ]; then .venv/bin/mypy || bad=1; fi
  .venv/bin/python -m pytest -q -p no:cacheprovider tests/project/test_layers.py || bad=1
  [ $bad = 0 ] || die "lint found something; ./dev lint --fix formats the sources"
}

# PRESET TARGET...: both sanitizer builds use clang, so they also cover the second compiler.
build_sanitized() {
  local preset=$1
  shift
  need_build
  configure "$preset"
  sum_precompiled "$preset" clang++-22 pch
  CCACHE_PCH_EXTSUM=1 cmake --build "build/$preset" --target "$@" >&2
}

do_asan() {
  need_clang || return 0
  build_sanitized asan unit_tests
  UBSAN_OPTIONS=print_stacktrace=1 build/asan/unit_tests
}

# The first race ends the run: later reports may be consequences of the first.
do_tsan() {
  need_clang || return 0
  build_sanitized tsan unit_tests
  TSAN_OPTIONS=halt_on_error=1 build/tsan/unit_tests
}

# Lets the second compiler read the sources that the sanitizer builds omit.
do_clang() {
  need_build
  need_clang || return 0
  configure asan
  python3 tools/dev/read_the_rest.py build/asan/compile_commands.json
}

fuzz_names() { for name in fuzz/*.cpp; do [ ! -f "$name" ] || basename "$name" .cpp; done; }

# The compilation that ./dev test runs alongside pytest.
do_fuzz-build() {
  need_clang || return 0
  local names
  mapfile -t names < <(fuzz_names)
  build_sanitized asan "${names[@]/#/fuzz_}"
}

# --seconds: per target. --total: for all targets together, on all cores. --until: executions per
# target, one target at a time, counted in fuzz/executions.json (tools/dev/fuzz_campaign.py).
# --counts: prints the counts. Target fuzz_NAME is fuzz/NAME.cpp, with inputs in fuzz/corpus/NAME;
# new inputs go to build/.
do_fuzz() {
  local seconds=30 total=0 until=0 minutes=1000000 names=() name
  while [ $# -gt 0 ]; do
    case $1 in
      --seconds) seconds=${2:?"--seconds needs a number"}; shift 2 ;;
      --total) total=${2:?"--total needs a number"}; shift 2 ;;
      --until) until=${2:?"--until needs a number of executions"}; shift 2 ;;
      --minutes) minutes=${2:?"--minutes needs a number"}; shift 2 ;;
      --counts) exec python3 tools/dev/fuzz_campaign.py ;;
      -*) die "fuzz does not know $1" ;;
      *) names+=("$1"); shift ;;
    esac
  done
  [ ${#names[@]} -gt 0 ] || mapfile -t names < <(fuzz_names)
  [ ${#names[@]} -gt 0 ] || { say "no fuzz target yet"; return 0; }
  need_clang || return 0
  build_sanitized asan "${names[@]/#/fuzz_}"
  mkdir -p build/fuzz/findings build/fuzz/log
  [ "$until" = 0 ] || exec python3 tools/dev/fuzz_campaign.py --until "$until" --minutes "$minutes" "${names[@]}"
  if [ "$total" -gt 0 ]; then seconds=$(((total * cores + ${#names[@]} - 1) / ${#names[@]})); fi
  printf '%s\n' "${names[@]}" | xargs -P "$cores" -I{} "$PWD/dev" fuzz-one {} "$seconds"
}

do_fuzz-one() {  # NAME SECONDS [EXECUTIONS]: called by fuzz, several in parallel
  local name=$1 seconds=$2 runs=${3:--1} corpus=fuzz/corpus/$1 fresh=build/fuzz/corpus/$1 log=build/fuzz/log/$1.log
  mkdir -p "$fresh" "$corpus"  # libFuzzer requires both
  local options=(-timeout=5 -rss_limit_mb=2048 "-artifact_prefix=build/fuzz/findings/$name-")
  local program=build/asan/fuzz_$name
  [ -f "fuzz/$name.options" ] && mapfile -t -O ${#options[@]} options <"fuzz/$name.options"
  # Replay: runs every kept input once with all checks, including past findings and inputs of
  # earlier runs. Fuzzing skips checks that take up to half of the time: fake stacks, a quarantine
  # larger than the caches, deep allocation stacks.
  local quick=detect_stack_use_after_return=0:quarantine_size_mb=16:malloc_context_size=4
  if ! "$program" "${options[@]}" -runs=0 "$fresh" "$corpus" >"$log" 2>&1 ||
    ! ASAN_OPTIONS=$quick "$program" "${options[@]}" "-max_total_time=$seconds" "-runs=$runs" -print_final_stats=1 \
      "$fresh" "$corpus" >>"$log" 2>&1; then
    tail -n 40 "$log" >&2
    die "fuzz target $name failed; the input is in build/fuzz/findings, the log is $log"
  fi
  say "fuzz $name: $(find "$corpus" -type f | wc -l) inputs replayed, $(
    sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1) executions in $seconds s, last new edge at execution $(
    sed -n 's/^#\([0-9]*\).* cov: \([0-9]*\) .*/\1 \2/p' "$log" | awk '$2 > most { most = $2; at = $1 } END { print at + 0 }')"
}
