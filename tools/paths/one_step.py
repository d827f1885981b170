"""Makes optimizer steps, for tools/paths/record.py: python tools/paths/one_step.py

Writes the stack of Python functions above each C call of the third step to PYTHON_STACKS, as JSON lines.
"""

from __future__ import annotations

import json
import os
from typing import Any

import torch
from one_batch import file_of, python_stack
from tundish import optim
from tundish._c.library import lib
from tundish.optim._binding import engine_calls

stacks: dict[str, list[list[str]]] = {}


def watched(step: str, real: Any) -> Any:
    def call(*arguments: Any) -> Any:
        code = getattr(real, "__code__", None)  # None for a function of the engine
        own = [] if code is None else [[real.__qualname__, file_of(code)]]
        stacks.setdefault(step, python_stack() + own)
        return real(*arguments)

    return call


def main() -> None:
    torch.set_num_threads(1)  # so that the calling thread does the update
    model = torch.nn.Sequential(torch.nn.Linear(1000, 1000), torch.nn.Linear(1000, 1000))
    optimizer = optim.AdamW(model.parameters())
    for number in range(3):
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        if number == 2:  # the first steps bind tensors
            engine_calls._entries_match = watched("states", engine_calls._entries_match)
            engine_calls._find = watched("gradients", engine_calls._find)
            optimizer._fill = watched("fill", optimizer._fill)
            lib.tundish_optimizer_step = watched("update", lib.tundish_optimizer_step)
        optimizer.step()
    with open(os.environ["PYTHON_STACKS"], "w") as out:
        for step, frames in stacks.items():
            print(json.dumps({"step": step, "frames": frames}), file=out)


if __name__ == "__main__":
    main()
