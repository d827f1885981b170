"""Classifies the functions of a dataset by stage of loading: read, decode, transform or other."""

from __future__ import annotations

import re
from types import FrameType
from typing import Any

from ...._process.code_origin import is_own_file
from ..facts import Kind

# Patterns for function names that are common in datasets, matched in lower case.
_NAME_PATTERNS: dict[Kind, str] = {
    "decode": r"decode|imdecode|decompress|convert|load_image|pil_loader|load_jpeg|to_rgb|loads|unpickle",
    "read": r"read|open|fetch|download|request|get_object|seek|stat|mmap|recv|query|select|urlopen|load_bytes",
    "transform": r"transform|augment|crop|resize|flip|normali[sz]e|to_tensor|totensor|tokeni[sz]e|compose|jitter|rotate|blur|pad|mixup",
}
_FILES: dict[Kind, tuple[str, ...]] = {
    "transform": ("torchvision/transforms", "albumentations", "kornia", "imgaug", "timm/data"),
    "decode": ("torchvision/io", "PIL/", "cv2", "imageio", "turbojpeg"),
    "read": ("fsspec", "boto", "requests", "urllib", "h5py", "lmdb", "s3fs", "gcsfs"),
}
# Functions that only delegate. The functions that they call become rows of the profile.
_DELEGATING = {"default_loader", "pil_loader", "accimage_loader", "__getitems__"}


def classify_call(frame: FrameType, function: Any) -> tuple[str, Kind, bool]:
    """Returns (name, stage, whether it only delegates) for a called function.

    `function` is a C function that the frame calls, or None for the frame's own function.
    """
    if function is not None:
        name = getattr(function, "__qualname__", None) or repr(function)
        name = name.replace("_VariableFunctionsClass.", "torch.")
        module = getattr(function, "__module__", None) or ""
        return name, _kind(name, module), False
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)  # needs Python 3.11
    name = re.sub(r"\.<locals>\.<\w+>$", "", name)  # use the function around a comprehension
    owner = frame.f_locals.get("self")
    simple = code.co_name
    if is_own_file(code.co_filename):  # the doctor's hook around a module's call
        return name, "other", True
    comprehension = simple.startswith("<") and name.endswith("__getitems__")
    if simple in _DELEGATING or comprehension or (simple == "__getitem__" and owner is not None):
        return name, "other", True
    is_call = simple in ("__call__", "forward", "_call_impl", "_wrapped_call_impl")
    if is_call and type(owner).__name__ == "Compose":
        return name, "transform", True
    if is_call and owner is not None:
        return type(owner).__name__, "transform", False
    return name, _kind(name, code.co_filename), False


def _kind(name: str, file: str) -> Kind:
    for kind, places in _FILES.items():
        if any(place in file for place in places):
            return kind
    low = name.lower()
    for kind, pattern in _NAME_PATTERNS.items():
        if re.search(pattern, low):
            return kind
    return "other"
