"""Datasets of the library `datasets`, recognized by their attributes. The library is never imported here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_hugging_face(dataset: Any) -> bool:
    return hasattr(dataset, "cast_column") and hasattr(dataset, "features")


def without_decoding(dataset: Any) -> Any:
    """Returns the dataset with images as {"bytes", "path"}, so that images keep the bytes of their files.

    A dataset with the user's own format or transform is returned unchanged: it yields what the user wants to pack.
    """
    features = dataset.features
    if not isinstance(features, Mapping) or _has_format(dataset):
        return dataset
    for name, feature in features.items():
        if type(feature).__name__ == "Image" and getattr(feature, "decode", False):
            dataset = dataset.cast_column(name, type(feature)(decode=False))
    return dataset


def _has_format(dataset: Any) -> bool:
    form = getattr(dataset, "format", None)
    return isinstance(form, Mapping) and form.get("type") is not None


def class_names(dataset: Any) -> dict[str, list[str]]:
    """Returns the class names of each ClassLabel column."""
    features = dataset.features
    if not isinstance(features, Mapping):
        return {}
    named = {name: getattr(feature, "names", None) for name, feature in features.items()}
    return {name: list(names) for name, names in named.items() if isinstance(names, list | tuple)}
