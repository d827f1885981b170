"""Encodes the image of a sample to bytes that the engine decodes to the same pixels."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from .sample_values import (
    file_bytes,
    has_masked_elements,
    is_array,
    is_bytes,
    is_file,
    is_loaded,
    is_pil,
    npy_bytes,
    to_array,
    type_text,
)

# Allowed numbers of channels in arrays of shape (H, W, C) and (C, H, W).
_CHANNELS = (1, 3, 4)
# Pillow formats whose files the engine decodes. An MPO file is a JPEG followed by more images.
_DECODED_FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "BMP", "DIB", "GIF")
# Pillow modes that a PNG stores without loss. L and RGB are not listed, because they are stored as arrays.
_PNG_MODES = ("1", "P", "LA", "RGBA", "I;16")


class WrongValue(Exception):
    """A value does not match its field. The text says which type was expected."""


def image_axes(value: Any) -> str:
    """Returns "HW", "HWC" or "CHW" if the array may be an image, otherwise "".

    If both HWC and CHW fit, a tensor is CHW, as in torchvision, and a NumPy array is HWC, as with Pillow.
    """
    shape = tuple(value.shape)
    if str(value.dtype).removeprefix("torch.") != "uint8" or 0 in shape:
        return ""
    if len(shape) == 2:
        return "HW"
    if len(shape) != 3:
        return ""
    fits = [axes for axes, c in (("HWC", shape[2]), ("CHW", shape[0])) if c in _CHANNELS]
    if len(fits) == 2:
        return "HWC" if isinstance(value, np.ndarray) else "CHW"
    return fits[0] if fits else ""


def image_bytes(value: Any, axes: str) -> bytes:
    """Returns the bytes of an image. `axes` is the layout of the field's array in the first sample."""
    if is_bytes(value):
        return bytes(value)
    if is_file(value):
        return file_bytes(value)
    if is_pil(value):
        return unchanged_file(value) or _pil_bytes(value)
    if is_array(value):
        if len(value.shape) == len(axes) and image_axes(value) and not has_masked_elements(value):
            array = to_array(value)
            assert array is not None
            data = array.data
            if axes == "CHW":
                data = np.ascontiguousarray(data.transpose(1, 2, 0))
            if axes == "HW" or data.shape[2] in _CHANNELS:
                return _pixels(data)
        expected = f"an image, uint8 ({', '.join(axes)})" if axes else "an image"
        raise WrongValue(f"expected {expected}, got {type_text(value)}")
    raise WrongValue(f"expected an image, got {type_text(value)}")


def _pixels(data: Any) -> bytes:
    """Returns the pixels as a .npy file, or as a PNG with four channels, which .npy images cannot have."""
    if data.ndim == 3 and data.shape[2] == 4:
        from PIL import Image

        return _png(Image.fromarray(data))
    return npy_bytes(data)


def _pil_bytes(image: Any) -> bytes:
    has_transparent_color = "transparency" in image.info  # which a PNG keeps
    if image.mode in ("L", "RGB") and not has_transparent_color:
        return npy_bytes(np.asarray(image))
    if image.mode in ("L", "RGB", *_PNG_MODES):
        return _png(image)
    raise WrongValue(
        f"an image of mode {image.mode} cannot be stored without loss; "
        "return image.convert('RGB'), or a NumPy array as another field"
    )


def _png(image: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()


def unchanged_file(image: Any) -> bytes | None:
    """Returns the bytes of the file that the image was opened from, if its pixels have not been accessed.

    Pillow reads pixels on first use and keeps the file open until then. Image.draft() and Image.seek() change what
    will be read. A comparison with the header of the file shows whether they were called.
    """
    from PIL import Image, ImageFile

    if not isinstance(image, ImageFile.ImageFile) or is_loaded(image):
        return None
    file = getattr(image, "fp", None)
    if file is None or getattr(file, "closed", False) or image.format not in _DECODED_FORMATS:
        return None
    try:
        place = file.tell()
        file.seek(0)
        data = bytes(file.read())
        file.seek(place)
        with Image.open(io.BytesIO(data)) as again:
            same = (again.format, again.size, again.mode) == (image.format, image.size, image.mode)
            same = same and getattr(again, "tell", int)() == getattr(image, "tell", int)()
    except (OSError, ValueError):
        return None
    return data if same else None
