"""Models and training loops for tests of flat parameters, with and without flatten()."""

import torch
import tundish

SGD = (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-2})
ADAMW = (torch.optim.AdamW, {"lr": 0.01})


def net(width=33, seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(10, width),
        torch.nn.Tanh(),
        torch.nn.Linear(width, width),
        torch.nn.LayerNorm(width),
        torch.nn.Linear(width, 7),
    )


def batches(count=20, seed=1):
    torch.manual_seed(seed)
    return [torch.randn(5, 10) for _ in range(count)]


def loss_of(model, batch):
    return model(batch).square().mean()


def train(model, optimizer, clear=None, steps=20):
    """Trains a model. `clear` runs before each forward pass; default: optimizer.zero_grad()."""
    for batch in batches(steps):
        (clear or optimizer.zero_grad)()
        loss_of(model, batch).backward()
        optimizer.step()
    return values(model)


def values(model):
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def same(first, second):
    assert first.keys() == second.keys()
    return all(torch.equal(first[name], second[name]) for name in first)


def plain(make=net, kind=SGD, **options):
    model = make()
    return train(model, kind[0](model.parameters(), **{**kind[1], **options}))


def flattened(make=net, kind=SGD, groups=None, **options):
    """Returns a model, its flat parameters, and the optimizer that these create with optimizer()."""
    model = make()
    flat = tundish.optim.flatten(model, groups(model) if groups else None)
    return model, flat, flat.optimizer(kind[0], **{**kind[1], **options})
