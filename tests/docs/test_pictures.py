"""The pictures of docs/reference.md equal the output of tools/make_pictures.py for this code."""

import io
import sys

import numpy as np
import pytest
from PIL import Image
from tundish import transforms as T

from tests.helpers.program import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import make_pictures

AGAIN = "./dev build && .venv/bin/python tools/make_pictures.py"


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


@pytest.mark.parametrize("name", make_pictures.names())
def test_committed_pictures_equal_the_generated_pictures(name):
    stored = (make_pictures.FOLDER / f"{name}.jpg").read_bytes()
    assert np.array_equal(pixels(stored), pixels(make_pictures.coded(name))), AGAIN


@pytest.mark.parametrize("name", make_pictures.names())
def test_a_picture_shows_a_visible_change(name):
    photo = np.asarray(Image.open(make_pictures.FOLDER / "photo.png").convert("RGB"))
    draws = [make_pictures.draw(name, photo, epoch) for epoch in range(make_pictures.DRAWS)]
    assert any(one.shape != photo.shape or (one != photo).mean() > 0.005 for one in draws)


def test_every_transform_has_a_picture_unless_it_changes_numbers_only():
    without = {one.__name__ for one in T.Transform.__subclasses__()} - set(make_pictures.names())
    assert without == {"Normalize", "ToDtype"}
    files = {file.name for file in make_pictures.FOLDER.iterdir()}
    assert files == {f"{name}.jpg" for name in make_pictures.names()} | {"photo.png"}, AGAIN
    page = (ROOT / "docs" / "reference.md").read_text()
    for name in make_pictures.names():
        section = page.split(f"### {name}\n")[1].split("\n### ")[0]
        assert f"(pictures/{name}.jpg)" in section
        assert make_pictures.example(name) in section


def test_the_pictures_are_small():
    assert sum(file.stat().st_size for file in make_pictures.FOLDER.iterdir()) < 1.5e6


def test_a_new_transform_needs_no_entry_unless_an_argument_is_required(monkeypatch):
    assert make_pictures.example("RandomInvert") == "T.RandomInvert(p=1)"
    assert make_pictures.example("TrivialAugmentWide") == "T.TrivialAugmentWide()"
    monkeypatch.setattr(make_pictures, "EXAMPLES", {})
    with pytest.raises(
        ValueError, match=r"Resize has arguments without a default \(size\): give the"
    ):
        make_pictures.example("Resize")
