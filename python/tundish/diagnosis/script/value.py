"""The kind and device of a variable, as inferred from the source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """The inferred value of an expression.

    kind    tensor, batch, model, optimizer, loader, criterion, array, number, other; "" if unknown
    device  cpu or gpu; "" if unknown
    """

    kind: str = ""
    device: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind)


UNKNOWN = Value()
NUMBER = Value("number")


def merge(values: list[Value]) -> Value:
    """Returns the kind and device that all values have in common."""
    if not values or any(value.kind != values[0].kind for value in values):
        return UNKNOWN
    same = all(value.device == values[0].device for value in values)
    return values[0] if same else Value(values[0].kind)
