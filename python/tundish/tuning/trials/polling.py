"""A question to a trial's process while a clock runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .trial import TrialProcess, ready


def ask_and_wait(
    process: TrialProcess,
    on_wait: Callable[[], None],
    timeout_s: float,
    function: str,
    **words: Any,
) -> Any:
    """What `function` of "module:name" returns there; `on_wait` is called ten times per second until then."""
    process.send("call", timeout_s, function=function, **words)
    while not ready({"": process}, 0.1):
        on_wait()
    return process.receive()
