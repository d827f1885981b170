"""timm's ImageDataset over a folder or a Hugging Face dataset, as timm.data.create_dataset() returns it."""

from __future__ import annotations

import sys
from typing import Any

from ..changes.dataset_facts import Identity, contents
from ..reasons import not_translated
from ..where_defined import where_defined
from .hugging_face_datasets import part_of_reader, settings_of
from .parts import Files, Ranges, check_overrides, files_of


def part_of(dataset: Any) -> Files | Ranges | None:
    """Returns the samples of a timm dataset, or None for any other dataset."""
    kind = getattr(sys.modules.get("timm.data.dataset"), "ImageDataset", None)
    if kind is None or not isinstance(dataset, kind):
        return None
    check_overrides(dataset, kind)
    reader = dataset.reader
    plain = dataset.input_img_mode == "RGB" and not dataset.load_bytes
    if not plain or getattr(dataset, "additional_features", None) is not None:
        raise not_translated(
            "ImageDataset with another image mode, bytes or further features", "use RGB images"
        )
    if type(reader).__name__ == "ReaderHfds" and not reader.remap_class:
        return part_of_reader(reader.dataset, reader.image_key, reader.label_key)
    if type(reader).__name__ != "ReaderImageFolder":
        raise not_translated(
            f"{type(reader).__name__} does not read a folder of images",
            "use tundish.pack and tundish.Loader (docs/sources.md)",
            where_defined(reader),
        )
    return files_of(f"ImageDataset({str(reader.root)!r})", reader.root, reader.samples)


def facts_of(dataset: Any) -> dict[str, Any] | None:
    """Returns the facts that determine the samples of a timm dataset, or None for any other dataset."""
    kind = getattr(sys.modules.get("timm.data.dataset"), "ImageDataset", None)
    if kind is None or not isinstance(dataset, kind):
        return None
    reader = dataset.reader
    out: dict[str, Any] = {"reader": Identity(reader)}
    if hasattr(reader, "samples"):
        out["reader.samples"] = contents(reader.samples)
    else:
        out["reader.dataset"] = settings_of(reader.dataset)
        out["reader.columns"] = (reader.image_key, reader.label_key, reader.remap_class)
    for name in ("input_img_mode", "load_bytes", "additional_features"):
        out[name] = contents(getattr(dataset, name, None))
    return out
