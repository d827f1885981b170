"""The common structure of all samples of a dataset, and the encoding of a sample as a message."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .images import WrongValue
from .sample_fields import LABEL, MAX_SAMPLE_BYTES, Field, encode_value
from .sample_values import is_file


def shape_of(sample: Any) -> list[str] | int | None:
    """Returns names for a dict or named tuple, the length of a tuple or list, or None for a single value."""
    if isinstance(sample, Mapping) and not is_file(sample):
        return [str(name) for name in sample]
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return [str(name) for name in sample._fields]
    return len(sample) if isinstance(sample, tuple | list) else None


def values_of(sample: Any) -> list[Any]:
    if isinstance(sample, Mapping) and not is_file(sample):
        return list(sample.values())
    return list(sample) if isinstance(sample, tuple | list) else [sample]


@dataclass(frozen=True)
class Layout:
    """The fields, in the order of the values of the first sample."""

    fields: tuple[Field, ...]
    names: tuple[str, ...] | None  # keys if samples are dicts; None for tuples and single values
    single: bool  # whether a sample is a single value

    def encode(self, sample: Any) -> bytes:
        """Encodes a sample. Raises WrongValue, with the expected and the actual type, if a value does not match."""
        parts: list[bytes] = []
        for field, value in zip(self.fields, self._values(sample), strict=True):
            try:
                data = encode_value(field, value)
            except WrongValue as error:
                raise WrongValue(f"field '{field.name}': {error}") from None
            if field.type != LABEL:
                parts.append(struct.pack("<Q", len(data)))
            parts.append(data)
        if sum(map(len, parts)) > MAX_SAMPLE_BYTES:
            raise WrongValue(f"more than {MAX_SAMPLE_BYTES:,} bytes")
        return b"".join(parts)

    def _values(self, sample: Any) -> list[Any]:
        if self.single:
            return [sample]
        shape = shape_of(sample)
        if self.names is None:
            if shape != len(self.fields):
                got = f"{shape}" if isinstance(shape, int) else type(sample).__name__
                raise WrongValue(f"expected a tuple of {len(self.fields)} values, got {got}")
            return values_of(sample)
        if not isinstance(shape, list) or set(shape) != set(self.names):
            got = ", ".join(shape) if isinstance(shape, list) else type(sample).__name__
            raise WrongValue(f"expected the fields {', '.join(self.names)}, got {got}")
        by_name = dict(zip(shape, values_of(sample), strict=True))
        return [by_name[name] for name in self.names]
