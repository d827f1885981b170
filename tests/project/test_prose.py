"""Comments and docstrings begin with their subject or a verb, never with "Of"."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENDINGS = {".py", ".h", ".cpp", ".cu", ".cuh", ".sh", ".cmake"}
OPENING = re.compile(r'(?:^|\s)(?://|#|""")\s*Of\b(?! course)')
# Folders with openings that are still to be rewritten. Take a folder off the list when it is clean;
# add none.
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
    src/augment/operations/warps src/augment/pixels/blur src/augment/pixels/colours
    src/augment/pixels/levels src/augment/pixels/tensors src/augment/pixels/warp src/cli/env
    src/cli/info src/cli/pack src/cli/view src/core src/core/machine src/cuda/augment
    src/cuda/decode src/cuda/runtime src/decode src/decode/bmp src/decode/webp src/engine
    src/engine/gpu src/engine/tuning src/environment src/lanes src/memory src/optim src/order
    src/pack/salvage src/pack/write src/preprocess src/sample src/source src/source/arrays
    src/source/chunks src/source/disk_cache src/source/formats src/source/formats/chunked
    src/source/formats/pth src/source/formats/records src/source/formats/tar src/source/pickle
    src/state src/system tests/diagnosis tests/dropin tests/gpu
    tests/helpers tests/optim tests/pack tests/pixels tests/tuning tools/dev
"""


def sources():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = [Path(name) for name in listed.stdout.splitlines()]
    return [name for name in names if name.suffix in ENDINGS and (ROOT / name).is_file()]


def openings(text):
    """Numbers of the lines in which a comment or a docstring opens with "Of"."""
    return [n for n, line in enumerate(text.splitlines(), 1) if OPENING.search(line)]


def test_no_comment_opens_with_of():
    checked = [name for name in sources() if str(name.parent) not in NOT_CLEAN_YET.split()]
    assert len(checked) > 300
    found = [f"{name}:{line}" for name in checked for line in openings((ROOT / name).read_text())]
    assert found == []


def test_an_opening_would_be_found():
    quotes = '"' * 3
    lines = ["# " + "Of a step.", "x = 1  // " + "Of it", f"def f():\n    {quotes}" + "Of a file."]
    for line in lines:
        assert openings(f"import os\n{line}")
    for line in ("# Of course not.", "# Often", "# the end of it", "#include <Of>"):
        assert openings(line) == []
