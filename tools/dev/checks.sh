# shellcheck shell=bash
# Part of ./dev: lint, the sanitizers, the second compiler, the fuzz targets.

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

# PRESET TARGET...: both sanitizers are clang's, which so is the second compiler too.
build_sanitized() {
  local preset=$1
  shift
  need_build
  configure "$preset"
  local header
  for header in "build/$preset"/CMakeFiles/*/cmake_pch.hxx; do sum_of_headers "$header" >"$header.pch.sum"; done
  CCACHE_PCH_EXTSUM=1 cmake --build "build/$preset" --target "$@" >&2
}

# A precompiled header has full paths inside it. By its contents ccache would know no object of another clone again; it hashes
# NAME.pch.sum instead: the contents of all headers that are in it.
sum_of_headers() { clang++-22 -std=c++20 -x c++ -w -M "$1" | sed 's/^[^:]*://; s/\\$//' | xargs cat | sha256sum; }

do_asan() {
  need_clang || return 0
  build_sanitized asan unit_tests
  UBSAN_OPTIONS=print_stacktrace=1 build/asan/unit_tests
}

# The first race ends the run: what follows it may be its echo.
do_tsan() {
  need_clang || return 0
  build_sanitized tsan unit_tests
  TSAN_OPTIONS=halt_on_error=1 build/tsan/unit_tests
}

# The second compiler reads what the builds of the sanitizers leave out.
do_clang() {
  need_build
  need_clang || return 0
  configure asan
  python3 tools/dev/read_the_rest.py build/asan/compile_commands.json
}

fuzz_names() { for name in fuzz/*.cpp; do [ ! -f "$name" ] || basename "$name" .cpp; done; }

# What ./dev test compiles beside pytest.
do_fuzz-build() {
  need_clang || return 0
  local names
  mapfile -t names < <(fuzz_names)
  build_sanitized asan "${names[@]/#/fuzz_}"
}

# --seconds: of each target; --total: of all of them together, on all cores. --until: executions of each target,
# one target at a time, counted in fuzz/executions.json (tools/dev/fuzz_campaign.py); --counts: these counts.
# fuzz/NAME.cpp is the target fuzz_NAME, fuzz/corpus/NAME its inputs; new ones go to build/.
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

do_fuzz-one() {  # NAME SECONDS [EXECUTIONS]: called by fuzz, several at once
  local name=$1 seconds=$2 runs=${3:--1} corpus=fuzz/corpus/$1 fresh=build/fuzz/corpus/$1 log=build/fuzz/log/$1.log
  mkdir -p "$fresh" "$corpus"  # libFuzzer wants both
  local options=(-timeout=5 -rss_limit_mb=2048 "-artifact_prefix=build/fuzz/findings/$name-")
  local program=build/asan/fuzz_$name
  [ -f "fuzz/$name.options" ] && mapfile -t -O ${#options[@]} options <"fuzz/$name.options"
  # Replay: every kept input once, findings of the past and inputs that earlier runs kept among them, with all checks.
  # Fuzzing leaves out what takes up to half of the time: fake stacks, a quarantine that fits no cache, deep stacks of allocations.
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
