"""T.to_json() and T.from_json(): a list of transforms as a file."""

import json

import pytest
import torch
from torchvision.transforms import InterpolationMode
from tundish import transforms as T

RECIPE = [
    T.RandomResizedCrop(32, scale=(0.2, 1.0), interpolation=InterpolationMode.BICUBIC),
    T.RandomApply([T.ColorJitter(0.4), T.RandomOrder([T.Grayscale(3), T.RandomInvert()])], p=0.8),
    T.ToDtype(torch.float32, scale=True),
    T.Normalize(),
    T.RandomErasing(value="random"),
]


def test_a_list_survives_json():
    text = T.to_json(RECIPE)
    again = T.from_json(text)
    assert T.to_json(again) == text
    assert [type(one) for one in again] == [type(one) for one in RECIPE]
    assert T.plan(again, (50, 60), sample=3) == T.plan(RECIPE, (50, 60), sample=3)
    assert T.from_json("[]") == []


def test_lists_of_views_survive_json():
    views = [RECIPE, [T.CenterCrop(8)]]
    again = T.from_json(T.to_json(views))
    assert [[type(one) for one in view] for view in again] == [
        [type(one) for one in view] for view in views
    ]
    assert T.to_json(again) == T.to_json(views)
    assert json.loads(T.to_json(views)) == [json.loads(T.to_json(view)) for view in views]
    with pytest.raises(TypeError, match="one list per view"):
        T.to_json([RECIPE, T.CenterCrop(8)])


def test_the_text_is_readable_json():
    listed = json.loads(T.to_json([T.Resize(9)]))
    fields = {"size": 9, "interpolation": "bilinear", "max_size": None, "draft": False}
    assert listed == [{"name": "Resize", **fields}]
    assert len(T.to_json(RECIPE).splitlines()) > 10


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "JSON array"),
        ("[3]", "is written as"),
        ('[{"name": "Lambda"}]', "no transform Lambda: a function cannot run"),
        ('[{"name": "Resize", "size": 3, "sise": 3}]', "no argument 'sise': did you mean size?"),
        ('[{"name": "resize"}]', "no transform resize: did you mean Resize?"),
        ('[{"name": "ColourJitter"}]', "no transform ColourJitter: did you mean ColorJitter?"),
        ('[[{"name": "Resiz", "size": 3}]]', "did you mean Resize?"),
        ('[{"name": "Resize"}]', "size"),
        ("[", "Expecting"),
    ],
)
def test_invalid_text_is_refused_with_the_reason(text, why):
    with pytest.raises(ValueError, match=why):
        T.from_json(text)
