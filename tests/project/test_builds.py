"""The checks of the wheel and of the second compiler: their scope, and that they can fail."""

import io
import json
import re
import subprocess
import zipfile

import pytest

from tests.helpers.program import ROOT, needs_program, out, tundish

INFO = "tundish-1.0.dist-info"


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.syspath_prepend(ROOT / "tools" / "dev")
    import make_wheel
    import read_the_rest

    return make_wheel, read_the_rest


def wheel(leave_out="", tag="py3-none-manylinux_2_35_x86_64", more=()):
    """Returns a wheel with the library and program as built, not stripped."""
    names = ["libjpeg-turbo", "libpng", "libwebp", "libdeflate", "zlib", "zstd", "lz4", "liblzma"]
    names += ["bzip2", "fmt", "nlohmann-json", "CLI11", "xxhash", "libstdc++", "libgcc"]
    names += ["cuda-runtime", "hdf5"]
    package = (ROOT / "python" / "tundish").rglob("*")
    files = {f.relative_to(ROOT / "python").as_posix(): b"" for f in package if f.is_file()}
    files |= {f"{INFO}/licenses/linked/{name}": b"text" for name in names}
    files[f"{INFO}/licenses/LICENSE"] = b"text"
    files[f"{INFO}/WHEEL"] = f"Wheel-Version: 1.0\nTag: {tag}\n".encode()
    for library in ("libtundish.so", "libtundish_guard.so"):
        files[f"tundish/{library}"] = (ROOT / "build/release" / library).read_bytes()
    files["tundish-1.0.data/scripts/tundish"] = (ROOT / "build/release/tundish").read_bytes()
    files |= dict.fromkeys(more, b"")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in files.items():
            if not leave_out or not name.endswith(leave_out):
                archive.writestr(name, data)
    return zipfile.ZipFile(file)


@needs_program
def test_the_check_of_a_wheel_names_what_is_missing(tools):
    as_built = [
        "tundish/libtundish.so is not stripped",
        "tundish/libtundish_guard.so is not stripped",
        "tundish-1.0.data/scripts/tundish is not stripped",
    ]
    assert tools[0].problems(wheel()) == as_built
    missing = f"{INFO}/licenses/linked/zstd is missing"
    assert tools[0].problems(wheel(leave_out="linked/zstd")) == [missing, *as_built]
    versions = json.loads(out(tundish("--version", "--json")))["libraries"]
    if versions["cuda-runtime"]:
        found = tools[0].problems(wheel(leave_out="linked/cuda-runtime"))
        assert found[0] == f"{INFO}/licenses/linked/cuda-runtime is missing"
    assert (
        tools[0].problems(wheel(leave_out="/loader.py"))[0] == "tundish/data/loader.py is missing"
    )
    assert "its tag is not" in tools[0].problems(wheel(tag="py3-none-linux_x86_64"))[-1]
    added = tools[0].problems(wheel(more=["tundish.libs/libz.so"]))
    assert added[-1] == "auditwheel had to add shared libraries"


def test_clang_reads_what_only_the_first_compiler_builds(tools):
    targets = ["engine", "cli", "unit_tests", "program", "tundish", "bench_load", "fuzz_csv"]
    entries = [{"command": f"c++ -o CMakeFiles/{t}.dir/a.cpp.o -c a.cpp", "t": t} for t in targets]
    rest = [entry["t"] for entry in tools[1].left_out(entries)]
    assert rest == ["program", "tundish", "bench_load"]
    linked = re.search(
        r"target_link_libraries\(cli PUBLIC (.*)\)", (ROOT / "CMakeLists.txt").read_text()
    )
    assert linked
    assert set(linked[1].split()) <= tools[1].COMPILED  # compiled with the tests, which link cli


def test_clang_reads_sources_without_a_precompiled_header(tools):
    words = [
        "c++",
        "-O1",
        "-Xclang",
        "-include-pch",
        "-Xclang",
        "program.dir/cmake_pch.hxx.pch",
        "-o",
        "a.o",
        "-c",
        "a.cpp",
    ]
    assert tools[1].without_precompiled(words) == ["c++", "-O1", "-o", "a.o", "-c", "a.cpp"]
    assert tools[1].without_precompiled(["c++", "-c", "a.cpp"]) == ["c++", "-c", "a.cpp"]
    header = {"command": "c++ -o CMakeFiles/program.dir/cmake_pch.hxx.pch -c cmake_pch.hxx.cxx"}
    assert tools[1].left_out([{**header, "file": "cmake_pch.hxx.cxx"}]) == []


def test_clang_finds_a_warning(tools, tmp_path, monkeypatch):
    (tmp_path / "a.cpp").write_text("int f(long long a) { int b = a; return b; }\n")
    entry = {
        "command": "g++ -Wconversion -o CMakeFiles/program.dir/a.o -c a.cpp",
        "directory": str(tmp_path),
        "file": "a.cpp",
    }
    assert not tools[1].read(entry)
    (tmp_path / "a.cpp").write_text("int f(int a) { return a; }\n")
    assert tools[1].read(entry)


def configure(folder, text, *options):
    header = "cmake_minimum_required(VERSION 3.20)\nproject(one LANGUAGES NONE)\n"
    include = f'include("{ROOT}/cmake/install_license.cmake")\n'
    (folder / "CMakeLists.txt").write_text(header + include + text)
    words = ["cmake", "-S", folder, "-B", folder / "build", *options]
    return subprocess.run(words, capture_output=True, text=True)


def test_a_missing_license_ends_the_build_of_a_wheel(tmp_path):
    text = "install_license(libnone /no/such/file)\n"
    result = configure(tmp_path, text)
    assert result.returncode != 0
    assert "license of libnone" in result.stderr.replace("\n", " ")
    assert "TUNDISH_LICENSES" in result.stderr
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "libnone").write_text("text")
    assert configure(tmp_path, text, f"-DTUNDISH_LICENSES={texts}").returncode == 0
