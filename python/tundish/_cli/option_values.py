"""Converters for option values. Each function returns a converter for `Arguments.option()`."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
Converter = Callable[[str], Value]
LEAST_MEMORY = 2**20


def whole_number(least: int, most: int) -> Converter[int]:
    def convert(text: str) -> int:
        digits = text.removeprefix("-")
        is_number = digits.isascii() and digits.isdigit() and len(digits) <= 20
        if not (is_number and least <= int(text) <= most):
            raise ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text)

    return convert


def positive_number() -> Converter[float]:
    def convert(text: str) -> float:
        value = _finite_number(text)
        if value is None or value <= 0:
            raise ArgumentTypeError(f"{text!r} is not a number above 0")
        return value

    return convert


def seconds() -> Converter[float]:
    def convert(text: str) -> float:
        value = _finite_number(text)
        if value is None or value < 0:
            raise ArgumentTypeError(f"{text!r} is not a number of seconds")
        return value

    return convert


def memory_size(parse: Converter[int]) -> Converter[int]:
    """Accepts sizes such as "40GiB". Refuses "40" (bytes), because other programs read it as GB.

    `parse` raises ValueError if the string is not a size.
    """

    def convert(text: str) -> int:
        try:
            size = parse(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not a size such as 40GiB") from None
        if size < LEAST_MEMORY:
            raise ArgumentTypeError(f"{text!r} is {size} bytes; give a unit, such as 40GiB")
        return size

    return convert


def percentage(most: float = 1000.0) -> Converter[float]:
    """Accepts numbers with or without a percent sign."""

    def convert(text: str) -> float:
        value = _finite_number(text.removesuffix("%"))
        if value is None or not 0 <= value <= most:
            raise ArgumentTypeError(f"{text!r} is not a percentage from 0 to {most:g}")
        return value

    return convert


def name_list(noun: str) -> Converter[list[str]]:
    """Splits a comma-separated list of names. The error message uses `noun` for what is named."""

    def convert(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        if not names:
            raise ArgumentTypeError(f"{text!r} names no {noun}")
        return names

    return convert


def choice(*known: str) -> Converter[str]:
    def convert(text: str) -> str:
        if text not in known:
            raise ArgumentTypeError(f"{text!r} is not one of {', '.join(known)}")
        return text

    return convert


def _finite_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
