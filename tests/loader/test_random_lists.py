"""Random lists of transforms: same batches for all thread counts, splits, resumes and replays.

`./dev siege augment` runs the same checks with many more lists.
"""

import collections
import json
import os
import re
import subprocess

import pytest
from tundish import transforms as T
from tundish.transforms.transform import transforms_json

from tests.helpers import list_checks, random_lists
from tests.helpers.program import UNIT_TESTS, needs_program

pytestmark = needs_program

LISTS = 500
PARTS = 5  # parts report failures early and show the time of each part


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    return list_checks.make_set(tmp_path_factory.mktemp("lists") / "set")


@pytest.mark.parametrize("part", range(PARTS))
def test_every_way_to_a_batch_gives_the_same_bytes(pack, part):
    for number in range(part, LISTS, PARTS):
        assert list_checks.check_list(pack, number) == 3


def test_batches_finished_by_a_gpu_equal_the_cpus(tmp_path):
    """The reference implementation of the GPU is C++; its unit test reads the lists."""
    lists = [transforms_json(random_lists.draw_list(number)) for number in range(LISTS)]
    (tmp_path / "lists.json").write_text(json.dumps(lists))
    done = subprocess.run(
        [UNIT_TESTS, "--test-case=batches for a GPU equal the CPU's for the lists of a file"],
        env={**os.environ, "TUNDISH_LISTS": str(tmp_path / "lists.json")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    found = re.search(rf"{LISTS} lists, (\d+) images coded, (\d+) not", done.stdout)
    assert found
    assert min(map(int, found.groups())) > LISTS


def kinds_of(transforms):
    for one in transforms:
        yield type(one).__name__
        yield from kinds_of(getattr(one, "transforms", ()))


def test_every_transform_is_in_the_lists_also_after_normalize_and_inside_others():
    count = collections.Counter()
    after = collections.Counter()
    for number in range(LISTS):
        transforms = random_lists.draw_list(number)
        count.update(kinds_of(transforms))
        values = [n for n, one in enumerate(transforms) if isinstance(one, T.Normalize | T.ToDtype)]
        if values:
            after.update(kinds_of(transforms[values[-1] + 1 :]))
    assert set(count) == set(random_lists.CLASSES)
    assert min(count.values()) >= 20
    assert set(after) >= {"RandomErasing", "TimmRandomErasing", "RandomHorizontalFlip"}
    assert set(after) >= {"RandomCrop", "RandomApply", "RandomChoice", "RandomOrder"}


def test_a_batch_that_differs_is_reported_with_its_list(pack, monkeypatch):
    right = T.apply

    def wrong(*arguments, **more):
        out = right(*arguments, **more)
        out[-1, -1, -1] += 1
        return out

    monkeypatch.setattr(T, "apply", wrong)
    with pytest.raises(
        list_checks.Difference, match=r'T.apply of sample \d+: list 2, .*\n\[\{"name": '
    ):
        list_checks.check_list(pack, 2)
