"""For every layer check, a model with the problem that it detects, and a similar model without it.

Maps the id of a check to (planted, clean). Both are (model, batch).
"""

import torch
from torch import nn


class Branches(nn.Module):
    """Several tiny convolutions with the same input, or one convolution with all their channels."""

    def __init__(self, count):
        super().__init__()
        width = 48 // count
        self.parts = nn.ModuleList(nn.Conv2d(4, width, 1) for _ in range(count))

    def forward(self, x):
        return torch.cat([part(x) for part in self.parts], 1)


class Plain(nn.Module):
    """A module that converts its input to the NCHW layout."""

    def forward(self, x):
        return x.contiguous()


class Attention(nn.Module):
    """Attention over all positions of an image, with torch's fused attention or with single operations."""

    def __init__(self, width, fused=True):
        super().__init__()
        self.qkv, self.out, self.fused = nn.Linear(width, 3 * width), nn.Linear(width, width), fused

    def forward(self, x):
        batch, width, height, wide = x.shape
        q, k, v = self.qkv(x.flatten(2).transpose(1, 2)).chunk(3, -1)
        if self.fused:
            y = nn.functional.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]
        else:
            y = torch.bmm(torch.bmm(q, k.transpose(1, 2)).softmax(-1), v)
        return self.out(y).transpose(1, 2).reshape(batch, width, height, wide)


class Block(nn.Module):
    """A block with attention and convolution layers in a given order."""

    def __init__(self, width, *kinds):
        super().__init__()
        made = {
            "attention": lambda: Attention(width),
            "conv": lambda: nn.Conv2d(width, width, 3, padding=1),
        }
        made["mlp"] = lambda: nn.Conv2d(width, width, 1)
        for kind in kinds:
            self.add_module(kind, made[kind]())

    def forward(self, x):
        for part in self.children():
            x = part(x)
        return x


def conv(width=16, kernel=3):
    return nn.Conv2d(width, width, kernel, padding=kernel // 2)


def depthwise(width):
    return nn.Conv2d(width, width, 3, padding=1, groups=width)


def images(channels, size, batch=2):
    return torch.ones(batch, channels, size, size)


def channels_last(model, batch):
    last = torch.channels_last
    return model.to(memory_format=last), batch.to(memory_format=last)


def hybrid(*parts):
    return nn.Sequential(*parts), images(16, 32)


PLANTS = {
    "unequal-channels": (
        lambda: (nn.Sequential(nn.Conv2d(2, 64, 1), nn.Conv2d(64, 2, 1)), images(2, 96)),
        lambda: (nn.Sequential(nn.Conv2d(12, 12, 1), nn.Conv2d(12, 12, 1)), images(12, 96)),
    ),
    "grouped-convolution": (
        lambda: (nn.Sequential(conv(64, 1), depthwise(64), depthwise(64)), images(64, 24)),
        lambda: (nn.Sequential(conv(64, 1), conv(64)), images(64, 24)),
    ),
    "parallel-branches": (
        lambda: (Branches(24), images(4, 8)),
        lambda: (Branches(1), images(4, 8)),
    ),
    "elementwise-time": (
        lambda: (nn.Sequential(conv(4, 1), *(nn.Sigmoid() for _ in range(16))), images(4, 128)),
        lambda: (nn.Sequential(conv(32), nn.Sigmoid(), conv(32)), images(32, 32)),
    ),
    "channels-last-lost": (
        lambda: channels_last(nn.Sequential(conv(), Plain(), conv()), images(16, 48)),
        lambda: channels_last(nn.Sequential(conv(), conv()), images(16, 48)),
    ),
    "early-attention": (
        lambda: hybrid(Attention(16), nn.AvgPool2d(4), Attention(16, fused=False)),
        lambda: hybrid(conv(), nn.AvgPool2d(4), Attention(16), Attention(16)),
    ),
    "deep-early-stages": (
        lambda: hybrid(*(conv() for _ in range(6)), nn.AvgPool2d(4), Block(16, "attention", "conv")),
        lambda: hybrid(conv(), nn.AvgPool2d(4), *(Block(16, "attention", "conv") for _ in range(3))),
    ),
    "pure-transformer-blocks": (
        lambda: hybrid(conv(), conv(), nn.AvgPool2d(2), *(Block(16, "attention", "mlp") for _ in range(4))),
        lambda: hybrid(conv(), conv(), nn.AvgPool2d(2), *(Block(16, "attention", "conv") for _ in range(4))),
    ),
    "local-before-global": (
        lambda: hybrid(*(Block(16, "conv", "attention") for _ in range(2))),
        lambda: hybrid(*(Block(16, "attention", "conv") for _ in range(2))),
    ),
}  # fmt: skip
