"""Reads a case with Tundish and compares every value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import tundish

from tests.siege.originals.case import Case


class Difference(Exception):
    """Tundish and the original library disagree."""


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bytes | list):
        return value
    if "bfloat16" in str(value.dtype):
        import torch

        return value.view(torch.uint16).numpy()
    return np.asarray(value)


def _batches(source: Any, case: Case) -> tuple[dict[str, list[Any]], list[str]]:
    """Returns the values of every field, one entry per sample, and the warnings of opening."""
    found: dict[str, list[Any]] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        options = {"threads": 1, "on_error": "fail", **case.loader}
        with tundish.Loader(source, 1, shuffle=False, as_dict=True, **options) as loader:
            for batch in loader:
                for name, value in batch.items():
                    found.setdefault(name, []).append(_plain(value[0] if len(value) else None))
    return found, [str(one.message) for one in caught]


def _same(got: Any, want: Any) -> bool:
    if isinstance(want, str | bytes):
        return bool(got == want)
    if got is None or isinstance(got, str | bytes | list):
        return False
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.tobytes() == want.tobytes():
        return True
    # A NaN loses its payload when it is converted to a double.
    return got.dtype.kind == "f" and bool(np.array_equal(got, want, equal_nan=True))


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.reshape(-1)[:8].tolist()}"
    return repr(value)[:200]


def _compare_field(name: str, got: list[Any], want: Any) -> None:
    if len(got) != len(want):
        raise Difference(f"{name}: {len(got)} samples instead of {len(want)}")
    for number, (one, other) in enumerate(zip(got, want, strict=True)):
        if not _same(one, other):
            raise Difference(f"{name}[{number}]: got {_shown(one)}, want {_shown(other)}")


def check(case: Case) -> list[str]:
    """Compares a case; returns the documented refusals that occurred. Raises Difference."""
    source = tundish.DataSource(case.path, **case.options) if case.options else str(case.path)
    try:
        found, said = _batches(source, case)
    except (tundish.Error, tundish.SampleError, tundish.ArgumentError) as error:
        reason = case.documented(str(error))
        if reason is None:
            raise Difference(f"refused: {' '.join(str(error).split())}") from None
        return [reason]
    met: list[str] = []
    if list(case.fields) == ["?"]:  # a single array, whose name is not compared
        case.fields = {next(iter(found)): case.fields["?"]}
    for name, want in case.fields.items():
        if name in found:
            _compare_field(name, found[name], want)
        elif name in case.omitted:
            met.append(f"field left out: {case.omitted[name]}")
        else:
            raise Difference(f"{name} is missing; there are {sorted(found)}; {said}")
    extra = set(found) - set(case.fields)
    if extra - {"label"} or ("label" in extra and any(int(one) != -1 for one in found["label"])):
        raise Difference(f"fields that the original does not have: {sorted(extra)}")
    _compare_names(source, case)
    return met


def _compare_names(source: Any, case: Case) -> None:
    if case.classes is None and case.keys is None:
        return
    count = max(1, len(case.keys or ""))
    steps = [tundish.transforms.Resize((4, 4))]
    with tundish.Loader(source, count, shuffle=False, threads=1, transforms=steps) as loader:
        if case.classes is not None and list(loader.classes) != case.classes:
            raise Difference(f"classes: got {loader.classes}, want {case.classes}")
        if case.keys is not None:
            got = [sample["key"] for sample in loader.replay(loader.state_dict()).plans]
            if got != case.keys:
                raise Difference(f"keys: got {got}, want {case.keys}")
