"""Small training steps and comparisons for tests."""

import copy

import torch
from tundish.tuning.step import Step


def sgd_step(model, loss_fn=None, lr=0.1):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    return Step(model, optimizer, loss_fn or torch.nn.CrossEntropyLoss())


def twin(step):
    """Returns an independent step on a copy of the model, with the same optimizer options."""
    return sgd_step(copy.deepcopy(step.model), step.loss_fn, step.optimizer.param_groups[0]["lr"])


def train(step, batches, seed=0):
    """Returns the losses of a few steps."""
    torch.manual_seed(seed)
    return [float(step(batch)) for batch in batches]


def differing(one, other):
    """Returns the names of parameters, buffers and gradients whose bits differ."""
    mine, others = dict(one.named_parameters()), dict(other.named_parameters())
    assert mine.keys() == others.keys()
    out = [
        n for n, value in one.state_dict().items() if not torch.equal(value, other.state_dict()[n])
    ]
    for name, parameter in mine.items():
        grads = parameter.grad, others[name].grad
        if (grads[0] is None) != (grads[1] is None) or (
            grads[0] is not None and not torch.equal(*grads)
        ):
            out.append(f"{name}.grad")
    return out


def worst_difference(one, other):
    """Returns the largest difference between two models' states, relative to each tensor's maximum."""
    states = zip(one.state_dict().values(), other.state_dict().values())
    return max(
        float((a.double() - b.double()).abs().max() / b.double().abs().max().clamp(min=1e-30))
        for a, b in states
    )
