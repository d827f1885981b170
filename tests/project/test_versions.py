"""Versions of the linked libraries, and a JPEG library whose pixels were proven."""

import json
import re

import pytest

from tests.helpers.program import ROOT, err, needs_program, out, tundish

pytestmark = needs_program

# Every JPEG test, ./dev siege lanes and the golden files were compared with Pillow at this version.
PROVEN_JPEG = "2.1.5"

LIBRARIES = ["libjpeg-turbo", "libpng", "libwebp", "libdeflate", "zlib", "zstd", "lz4", "liblzma"]
LIBRARIES += ["bzip2", "fmt", "nlohmann-json", "xxhash", "cuda-runtime", "CLI11", "hdf5"]


@pytest.fixture
def versions():
    return json.loads(out(tundish("--version", "--json")))


def test_every_linked_library_is_named_with_its_version(versions):
    assert f"tundish {versions['tundish']}\n" == out(tundish("--version"))
    assert [*versions["libraries"]] == LIBRARIES
    for name, version in versions["libraries"].items():
        without = name in ("cuda-runtime", "hdf5") and version is None
        assert without or re.fullmatch(r"\d+(\.\d+)+", version), (name, version)


def test_the_list_of_libraries_matches_the_build(versions):
    """Finds a library that cmake/third_party.cmake links but the list lacks."""
    text = (ROOT / "cmake/third_party.cmake").read_text()
    archives = re.search(r"foreach\(name ((?:\w+ )*\w+)\)\n  find_library", text)[1]
    names = {"jpeg": "libjpeg-turbo", "png16": "libpng", "zstd": "zstd", "lzma": "liblzma"}
    names |= {"bz2": "bzip2", "z": "zlib", "webp": "libwebp", "deflate": "libdeflate", "lz4": "lz4"}
    assert {names.get(archive) for archive in archives.split()} <= {*versions["libraries"]}


def test_the_jpeg_library_is_the_one_whose_pixels_were_proven(versions):
    linked = versions["libraries"]["libjpeg-turbo"]
    assert linked == PROVEN_JPEG, (
        f"this build links libjpeg-turbo {linked}; pixels were proven with {PROVEN_JPEG}. "
        "fix: run ./dev test and ./dev siege lanes --data PHOTOS with it, and when all pixels are "
        f"equal write {linked} into PROVEN_JPEG of tests/project/test_versions.py"
    )


def test_a_word_after_version_is_refused():
    result = tundish("--version", "--jsom")
    assert result.returncode == 2
    assert "--jsom" in err(result)
