"""Small models to test the numerics gate with, and faults to plant in their training steps."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from tundish.tuning.job import Job
from tundish.tuning.tricks.trick import Grade, Trick


class Block(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.conv = nn.Conv2d(inside, outside, 3, padding=1)  # BatchNorm cancels the bias
        self.bn = nn.BatchNorm2d(outside)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


class Cnn(nn.Module):
    """A model with convolutions, BatchNorm, and dropout on images and on features."""

    def __init__(self, drop=0.2):
        super().__init__()
        self.blocks = nn.Sequential(Block(3, 16), nn.MaxPool2d(2), Block(16, 32), Block(32, 32))
        self.drop = nn.Dropout(drop)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.drop(self.blocks(x))
        return self.fc(self.drop(self.pool(x).flatten(1)))


class TinyVit(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, stride=4)
        self.places = nn.Parameter(torch.randn(1, 16, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        return self.head(self.layers(x).mean(1))


class Tokens(nn.Module):
    """A model with integer inputs, to which no rounding errors can be added."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 24)
        self.layers = nn.Sequential(
            nn.Linear(24, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 10)
        )

    def forward(self, x):
        return self.layers(self.embed(x).mean(1))


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-3)


def job_maker(model, optimizer=sgd, count=32, seed=0, side=16):
    """Returns a function that, like JobSource.make, creates the same job each time."""

    def make():
        torch.manual_seed(seed)
        made = model()
        if isinstance(made, Tokens):
            inputs = torch.randint(0, 50, (count, 12))
        elif isinstance(made, nn.Sequential):
            inputs = torch.randn(count, 64)
        else:
            inputs = torch.randn(count, 3, side, side)
        batch = (inputs, torch.randint(0, 10, (count,)))
        return Job(made, optimizer(made), nn.CrossEntropyLoss(), [batch])

    return make


def mlp():
    return nn.Sequential(
        nn.Linear(64, 96),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(96, 96),
        nn.ReLU(),
        nn.Linear(96, 10),
    )


# --- planted faults ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Planted(Trick):
    """Base class of faulty tricks, which claim to change only the order of sums."""

    name = "planted"
    title = "planted"
    grade = Grade.REASSOCIATION

    def undo(self, step):
        pass


@dataclass(frozen=True)
class Accumulate(Planted):
    """Trains with two micro-batches.

    `scale` 1 is correct. With 0.5, the loss is divided once too often; with 2, it is not divided.
    """

    scale: float = 1.0

    def apply(self, step):
        step.accumulate = 2
        if self.scale == 1.0:
            return
        real = step.loss_fn

        def wrong(*words):
            return real(*words) * self.scale

        step.loss_fn = wrong


@dataclass(frozen=True)
class Fp16Reduction(Planted):
    """Rounds the inputs and outputs of one reduction to fp16."""

    where: str = "bn"

    def apply(self, step):
        if self.where == "loss":
            real = step.loss_fn
            step.loss_fn = lambda out, *rest: real(half(out), *rest)
            return
        kind = {"bn": nn.BatchNorm2d, "pool": nn.AdaptiveAvgPool2d, "fc": nn.Linear}[self.where]
        module = next(m for m in step.model.modules() if isinstance(m, kind))
        forward = module.forward
        module.forward = lambda x: half(forward(half(x)))


def half(x):
    return x.half().float()


@dataclass(frozen=True)
class Checkpointed(Planted):
    """Recomputes the model in backward. Without the random state, dropout masks differ."""

    keep_random_state: bool = True

    def apply(self, step):
        forward = step.model.forward

        def recomputed(x):
            return checkpoint(
                forward, x, use_reentrant=False, preserve_rng_state=self.keep_random_state
            )

        step.model.forward = recomputed


@dataclass(frozen=True)
class StaleGradients(Planted):
    def apply(self, step):
        step.optimizer.zero_grad = lambda set_to_none=True: None


@dataclass(frozen=True)
class WrongMomentum(Planted):
    def apply(self, step):
        for group in step.optimizer.param_groups:
            group["momentum"] = 0.8


@dataclass(frozen=True)
class OtherBeta(Planted):
    def apply(self, step):
        for group in step.optimizer.param_groups:
            group["betas"] = (0.9, 0.99)


@dataclass(frozen=True)
class LostWeightDecay(Planted):
    def apply(self, step):
        for group in step.optimizer.param_groups:
            group["weight_decay"] = 0.0


@dataclass(frozen=True)
class NanGradient(Planted):
    def apply(self, step):
        last = list(step.model.parameters())[-1]
        last.register_hook(lambda gradient: gradient * math.nan)


@dataclass(frozen=True)
class PreviousBatch(Planted):
    """Trains on the previous batch, like a CUDA graph that is replayed before the batch is copied."""

    def apply(self, step):
        real, kept = step.train_on, []

        def train_on(batch, loss_of):
            kept.append(batch)
            return real(kept[-2] if len(kept) > 1 else batch, loss_of)

        step.train_on = train_on


@dataclass(frozen=True)
class FrozenBuffers(Planted):
    """Freezes the running statistics of BatchNorm."""

    def apply(self, step):
        for module in step.model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = 0.0
