"""Builds the wheel: one for every Python from 3.10, because nothing in it links to Python.

`pip install .` calls build_wheel() (PEP 517); `./dev wheel` runs this file on what is built
already. The wheel holds the package, libtundish.so and the program; both binaries may need
nothing but libc of glibc 2.35, which is checked before a byte is written.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = "py3-none-manylinux_2_35_x86_64"
GLIBC = (2, 35)
ALLOWED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2"}
ALLOWED |= {"librt.so.1"}

# Linked in statically; their licences go along.
LINKED = ["libjpeg62-turbo-dev", "libpng-dev", "zlib1g-dev", "libzstd-dev", "liblzma-dev"]
LINKED += ["libbz2-dev", "libfmt-dev", "nlohmann-json3-dev", "libcli11-dev", "libxxhash-dev"]


def project() -> dict[str, str]:
    """Name, version and the like from pyproject.toml; tomllib is newer than Python 3.10."""
    text = (ROOT / "pyproject.toml").read_text()
    keys = ("name", "version", "description", "requires-python", "license")
    return {key: re.search(rf'^{key} = "(.*)"$', text, re.M)[1] for key in keys}  # type: ignore[index]


def check_binary(path: Path) -> None:
    """Refuses what would not run on the systems that the tag promises."""
    text = subprocess.run(
        ["objdump", "-p", str(path)], check=True, capture_output=True, text=True
    ).stdout
    needed = set(re.findall(r"NEEDED\s+(\S+)", text))
    if needed - ALLOWED:
        raise SystemExit(f"wheel: {path} needs {', '.join(sorted(needed - ALLOWED))}")
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", text)}
    if max(versions, default=(0,)) > GLIBC:
        newest = ".".join(map(str, max(versions)))
        raise SystemExit(f"wheel: {path} needs glibc {newest}, the tag promises 2.35")


def stripped(path: Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        subprocess.run(["strip", "--strip-unneeded", str(copy)], check=True)
        return copy.read_bytes()


def metadata() -> str:
    p = project()
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {p['name']}",
        f"Version: {p['version']}",
        f"Summary: {p['description']}",
        f"License-Expression: {p['license']}",
        "License-File: LICENSE",
        f"Requires-Python: {p['requires-python']}",
        "Requires-Dist: numpy",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Typing :: Typed",
        "Description-Content-Type: text/markdown",
    ]
    readme = ROOT / "README.md"
    return "\n".join(lines) + "\n\n" + (readme.read_text() if readme.is_file() else "")


def contents(build: Path) -> dict[str, tuple[bytes, bool]]:
    """Everything in the wheel but its RECORD: name to (bytes, executable)."""
    p = project()
    info = f"{p['name']}-{p['version']}.dist-info"
    library, program = build / "libtundish.so", build / "tundish"
    files: dict[str, tuple[bytes, bool]] = {}
    for binary in (library, program):
        check_binary(binary)
    package = ROOT / "python" / "tundish"
    for file in sorted(package.rglob("*")):
        name = file.relative_to(package.parent)
        own = file.name.startswith(".") or file.suffix in (".so", ".pyc") or "bin" in name.parts
        if file.is_file() and not own:
            files[str(name)] = (file.read_bytes(), False)
    files["tundish/libtundish.so"] = (stripped(library), False)
    files[f"{p['name']}-{p['version']}.data/scripts/tundish"] = (stripped(program), True)
    files[f"{info}/METADATA"] = (metadata().encode(), False)
    wheel = f"Wheel-Version: 1.0\nGenerator: tundish\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    files[f"{info}/WHEEL"] = (wheel.encode(), False)
    files[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), False)
    for name in LINKED:
        notice = Path("/usr/share/doc") / name / "copyright"
        if notice.is_file():
            files[f"{info}/licenses/linked/{name}"] = (notice.read_bytes(), False)
    return files


def write_wheel(build: Path, folder: Path) -> Path:
    p = project()
    files = contents(build)
    record = io.StringIO()
    for name, (data, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.write(f"{name},sha256={digest},{len(data)}\n")
    last = f"{p['name']}-{p['version']}.dist-info/RECORD"
    files[last] = ((record.getvalue() + f"{last},,\n").encode(), False)

    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{p['name']}-{p['version']}-{TAG}.whl"
    temporary = target.with_suffix(".tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, executable) in files.items():
            entry = zipfile.ZipInfo(name)  # dated 1980: the same input gives the same wheel
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    temporary.replace(target)
    return target


# --- PEP 517 ------------------------------------------------------------------------------------


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    build = ROOT / "build" / "wheel"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(build), *generator], check=True)
    subprocess.run(["cmake", "--build", str(build), "--parallel"], check=True)
    return write_wheel(build, Path(wheel_directory)).name


if __name__ == "__main__":
    wheel = write_wheel(ROOT / "build" / "release", Path(sys.argv[1]))
    print(f"wheel: {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
