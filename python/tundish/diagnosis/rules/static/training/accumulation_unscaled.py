"""Detects gradient accumulation over k batches in which the loss is not divided by k."""

from __future__ import annotations

from collections.abc import Iterator

from ....script import Script
from ....script.accumulation import accumulations, is_scaled
from ....script.values import backward_losses
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    for found in accumulations(script):
        loss = backward_losses(found.backward)
        if loss and not is_scaled(script, found, loss[0]):
            steps = script.text(found.steps, 30)
            name = script.text(loss[0], 20)
            yield Occurrence(
                found.backward,
                f"gradients of {steps} batches are accumulated, but the loss is not divided by {steps}",
                f"({name} / {steps}).backward()",
            )


RULE = StaticRule(
    id="accumulation-unscaled",
    title="accumulated gradients that are not scaled",
    level="error",
    reason="The optimizer gets the sum of k gradients, which is k times the gradient of the equivalent large batch: "
    "with SGD the learning rate is effectively k times as high, and clipping by norm clips k times as hard.",
    fix="Divide the loss by the number of batches before backward().",
    before="loss.backward()\nif (i + 1) % k == 0:\n    optimizer.step()\n    optimizer.zero_grad()",
    after="(loss / k).backward()\nif (i + 1) % k == 0:\n    optimizer.step()\n    optimizer.zero_grad()",
    find=find,
    silent="if anything in the loop, or in the function or class that computes the loss, is divided or multiplied; "
    'if reduction="sum" or a gradient hook is used; if the loss comes from an unknown function',
)
