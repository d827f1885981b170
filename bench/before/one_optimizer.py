"""Measures optimizer steps per second on one thread and prints them as JSON.

Usage: one_optimizer.py SECONDS. PYTHONPATH selects the tundish package to measure. There are two sets
of tensors. With the tensors of a ResNet-50, the update takes most of the time. With 500 small tensors,
the overhead of the call does.
"""

import json
import sys
import time

import torch
from tundish import optim

SMALL = [(33, 17)] * 500
# The convolutions in the four stages of a ResNet-50, and its last layer.
LARGE = [(64, 64, 3, 3)] * 3 + [(128, 128, 3, 3)] * 4 + [(256, 256, 3, 3)] * 6
LARGE += [(512, 512, 3, 3)] * 3 + [(1000, 2048)]
KINDS = {
    "SGD": lambda parameters: optim.SGD(parameters, 0.1, momentum=0.9),
    "AdamW": lambda parameters: optim.AdamW(parameters, 1e-3),
}


def steps_per_second(kind: str, shapes: list[tuple[int, ...]], seconds: float) -> float:
    torch.manual_seed(0)
    parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    optimizer = KINDS[kind](parameters)
    for _ in range(3):  # warm-up: the first steps bind the tensors
        optimizer.step()
    steps, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < seconds:
        optimizer.step()
        steps += 1
    return steps / passed


torch.set_num_threads(1)
print(
    json.dumps(
        {
            f"{kind}, {name}": steps_per_second(kind, shapes, float(sys.argv[1]))
            for name, shapes in (("ResNet-50", LARGE), ("500 small tensors", SMALL))
            for kind in KINDS
        }
    )
)
