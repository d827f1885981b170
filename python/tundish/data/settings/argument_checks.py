"""Checks and converts the arguments of Loader and Dataset."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NoReturn

from ..._c.close_name import close_name

# Arguments of torch's DataLoader that the Loader lacks, and what to use instead.
_NOT_NEEDED = {
    "num_workers": "the engine uses threads instead of processes: threads=N",
    "collate_fn": "batches are assembled by the engine; as_dict=True gives all fields, batch_transform=f changes each batch",
    "worker_init_fn": "there are no worker processes; randomness is a function of the seed",
    "sampler": "orders are data: order=tundish.Weighted(...), Subset, Balanced, Repeated, Mixture",
    "batch_sampler": "the order is a function of seed and epoch: shuffle=True, seed=N",
    "generator": "randomness is a function of the seed: seed=N",
    "persistent_workers": "the threads run as long as the loader exists",
    "prefetch_factor": "batches ahead of the trainer: prefetch=N",
    "multiprocessing_context": "there are no worker processes",
    "stage": "it is now called copy_to",
}


def refuse_unknown(name: str, known: Iterable[str]) -> NoReturn:
    """Raises TypeError for an unknown argument, with a suggestion. `known` are the valid names."""
    close = close_name(name, known)
    why = f"did you mean {close}?" if close else "see help(tundish.Loader)"
    why = _NOT_NEEDED.get(name, why)
    raise TypeError(f"Loader has no argument {name!r}: {why}")


def whole(value: Any, name: str, least: int | None = None, most: int | None = None) -> int:
    limits = "" if least is None else f" of at least {least}"
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
        if most is not None and number > most:
            limits = f" of at most {most}"
        elif least is None or number >= least:
            return number
    except TypeError:
        pass
    raise ValueError(f"{name} must be a whole number{limits}, not {value!r}")


def mode(value: Any) -> str:
    """Checks and returns the argument `mode` of a Dataset. For a Loader, the engine checks it."""
    if value not in ("RGB", "L", "I;16", "RGBA"):
        raise ValueError(f"mode must be one of RGB, L, I;16, RGBA, not {value!r}")
    return str(value)


def flag(value: Any, name: str) -> None:
    """Refuses texts such as "false", which are true."""
    if isinstance(value, str | bytes):
        raise ValueError(f"{name} must be True or False, not {value!r}")


def positive(value: Any, name: str) -> int:
    return whole(value, name, least=1, most=2**31 - 1)


def milliseconds(value: Any, name: str) -> int:
    """Converts seconds to milliseconds. None becomes 0."""
    if value is None:
        return 0
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number <= 2**22:
        raise ValueError(f"{name} must be a number of seconds, or None, not {value!r}")
    return max(1, round(1000 * number))


def labels(values: Any, count: int) -> Any:
    """Converts the argument `labels` to an array: int64 of shape (count,), or float32 of shape (count, K)."""
    import numpy as np

    array = np.ascontiguousarray(np.asarray(values))
    vectors = array.ndim == 2 and array.dtype.kind in "iufb" and array.shape[1] > 0
    if not vectors and (array.ndim != 1 or array.dtype.kind not in "iu"):
        raise ValueError(
            "labels must be a flat sequence of integers, one per sample, or a 2-D array of numbers, "
            "one row per sample"
        )
    if len(array) != count:
        raise ValueError(f"{len(array)} labels for {count} samples")
    if not vectors:
        if array.max(initial=0) >= 2**63:
            raise ValueError(f"labels must be below 2**63, not {array.max()}")
        return array.astype(np.int64)
    array = array.astype(np.float32)
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"labels[{row}, {column}] is {array[row, column]}, not a finite float32")
    return array


def fitting_classes(names: list[str], labels: Any) -> list[str]:
    """Returns the stored class names, or an empty list if `labels` replace the stored labels and do not fit."""
    if labels is None or not names:
        return names
    import numpy as np

    array = np.asarray(labels)
    fits = len(names) == array.shape[1] if array.ndim == 2 else array.max(initial=-1) < len(names)
    return names if fits else []


def backend(name: str) -> tuple[str, Any, Any]:
    """Returns the backend's name and its functions that convert a Tensor and a NumPy array."""
    if name not in ("auto", "torch", "numpy"):
        raise ValueError(f"backend must be auto, torch or numpy, not {name!r}")
    if name != "numpy":
        try:
            import torch

            return "torch", torch.from_dlpack, torch.from_numpy
        except ImportError:
            if name == "torch":
                raise
    import numpy as np

    return "numpy", np.asarray, lambda array: array
