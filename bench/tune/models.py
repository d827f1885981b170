"""The jobs that `bench tune` tunes: a model, its optimizer, its loss, and a batch on the GPU.

tundish tune bench/tune/models.py:resnet50
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

Job = tuple[nn.Module, torch.optim.Optimizer, nn.Module, Any]


def images(model: nn.Module, count: int, adam: bool = False) -> Job:
    """Returns a job with 224x224 images and 1,000 classes on the GPU."""
    model = model.cuda()
    if adam:
        optimizer: torch.optim.Optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    inputs = torch.randn(count, 3, 224, 224, device="cuda")
    targets = torch.randint(0, 1000, (count,), device="cuda")
    return model, optimizer, nn.CrossEntropyLoss(), (inputs, targets)


def named(name: str) -> nn.Module:
    import torchvision

    return getattr(torchvision.models, name)(weights=None)


def resnet50() -> Job:
    return images(named("resnet50"), 128)


def resnet18() -> Job:
    return images(named("resnet18"), 128)


def mobilenet_v2() -> Job:
    return images(named("mobilenet_v2"), 128)


def vit_b_16() -> Job:
    return images(named("vit_b_16"), 64, adam=True)


def convnext_tiny() -> Job:
    return images(named("convnext_tiny"), 64, adam=True)


def mlp() -> Job:
    """Returns a job with eight layers of width 256. Launching its kernels takes longer than running them."""
    layers: list[nn.Module] = []
    for _ in range(8):
        layers += [nn.Linear(256, 256), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs = torch.randn(128, 256, device="cuda")
    return (
        model,
        optimizer,
        nn.CrossEntropyLoss(),
        (inputs, torch.randint(0, 10, (128,), device="cuda")),
    )


# These models were not used while the search was developed.


def regnet_y_3_2gf() -> Job:
    return images(named("regnet_y_3_2gf"), 64)


def swin_t() -> Job:
    return images(named("swin_t"), 64, adam=True)


def densenet121() -> Job:
    return images(named("densenet121"), 64)


SEEN = ("resnet50", "resnet18", "mobilenet_v2", "vit_b_16", "convnext_tiny", "mlp")
UNSEEN = ("regnet_y_3_2gf", "swin_t", "densenet121")
