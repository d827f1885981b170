# shellcheck shell=bash
# Part of ./dev: the bundle for a GPU machine, and the commands that run there.

do_gpu() {
  local command=${1:-}
  [ $# -eq 0 ] || shift
  case $command in
    bundle) gpu_bundle "$@" ;;
    run) gpu_run "$@" ;;
    *) die "usage: ./dev gpu bundle [--data DIR], then on the machine with a GPU: ./dev gpu run [STAGE...]" ;;
  esac
}

# Collects everything that a GPU machine needs in build/gpu; run ./dev gpu run there.
gpu_bundle() {
  local data=""
  if [ "${1:-}" = --data ]; then data=${2:?"--data needs a folder of JPEGs"}; fi
  command -v nvcc >/dev/null || die "gpu bundle: needs nvcc (the CUDA toolkit, version 13)"
  do_build
  local to=build/gpu
  rm -rf $to
  mkdir -p $to/bin $to/tests $to/bench $to/python
  cp build/release/check_decode build/release/check_upload build/release/check_optim \
    build/release/bench_gpu_decode build/release/bench_gpu_augment $to/bin/
  strip $to/bin/*
  cp dev $to/
  mkdir -p $to/tools
  cp -r tools/dev $to/tools/
  cp tests/__init__.py $to/tests/
  cp bench/__init__.py $to/bench/
  cp -r tests/gpu $to/tests/
  mkdir -p $to/tests/helpers $to/tests/optim
  cp tests/optim/{__init__,muon_formula,muon_measures}.py $to/tests/optim/
  cp tests/helpers/{__init__,layer_plants,random_lists}.py $to/tests/helpers/
  cp -r bench/common bench/augment bench/gpu_augment bench/gpu_decode bench/gpu_feed bench/flat bench/optim bench/tune bench/doctor $to/bench/
  # timm is not installed there. The bundle has only timm's optimizers, which need nothing but
  # torch.
  local timm
  timm=$(.venv/bin/python -c 'import importlib.util as i; print(i.find_spec("timm").submodule_search_locations[0])')
  mkdir -p $to/rivals/timm/optim
  cp "$timm"/version.py $to/rivals/timm/
  cp "$timm"/optim/*.py $to/rivals/timm/optim/
  cp -r python/tundish $to/python/
  strip --strip-unneeded $to/python/tundish/libtundish.so
  find $to -name __pycache__ -prune -exec rm -rf {} +
  .venv/bin/python -c "from bench.common.rows import commit, ROOT; print(commit(ROOT))" >$to/commit
  if [ -z "$data" ]; then
    data=build/bench/gpu-samples
    [ -d $data ] || build/release/make_samples $data 100 4
  fi
  mkdir -p $to/photos
  find "$data" -type f -iname '*.jp*g' -exec cp {} $to/photos/ \;
  .venv/bin/tundish pack --force --output $to/photos.tnd "$data" >&2
  rm -rf build/gpu-mixed
  .venv/bin/python -m tests.gpu.mixed_set $to/photos build/gpu-mixed
  .venv/bin/tundish pack --force --output $to/mixed.tnd build/gpu-mixed/list.csv >&2
  .venv/bin/python -m tests.gpu.hostile_set $to/photos.tnd $to/hostile.tnd >&2
  say "gpu bundle: $to, $(du -sm $to | cut -f1) MB; there: ./dev gpu run"
}

# Also runs inside a bundle, which has no .venv.
gpu_run() {
  local python=python3
  nvidia-smi -L >/dev/null 2>&1 || die "gpu run: needs a GPU with its driver (nvidia-smi lists none)"
  "$python" -c 'import torch' 2>/dev/null || python=.venv/bin/python
  PYTHONPATH="$PWD/python" "$python" -m tests.gpu.run "$@"
}
