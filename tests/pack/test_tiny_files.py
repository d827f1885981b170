"""Small files that claim huge contents are opened or refused with little work and memory.

`./dev siege tiny` opens thousands of such files and measures their CPU time.
"""

import pytest

from tests.helpers.array_files import unzip
from tests.helpers.peak_memory import peak_memory
from tests.helpers.program import needs_program
from tests.siege import tiny_files

pytestmark = needs_program
MIB = 1 << 20
GUARD_S = 60  # CPU seconds; opening takes under 2, and took minutes without bounds
ENDED = (0, 1, 3)  # opened or refused
SEEDS = range(6)


def check(paths):
    for path in paths:
        peak = peak_memory("info", path, exit_codes=ENDED, cpu_limit_s=GUARD_S)
        assert peak < 512 * MIB, path


@pytest.mark.parametrize("name", sorted(set(tiny_files.MAKERS) - {"hdf5"}))
def test_small_files_that_claim_huge_contents_take_little_memory(name, tmp_path):
    check(tiny_files.make(name, seed, tmp_path / str(seed)) for seed in SEEDS)


def test_small_hdf5_files_that_claim_huge_contents_take_little_memory(tmp_path):
    """The files are those of tests/formats/hdf5/make_tiny.py."""
    paths = sorted(unzip("hdf5/tiny.zip", tmp_path).rglob("*.h5"))
    assert len(paths) > 30
    check(paths)
