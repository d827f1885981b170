"""Classes and options in Python match the engine's descriptions, including the defaults."""

import dataclasses
import json

import pytest
import tundish
from tundish import transforms
from tundish._c.library import lib
from tundish._c.plain import plain
from tundish.data.settings import loader_options as options

REFERENCE = json.loads(lib.tundish_reference())
TRANSFORMS = {one["name"]: one for one in REFERENCE["transforms"]}


def test_every_transform_of_the_engine_is_a_class_and_vice_versa():
    classes = {one.__name__ for one in transforms.Transform.__subclasses__()}
    assert classes == set(TRANSFORMS)
    assert len(classes) >= 8


@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_a_transform_has_the_arguments_and_defaults_that_the_engine_describes(name):
    described = {field["name"]: field for field in TRANSFORMS[name]["fields"]}
    given = {one.name: one for one in dataclasses.fields(getattr(transforms, name))}
    given.pop("antialias", None)  # for torchvision's API; the engine always antialiases
    assert list(given) == list(described)
    for argument, field in given.items():
        assert described[argument]["about"]
        if field.default is dataclasses.MISSING:
            continue
        default = described[argument]["default"]
        if isinstance(default, list) and not isinstance(field.default, tuple):
            # Python has one number for all sides or channels, or None for zeros.
            assert [field.default or 0] * len(default) == default, argument
        else:
            assert plain(field.default) == default, argument


def test_the_options_that_the_engine_shares_have_the_same_defaults():
    described = {one["name"]: one["default"] for one in REFERENCE["options"]["fields"]}
    shared = 0
    for field in dataclasses.fields(options.LoaderOptions):
        if field.name not in described:
            continue
        shared += 1
        if field.name in ("rank", "world_size", "memory", "cache"):  # Python resolves them first
            assert field.default is None
        elif field.name in ("threads", "prefetch"):  # the engine gets a number and tune_threads
            assert field.default == "auto"
        else:
            assert plain(field.default) == described[field.name], field.name
    assert shared >= 18


def test_every_option_is_documented_and_help_lists_it():
    for field in dataclasses.fields(options.LoaderOptions):
        assert field.metadata["about"]
        assert f"    {field.name}" in tundish.Loader.__doc__


def test_every_statistic_of_the_engine_is_documented_and_given(photos):
    with tundish.Loader(photos.pack) as loader:
        stats = loader.stats()
    for field in REFERENCE["stats"]["fields"]:
        assert field["about"]
        assert f"data/{field['name']}" in stats
