"""Detects anomaly detection that is left on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import is_literal
from ..static_rule import Occurrence, StaticRule

_NAMES = ("torch.autograd.set_detect_anomaly", "torch.autograd.detect_anomaly")


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.calls(*_NAMES):
        name = script.name(call.func)
        on = is_literal(call.args[0], True) if call.args else name.endswith("detect_anomaly")
        guarded = any(isinstance(ancestor, ast.If) for ancestor in script.ancestors(call))
        if on and not guarded and script.loops.backward_calls:
            yield Occurrence(
                call,
                "every operation records a traceback and every gradient is searched for NaN",
                "remove it once the NaN is found, or enable it by a --debug option",
            )


RULE = StaticRule(
    id="anomaly-detection",
    title="anomaly detection is on",
    level="warning",
    reason="Anomaly detection records a Python traceback for every operation and tests every gradient for NaN, each with a wait for the GPU. "
    "Training takes several times as long.",
    fix="Remove it, or enable it by an option.",
    before="torch.autograd.set_detect_anomaly(True)",
    after="torch.autograd.set_detect_anomaly(options.debug)",
    find=find,
    silent="behind an if, or with a variable as the argument",
)
