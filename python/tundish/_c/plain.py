"""Converts argument values to JSON values. The engine checks the result."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """Converts torch.float16 to "float16", InterpolationMode.BILINEAR to "bilinear", arrays and tuples to lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)  # JSON has no infinity or NaN
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(getattr(value, "value", None), str):  # an enumeration
        return value.value
    if hasattr(value, "tolist"):  # a number or array from NumPy or torch
        return plain(value.tolist())
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    return str(value).removeprefix("torch.").removesuffix("_format")
