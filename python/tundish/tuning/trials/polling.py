"""Sends a request to a trial's process and polls for the reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .trial import TrialProcess, ready


def call_and_poll(
    process: TrialProcess,
    on_wait: Callable[[], None],
    timeout_s: float,
    function: str,
    **arguments: Any,
) -> Any:
    """Returns the result of `function` ("module:name") in the process. Calls `on_wait` every 0.1 s."""
    process.send("call", timeout_s, function=function, **arguments)
    while not ready({"": process}, 0.1):
        on_wait()
    return process.receive()
