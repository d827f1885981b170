"""Support for Hugging Face's library `datasets`. Recognizes datasets by their attributes, without an import."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from .sample_values import file_bytes, is_file

_ORIENTATION = 0x0112  # EXIF tag


def is_hugging_face(dataset: Any) -> bool:
    return hasattr(dataset, "cast_column") and hasattr(dataset, "features")


def without_decoding(dataset: Any) -> Any:
    """Returns the dataset with images as {"bytes", "path"}, so that images keep the bytes of their files.

    A dataset with a format or transform is returned unchanged, because it yields what the user wants to pack. A
    column with a mode other than RGB, such as Image(mode="L"), stays decoded.
    """
    features = dataset.features
    if not isinstance(features, Mapping) or _has_format(dataset):
        return dataset
    for name, feature in features.items():
        is_image = type(feature).__name__ == "Image" and getattr(feature, "decode", False)
        if is_image and getattr(feature, "mode", None) in (None, "RGB"):
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


def warn_of_turned_images(samples: Iterable[Any]) -> None:
    """Warns if EXIF data rotate an image: `datasets` rotates such images, but a pack keeps their bytes."""
    files = [file for sample in samples if isinstance(sample, Mapping) for file in sample.values()]
    if not any(_orientation(file) in range(2, 9) for file in files if is_file(file)):
        return
    warnings.warn(
        "some images are turned by their EXIF data. `datasets` shows them upright, a Loader as they are stored: "
        "give Loader(..., exif_orientation=True)",
        stacklevel=5,
    )


def _orientation(file: dict[str, Any]) -> Any:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(file_bytes(file))) as image:
            return image.getexif().get(_ORIENTATION)
    except Exception:  # the file is damaged; the encoding reports it later
        return None
