"""Gradients of k batches are summed; the loss is a mean of one."""

from __future__ import annotations

from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.accumulation import accumulations, is_scaled
from ....lint.script.values import backward_losses
from ..static_rule import Check, Found


def find(script: Script) -> Iterator[Found]:
    for found in accumulations(script):
        loss = backward_losses(found.backward)
        if loss and not is_scaled(script, found, loss[0]):
            steps = script.text(found.steps, 30)
            name = script.text(loss[0], 20)
            yield Found(
                found.backward,
                f"gradients of {steps} batches are added up, and the loss is not divided by {steps}",
                f"({name} / {steps}).backward()",
            )


CHECK = Check(
    id="accumulation-unscaled",
    title="accumulated gradients that are not scaled",
    level="error",
    why="The optimizer gets the sum of k gradients, k times that of the large batch which accumulation stands for: "
    "with SGD the learning rate is k times what is written, and clipping by norm clips k times as hard.",
    remedy="Divide the loss by the number of batches before backward().",
    before="loss.backward()\nif (i + 1) % k == 0:\n    optimizer.step()\n    optimizer.zero_grad()",
    after="(loss / k).backward()\nif (i + 1) % k == 0:\n    optimizer.step()\n    optimizer.zero_grad()",
    find=find,
    silent='where anything in the loop is divided or multiplied, where reduction="sum" is used',
)
