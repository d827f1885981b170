"""Comments and docstrings begin with their subject or a verb, never with "Of"."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENDINGS = {".py", ".h", ".cpp", ".cu", ".cuh", ".sh", ".cmake"}
OPENING = re.compile(r'(?:^|\s)(?://|#|""")\s*Of\b(?! course)')
# Folders that still have such openings. Remove a folder from the list when it is clean; add none.
NOT_CLEAN_YET = """
    bench/augment bench/autotune bench/bad bench/common bench/decode bench/doctor bench/gpu_feed
    bench/lanes bench/load bench/optim bench/sources fuzz python/tundish python/tundish/_c
    python/tundish/data python/tundish/data/batch python/tundish/data/settings
    python/tundish/demo
    python/tundish/dropin python/tundish/dropin/datasets
    python/tundish/optim/_binding python/tundish/optim/_flat
    python/tundish/optim/_muon python/tundish/samples python/tundish/transforms
    python/tundish/tuning python/tundish/tuning/memory python/tundish/tuning/numerics
    python/tundish/tuning/report python/tundish/tuning/search python/tundish/tuning/tricks
    src/augment src/augment/cpu src/augment/operations src/augment/operations/policies
    src/augment/operations/warps src/augment/pixels/blur src/augment/pixels/colors
    src/augment/pixels/levels src/augment/pixels/tensors src/augment/pixels/warp src/cli/env
    src/cli/info src/cli/pack src/cli/view src/base src/base/machine src/cuda/augment
    src/cuda/decode src/cuda/runtime src/codec/decode src/codec/decode/bmp src/codec/decode/webp src/loader/engine
    src/loader/engine/gpu src/loader/engine/tuning src/tools/environment src/codec/lanes src/loader/memory src/optim src/data/order
    src/data/pack/salvage src/data/pack/write src/rewrite/preprocess src/loader/sample src/data/source src/data/source/arrays
    src/data/source/chunks src/data/source/disk_cache src/data/source/formats src/data/source/formats/chunked
    src/data/source/formats/pth src/data/source/formats/records src/data/source/formats/tar src/data/source/pickle
    src/loader/state src/base/machine tests/diagnosis tests/dropin tests/gpu
    tests/helpers tests/optim tests/pack tests/pixels tests/tuning tools/dev
"""


def sources():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = [Path(name) for name in listed.stdout.splitlines()]
    return [name for name in names if name.suffix in ENDINGS and (ROOT / name).is_file()]


def openings(text):
    """Returns the numbers of lines in which a comment or a docstring opens with "Of"."""
    return [n for n, line in enumerate(text.splitlines(), 1) if OPENING.search(line)]


def test_no_comment_opens_with_of():
    checked = sources()
    assert len(checked) > 2000
    found = [f"{name}:{line}" for name in checked for line in openings((ROOT / name).read_text())]
    assert found == []


def test_an_opening_would_be_found():
    quotes = '"' * 3
    lines = ["# " + "Of a step.", "x = 1  // " + "Of it", f"def f():\n    {quotes}" + "Of a file."]
    for line in lines:
        assert openings(f"import os\n{line}")
    for line in ("# Of course not.", "# Often", "# the end of it", "#include <Of>"):
        assert openings(line) == []
