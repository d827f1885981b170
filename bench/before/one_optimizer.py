"""Measures optimizer steps per second on one thread: one_optimizer.py SECONDS. Prints JSON.

PYTHONPATH selects the tundish package. The tensors have the shapes of a ResNet-50, where the
update dominates, or are 500 small ones, where the call does.
"""

import json
import sys
import time

import torch
from tundish import optim

SMALL = [(33, 17)] * 500
# Convolutions of a ResNet-50's four stages, and its last layer.
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
    for _ in range(3):  # binds the tensors
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
