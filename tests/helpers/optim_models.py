"""Small models for tests of optimizers, and functions that record and replay gradients.

A run is recorded with one optimizer and replayed with another one. Both get the same gradients, so
their weights differ only by the rounding of the optimizers. The weights of independent runs would drift
apart, because rounding errors change the gradients of later steps.
"""

import torch
from torch import nn

STEPS = 200


def cnn(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 12, 3),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(12, 4),
    )


def mlp(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(12, 33),
        nn.LayerNorm(33),
        nn.GELU(),
        nn.Linear(33, 17),
        nn.Tanh(),
        nn.Linear(17, 4),
    )


MODELS = {"cnn": (cnn, (3, 8, 8)), "mlp": (mlp, (12,))}


def batch(name, step):
    """Returns a batch that can be learned: the signs of two sums of the inputs determine the class."""
    generator = torch.Generator().manual_seed(1000 + step)
    inputs = torch.randn(16, *MODELS[name][1], generator=generator)
    sums = inputs.flatten(1)
    left, right = sums[:, ::2].sum(1) > 0, sums[:, 1::2].sum(1) > 0
    return inputs, 2 * left.long() + right.long()


def loss_of(model, name, step):
    inputs, targets = batch(name, step)
    return nn.functional.cross_entropy(model(inputs), targets)


def record(name, make_optimizer, steps=STEPS, each_step=None):
    """Trains a model. Returns the gradients of all steps, and the weights after the first and last."""
    model = MODELS[name][0]()
    optimizer = make_optimizer(model)
    follow = each_step(optimizer) if each_step else None
    gradients, first = [], None
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, name, step).backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
        optimizer.step()
        if follow:
            follow.step()
        if step == 0:
            first = weights(model)
    return {"gradients": gradients, "first": first, "last": weights(model)}


def record_with_exact_step(name, make_optimizer):
    """Records a run like record(), but computes the weights after the first step in fp64."""
    recorded = record(name, make_optimizer)
    model = MODELS[name][0]().double()
    optimizer = make_optimizer(model)
    for parameter, gradient in zip(model.parameters(), recorded["gradients"][0], strict=True):
        parameter.grad = gradient.double()
    optimizer.step()
    return {**recorded, "exact": weights(model)}


def replay(name, make_optimizer, recorded, each_step=None):
    """Replays recorded gradients. Returns the optimizer, and the weights after the first and last step."""
    model = MODELS[name][0]()
    optimizer = make_optimizer(model)
    follow = each_step(optimizer) if each_step else None
    first = None
    for gradients in recorded["gradients"]:
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter.grad = gradient.clone()
        optimizer.step()
        if follow:
            follow.step()
        first = first or weights(model)
    return optimizer, first, weights(model)


def weights(model):
    return [p.detach().clone() for p in model.parameters()]


def groups_of(model, **of_matrices):
    """Returns two parameter groups: matrices with the options `of_matrices`, others without decay."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.ndim > 1], **of_matrices},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
