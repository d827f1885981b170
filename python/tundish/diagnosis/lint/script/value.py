"""What one variable holds, as far as the text of a script tells."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """kind: tensor, batch, model, optimizer, loader, criterion, array, number, other, or "".
    device: cpu, gpu, or "" when it is not known."""

    kind: str = ""
    device: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind)


UNKNOWN = Value()
NUMBER = Value("number")


def merge(values: list[Value]) -> Value:
    """What all agree on."""
    if not values or any(one.kind != values[0].kind for one in values):
        return UNKNOWN
    same = all(one.device == values[0].device for one in values)
    return values[0] if same else Value(values[0].kind)
