"""docs/resume.md explains every field of a plan, and every operation."""

import re

import tundish
from tundish import transforms as T

from tests.helpers.program import ROOT

PAGE = (ROOT / "docs" / "resume.md").read_text().split("## What a plan holds")[1].split("\n## ")[0]
EXPLAINED = set(re.findall(r"`([^`]+)`", "".join(re.findall(r"^\|(.*?)\|.*$", PAGE, re.M))))
EXPLAINED |= set(re.findall(r"`(\w+)`", PAGE))


def keys_of(value):
    """Returns the keys of all nested objects."""
    if isinstance(value, dict):
        return set(value) | {key for one in value.values() for key in keys_of(one)}
    return {key for one in value for key in keys_of(one)} if isinstance(value, list) else set()


def test_every_operation_is_explained():
    """Compares the reference with the header from which it is generated."""
    page = (ROOT / "docs" / "reference.md").read_text().split("### Operations of a plan")[1]
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", page.split("\n## ")[0], re.M))
    header = (ROOT / "src/augment/pixels/pixel_step.h").read_text()
    assert len(rows) == int(re.search(r"kPixelOps = (\d+);", header)[1])
    assert rows["brightness"] == "value[0]: factor"
    assert rows["invert"] == "none"
    assert rows["elastic"].endswith("key, filter, fill")


def test_every_field_is_explained(photos):
    transforms = [
        T.RandomResizedCrop(32),
        T.RandomRotation((9, 9), expand=True, fill=7),
        T.Resize((32, 32)),
        T.ElasticTransform(sigma=1.0),
        T.RandomErasing(1),
        T.ToDtype("float32", scale=True),
        T.RandomErasing(1, value="random"),
    ]
    found = keys_of(T.plan(transforms, (60, 80)))
    for given in (
        {"transforms": [*transforms, T.CutMix(num_classes=9)]},
        {"views": [transforms] * 2},
    ):
        loader = tundish.Loader(photos.pack, 4, **given)
        found |= keys_of(loader.replay(loader.state_dict()).plans)
    assert {"erasures", "mix", "box", "views", "window", "fill", "op", "replaces"} <= found
    assert [key for key in sorted(found) if key not in EXPLAINED] == []
