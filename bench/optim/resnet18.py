"""A ResNet-18 that does not need torchvision but has the same layers and shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional


def _convolution(inputs: int, outputs: int, side: int, stride: int) -> nn.Sequential:
    kernel = nn.Conv2d(inputs, outputs, side, stride, side // 2, bias=False)
    nn.init.kaiming_normal_(kernel.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(kernel, nn.BatchNorm2d(outputs))


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = _convolution(inputs, outputs, 3, stride)
        self.second = _convolution(outputs, outputs, 3, 1)
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else _convolution(inputs, outputs, 1, stride)

    def forward(self, x: Any) -> Any:
        inside = self.second(functional.relu(self.first(x)))
        return functional.relu(inside + self.shortcut(x))


def resnet18(classes: int = 1000) -> nn.Sequential:
    layers: list[nn.Module] = [_convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    width = 64
    for outputs in (64, 128, 256, 512):
        stride = 1 if outputs == 64 else 2
        layers += [Block(width, outputs, stride), Block(outputs, outputs, 1)]
        width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


def count_parameters(model: nn.Module) -> tuple[int, int]:
    """Returns the number of parameter tensors and the number of their elements."""
    parameters = list(model.parameters())
    return len(parameters), sum(map(torch.Tensor.numel, parameters))
