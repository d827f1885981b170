"""Labels without a class are packed with a warning and never get another class's name."""

import json
import threading

import numpy as np
import pytest
import tundish

from tests.helpers.program import err, needs_program
from tests.helpers.program import tundish as program

pytestmark = needs_program


class Labeled:
    """A dataset with these labels and three classes."""

    classes = ("cat", "dog", "emu")

    def __init__(self, *labels):
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, number):
        return np.full((4, 4, 3), number % 256, np.uint8), self.labels[number]


def pack(tmp_path, *labels, name="a.tnd"):
    result = tundish.pack(Labeled(*labels), tmp_path / name, processes=0, progress=False)
    return result["warnings"]


def test_labels_without_a_name_are_warned_of(tmp_path):
    (warning,) = pack(tmp_path, 0, 3, 2, 40, -1)
    assert "2 of 5 samples have a label without a name: label 3 of 00000001 is the first" in warning
    assert "the 3 classes have the labels 0 to 2" in warning


def test_labels_with_a_name_or_none_are_not_warned_of(tmp_path):
    assert pack(tmp_path, 0, 1, 2, -1) == []


@pytest.mark.parametrize("verb", ["pack", "split", "merge"])
def test_verbs_that_write_packs_warn(tmp_path, verb):
    pack(tmp_path, *range(3), *[7] * 20)
    parts = ["x=0.5,y=0.5", "-o", tmp_path / "part"] if verb == "split" else []
    target = [] if parts else ["-o", tmp_path / "b.tnd"]
    result = program(verb, tmp_path / "a.tnd", *parts, *target)
    assert result.returncode == 0
    assert "have a label without a name: label 7 of " in err(result)


class Blocked(Labeled):
    """A dataset that returns its last sample after `released` is set."""

    def __init__(self, *labels):
        super().__init__(*labels)
        self.released = threading.Event()

    def __getitem__(self, number):
        if number == len(self) - 1 and threading.current_thread() is not threading.main_thread():
            self.released.wait(60)
        return super().__getitem__(number)


def test_a_resumed_pack_counts_the_earlier_labels(tmp_path):
    """The labels are read back from the journal of the interrupted run."""
    samples, target = Blocked(*[5] * 3000), tmp_path / "a.tnd"

    def stop(amount):
        if amount["samples"] >= 100:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        tundish.pack(samples, target, processes=0, progress=stop)
    samples.released.set()
    result = tundish.pack(samples, target, processes=0, progress=False)
    assert result["resumed_at"] >= 64
    (warning,) = result["warnings"]
    assert "3,000 of 3,000 samples have a label without a name: label 5 of 00000000 " in warning


def test_a_merge_that_would_name_such_a_label_is_refused(tmp_path):
    pack(tmp_path, 0, 1, 2, name="b.tnd")
    Labeled.classes, before = ("ant", "bee"), Labeled.classes
    try:
        pack(tmp_path, 0, 1, 2, name="a.tnd")
    finally:
        Labeled.classes = before
    words = ["merge", tmp_path / "a.tnd", tmp_path / "b.tnd", "--rename", "--json"]
    result = program(*words, "-o", tmp_path / "both.tnd")
    assert result.returncode != 0
    message = json.loads(result.stdout)["error"]["message"]
    assert "the label of 00000002 is 2, its 2 classes have no name for it" in message
    assert "after merging it would be cat" in message
