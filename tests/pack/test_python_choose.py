"""`tundish.pack(dataset, filter=..., samples=...)`: part of a Python dataset; existing targets."""

import pytest
import tundish

from tests.helpers.program import needs_program
from tests.helpers.python_sets import Arrays, pixels

pytestmark = needs_program


@pytest.mark.parametrize("processes", [0, 2])
def test_filters_by_label_judge_the_labels_of_the_samples(processes, tmp_path):
    def chosen(dataset, text):
        options = {"processes": processes, "force": True}
        tundish.pack(dataset, tmp_path / "a.tnd", filter=text, **options)
        return tundish.Dataset(tmp_path / "a.tnd").targets

    labels = [Arrays(20)[i][1] for i in range(20)]
    assert set(labels) == {0, 1}
    assert chosen(Arrays(20), "label=cat") == [label for label in labels if label == 0]
    assert chosen(Arrays(20), "label=dog") == [label for label in labels if label == 1]
    rows = [{"image": pixels(i), "y": i % 5, "weight": i / 2} for i in range(20)]
    assert chosen(rows, "label!=0") == [i % 5 for i in range(20) if i % 5 != 0]
    assert chosen(rows, "label>=3 and weight<5") == [i % 5 for i in range(10) if i % 5 >= 3]
    report = tundish.pack(
        [(pixels(0), i % 3) for i in range(6)],
        tmp_path / "b.tnd",
        filter="label!=1",
        duplicates="report",
    )
    pairs = [(row["key"], row["same_label"]) for row in report["chosen"]["duplicates"]]
    assert pairs == [("00000002", False), ("00000003", True), ("00000005", False)]


def test_an_iterator_cannot_be_filtered(tmp_path):
    for options in ({"filter": "label=0"}, {"samples": 2}, {"subset": "10%"}):
        with pytest.raises(tundish.ArgumentError) as caught:
            tundish.pack(((pixels(i), i) for i in range(5)), tmp_path / "a.tnd", **options)
        assert "can only be iterated: pack all of it, then choose from that pack" in str(
            caught.value
        )
        assert "tundish pack <genexpr>" not in str(caught.value)
    assert not (tmp_path / "a.tnd").exists()


def test_a_file_that_exists_is_replaced_with_force(tmp_path):
    tundish.pack(Arrays(3), tmp_path / "a.tnd")
    with pytest.raises(tundish.Error, match=r"TND-506.*\n.*in Python force=True"):
        tundish.pack(Arrays(3), tmp_path / "a.tnd")
