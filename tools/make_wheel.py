"""Builds the sdist and the wheel from this checkout: python tools/make_wheel.py FOLDER

scikit-build-core builds both (pyproject.toml, cmake/wheel.cmake) from the output of ./dev build.
auditwheel verifies that the wheel runs on all systems that its tag promises. This tool checks the
contents of the wheel.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parent.parent
PLATFORM = "manylinux_2_35_x86_64"
# manylinux systems also have libstdc++, but it may be older than the compiler's libstdc++.
NEEDED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2"}
NEEDED |= {"librt.so.1"}
LINKED = [
    "libjpeg-turbo",
    "libpng",
    "libwebp",
    "libdeflate",
    "zlib",
    "zstd",
    "lz4",
    "liblzma",
    "bzip2",
]
LINKED += ["fmt", "nlohmann-json", "CLI11", "xxhash", "libstdc++", "libgcc"]


def run(*words: object) -> None:
    env = dict(os.environ, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if "SOURCE_DATE_EPOCH" not in env:  # so that the same commit gives the same bytes
        git = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        env["SOURCE_DATE_EPOCH"] = subprocess.run(
            git, check=True, capture_output=True, text=True
        ).stdout.strip()
    subprocess.run([str(word) for word in words], check=True, cwd=ROOT, env=env)


def problems_of_binary(name: str, data: bytes) -> list[str]:
    """Returns the reasons why a library or program may not run on all systems that the tag promises."""
    elf, found = ELFFile(io.BytesIO(data)), []
    dynamic = elf.get_section_by_name(".dynamic")
    assert isinstance(dynamic, DynamicSection), name
    needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
    if needed - NEEDED:
        found.append(f"{name} needs {', '.join(sorted(needed - NEEDED))}")
    if elf.get_section_by_name(".symtab") is not None:
        found.append(f"{name} is not stripped")
    return found


def problems(wheel: zipfile.ZipFile) -> list[str]:
    """Returns descriptions of the defects in a wheel. Empty if there are none."""
    names = set(wheel.namelist())
    info = next(name.split("/")[0] for name in names if name.endswith(".dist-info/WHEEL"))
    data = info.replace(".dist-info", ".data")
    library, program = "tundish/libtundish.so", f"{data}/scripts/tundish"
    guard = "tundish/libtundish_guard.so"
    wanted = [library, guard, program, "tundish/__init__.py", "tundish/py.typed"]
    wanted += [f"{info}/licenses/LICENSE"]
    linked = list(LINKED)
    if library in names and b"cudaErrorCudartUnloading" in wheel.read(library):
        linked.append("cuda-runtime")
    if program in names and b"H5Fopen" in wheel.read(program):
        linked.append("hdf5")
    wanted += [f"{info}/licenses/linked/{name}" for name in linked]
    found = [f"{name} is missing" for name in wanted if name not in names]
    package = {
        f.relative_to(ROOT / "python").as_posix()
        for f in (ROOT / "python" / "tundish").rglob("*.py")
    }
    found += [f"{name} is missing" for name in sorted(package - names)]
    for name in (library, guard, program):
        if name in names:
            found += problems_of_binary(name, wheel.read(name))
    if any(".libs/" in name for name in names):
        found.append("auditwheel had to add shared libraries")
    if f"Tag: py3-none-{PLATFORM}\n" not in wheel.read(f"{info}/WHEEL").decode():
        found.append(f"its tag is not py3-none-{PLATFORM}")
    return found


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("tundish-*.whl"), *folder.glob("tundish-*.tar.gz")]:
        old.unlink()
    code = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    run(sys.executable, "-c", code, folder.resolve())
    with tempfile.TemporaryDirectory() as name:
        pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
        options = ["--no-deps", "--no-build-isolation", "-C", "build-dir=build/release"]
        run(*pip, *options, "-w", name, ".")
        (plain,) = Path(name).glob("tundish-*.whl")
        audit = [sys.executable, "-m", "auditwheel", "repair", "--only-plat", "--plat", PLATFORM]
        run(*audit, "-w", folder.resolve(), plain)
    (made,) = folder.glob("tundish-*.whl")
    with zipfile.ZipFile(made) as wheel:
        found = problems(wheel)
    if found:
        made.unlink()
        sys.exit("wheel: " + "; ".join(found))
    print(f"wheel: {made.name}, {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
