# shellcheck shell=bash
# Part of ./dev: the long test campaigns.

do_siege() {
  local name=${1:-}
  [ $# -eq 0 ] || shift
  case $name in
    fuzz) do_fuzz --seconds 1800 "$@" ;;
    kills) do_build; TUNDISH_KILLS=10000 .venv/bin/python -m pytest -q tests/pack/test_kill.py "$@" ;;
    pack) do_build; .venv/bin/python -m tests.siege.pack "$@" ;;
    exits) do_build; TUNDISH_EXITS=500 .venv/bin/python -m pytest -q -rP tests/threads/test_interruptions.py "$@" ;;
    flat) do_build; TUNDISH_FLAT_BATCHES=100000 .venv/bin/python -m pytest -q -rP tests/loader/test_flat_memory.py "$@" ;;
    threads)
      need_clang || return 0
      build_sanitized tsan unit_tests
      for round in $(seq 1 "${1:-30}"); do
        TSAN_OPTIONS=halt_on_error=1 build/tsan/unit_tests --order-by=rand --rand-seed="$round" --minimal
        say "siege: round $round of ${1:-30} is clean"
      done
      ;;
    resume)
      do_build
      TUNDISH_RESUME_PLANS=${1:-2000} build/release/unit_tests --test-case="random plans:*"
      ;;
    lanes)
      do_build
      command -v jpegtran >/dev/null || (install_packages libjpeg-turbo-progs) ||
        say "siege: goes on without jpegtran and cjpeg"
      .venv/bin/python -m tests.siege.lanes "$@"
      ;;
    memory) do_build; .venv/bin/python -m tests.siege.memory "$@" ;;
    augment) do_build; .venv/bin/python -m tests.siege.augment "$@" ;;
    recipes) do_build; .venv/bin/python -m tests.siege.recipes "$@" ;;
    tiny) do_build; need_originals; build/siege-venv/bin/python -m tests.siege.tiny "$@" ;;
    formats) do_build; need_originals; build/siege-venv/bin/python -m tests.siege.formats "$@" ;;
    *)
      cat >&2 <<'END'
usage: ./dev siege NAME

  fuzz     30 minutes of fuzzing for every target (or those named)
  kills    10,000 SIGKILLs at random moments of a pack
  pack     200 packs interrupted and resumed to the same bytes, then 10,000 SIGKILLs of files and shards;
           --interruptions N, --kills N, --seconds S (at most, for each half), --seed N
  exits    500 loaders interrupted at random moments, each ended within a second
  flat     100,000 batches with bad samples, memory stays as it is
  threads  the C++ tests 30 times under ThreadSanitizer, in random order
  resume   2,000 random runs that stop and go on three times with other ranks, threads, batches
  lanes    photos as every kind of JPEG, packed and compared: bytes, pixels, windows;
           --data DIR (or TUNDISH_DATA), --files N, --json
  memory   1,000 random loaders against their budgets, then 200 under a hard limit of memory;
           --runs N, --limited N, --cgroup DIR
  augment  20,000 random lists of transforms: threads, ranks, resumed, replayed, T.apply;
           --lists N, --seed FIRST
  recipes  20,000 random lists of torchvision's transforms: the pixels of the translation;
           --lists N, --seed FIRST
  tiny     small files of every format that claim huge contents: CPU time and memory of opening each;
           --files N, --seed FIRST, --only FORMAT ..., --json FILE
  formats  2,000 random files of each format against its original library;
           --files N, --seed FIRST, --only FORMAT ..., --json FILE, --keep DIR
END
      exit 2
      ;;
  esac
}
