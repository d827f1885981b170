"""memory= of tune and find_batch_size: a limit as bytes or as text."""

import pytest
import tundish
from tundish.tuning import find_batch_size
from tundish.tuning.memory.memory_limit import limit_bytes


@pytest.mark.parametrize(
    ("value", "size"), [("40GiB", 40 * 2**30), ("500 MB", 500 * 10**6), (4096, 4096)]
)
def test_a_limit_is_bytes_or_text(value, size):
    assert limit_bytes(value, "memory") == size


@pytest.mark.parametrize("value", ["much", "40 apples", 0, -1, 1.5, True])
@pytest.mark.parametrize("function", [tundish.tune, find_batch_size])
def test_another_limit_is_refused_before_anything_runs(function, value):
    match = rf"^(tundish\.tune|find_batch_size): memory must be .*{value}"
    with pytest.raises(tundish.ArgumentError, match=match):
        function("nowhere.py:build", memory=value)
