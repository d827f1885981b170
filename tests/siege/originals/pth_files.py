"""Random files written by torch.save."""

from __future__ import annotations

import random
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.siege.originals.case import Case
from tests.siege.originals.values import columns, expected, labels, loader_options, swapped, values

REPEATED = (r"no elements of their own", "view that repeats one sample")
NO_IMAGE = (r"its samples have no image", "the only array is a view that is left out")


def _repeats(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.ndim > 1 and value.stride(0) == 0


def make(draw: random.Random, folder: Path) -> Case:
    path = folder / draw.choice(("data.pth", "data.pt"))
    return draw.choice((_dict, _dict, _dict, _pair, _list, _tensor))(draw, path)


def _save(draw: random.Random, value: Any, path: Path) -> Any:
    options: dict[str, Any] = {"_use_new_zipfile_serialization": draw.random() < 0.6}
    options["pickle_protocol"] = draw.choice((2, 2, 3, 4, 5))
    torch.save(value, path, **options)
    try:
        return torch.load(path, weights_only=False)
    except Exception:  # the legacy form cannot hold every view
        torch.save(value, path)
        return torch.load(path, weights_only=False)


def _view(draw: random.Random, array: np.ndarray) -> torch.Tensor:
    """Returns a tensor of these values, sometimes as a view with another memory order."""
    tensor = torch.from_numpy(array)
    kind = draw.randrange(9)
    if kind == 0 and tensor.ndim > 1:
        axes = list(range(tensor.ndim))
        draw.shuffle(axes)
        inverse = [axes.index(one) for one in range(tensor.ndim)]
        return tensor.permute(axes).contiguous().permute(inverse)
    if kind == 1:
        return torch.repeat_interleave(tensor, 2, dim=0)[::2]
    if kind == 2 and tensor.ndim > 1:
        return torch.cat([tensor, tensor], 1)[:, : tensor.shape[1]]
    if kind == 3 and tensor.ndim > 1:
        return tensor[:1].expand(len(tensor), *tensor.shape[1:])
    if kind == 4 and tensor.dtype in (torch.float32, torch.float64):
        return torch.conj(torch.complex(tensor, tensor)).imag  # negative bit
    if kind == 5 and tensor.dtype.is_floating_point:
        return torch.nn.Parameter(tensor)
    if kind == 6:
        return torch.cat([torch.zeros_like(tensor[:1]), tensor])[1:]
    return tensor


def _column(draw: random.Random, name: str, array: np.ndarray) -> Any:
    kind = draw.random()
    if kind < 0.15:
        stored = array.astype(swapped(draw, array.dtype))
        return np.asfortranarray(stored) if draw.random() < 0.5 else stored
    if kind < 0.2 and array.ndim == 1 and array.dtype.kind in "iu" and array.dtype != np.uint64:
        return array.tolist()
    return _view(draw, array)


def _as_numpy(value: Any) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg().contiguous().numpy()
    return np.asarray(value)


def _dict(draw: random.Random, path: Path) -> Case:
    arrays = columns(draw)
    value: Any = {name: _column(draw, name, array) for name, array in arrays.items()}
    shared = [
        one for name, one in value.items() if name != "image" and isinstance(one, torch.Tensor)
    ]
    if (
        shared
        and draw.random() < 0.2
        and shared[0][:1].numel() > 1
        and shared[0].dtype != torch.uint8
    ):
        value["same"] = shared[0]  # two tensors share one storage
    if "image" in arrays and draw.random() < 0.2:
        value |= {"note": "text", "number": 3, "none": None, "nested": {"a": 1}}
    if draw.random() < 0.3:
        value = OrderedDict(value)
    about = ", ".join(f"{name} {getattr(one, 'dtype', 'list')}" for name, one in value.items())
    read = _save(draw, value, path)
    found = {name: _as_numpy(read[name]) for name in (*arrays, "same") if name in read}
    case = Case(
        path, expected(found), loader=loader_options(arrays), about=about, refusals=[REPEATED]
    )
    for name, one in value.items():
        if _repeats(one):
            case.omitted[name] = "view that repeats one sample"
            case.refusals.append(NO_IMAGE)
    if "label" in found and found["label"].min() < -1:
        case.refusals.append((r"TND-313", "label below -1"))
    for name, one in value.items():
        if isinstance(one, torch.Tensor) and (one.is_neg() or one.is_conj()):
            case.refusals.append((r"TND-315.*(neg|conj)", "view with a negative bit"))
            case.omitted[name] = "view with a negative bit"
            case.refusals.append(NO_IMAGE)
    return case


def _image(draw: random.Random, count: int) -> np.ndarray:
    return values(draw, "u1", (count, *draw.choice(((5, 6, 3), (3, 5, 6), (7, 6)))))


def _pair(draw: random.Random, path: Path) -> Case:
    count = draw.choice((2, 3, 6))
    images, numbers = _image(draw, count), labels(draw, count, "i8")
    value = (_view(draw, images), _view(draw, numbers))
    refusals = [REPEATED, NO_IMAGE] if _repeats(value[0]) else [REPEATED]
    read = _save(draw, value if draw.random() < 0.7 else list(value), path)
    found = {"image": _as_numpy(read[0]), "label": _as_numpy(read[1])}
    return Case(path, expected(found), about=f"pair {images.shape}", refusals=refusals)


def _list(draw: random.Random, path: Path) -> Case:
    count = draw.choice((2, 3, 6))
    images, numbers = _image(draw, count), labels(draw, count, "i8")
    tensors = [_view(draw, one) for one in images]
    kind = draw.randrange(3)
    value: list[Any] = list(tensors)
    if kind == 1:
        value = [(one, int(number)) for one, number in zip(tensors, numbers)]
    elif kind == 2:
        value = [{"image": one, "label": int(number)} for one, number in zip(tensors, numbers)]
    _save(draw, value, path)
    stacked = np.stack([_as_numpy(one) for one in tensors])
    refusals = [(r"TND-315.*shape, type or order", "list of tensors of different strides")]
    refusals += [(r"no elements of their own", "view that repeats one sample")]
    found = {"image": stacked} if kind == 0 else {"image": stacked, "label": numbers}
    return Case(
        path, expected(found), about=f"list of kind {kind} {images.shape}", refusals=refusals
    )


def _tensor(draw: random.Random, path: Path) -> Case:
    images = _image(draw, draw.choice((1, 4)))
    read = _save(draw, _view(draw, images), path)
    return Case(
        path,
        expected({"image": _as_numpy(read)}),
        about=f"tensor {images.shape}",
        refusals=[REPEATED],
    )
