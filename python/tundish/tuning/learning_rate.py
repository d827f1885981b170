"""Scales the learning rate for a new batch size, as code to paste into a training script.

There are two rules of thumb. The linear rule is for SGD (Goyal et al., 2017). The square root rule is
for Adam and similar optimizers, whose steps do not grow with the gradient (Malladi et al., 2022). Both
assume that the model trains well at the old batch size, and both are only a starting point for a
search. Beyond a batch size that depends on the task, no learning rate keeps the accuracy per epoch.
"""

from __future__ import annotations

import math

import torch

from .._c.errors import ArgumentError

LINEAR, SQUARE_ROOT = "linear", "square root"
# Matched by class name, so that optimizers of other packages are recognized too.
_LINEAR = ("sgd", "lars", "asgd")
_SQUARE_ROOT = ("adam", "lamb", "rmsprop", "adagrad", "adafactor", "lion", "adadelta", "novograd")
WARMUP_EPOCHS = 5
WARMUP_SAMPLES = 640_000  # used if the length of an epoch is unknown: half an epoch of ImageNet


def rule_of(optimizer: torch.optim.Optimizer) -> str:
    """Returns the scaling rule for this optimizer. An unknown optimizer gets the safer rule, square root."""
    name = type(optimizer).__name__.lower()
    if any(word in name for word in _SQUARE_ROOT):
        return SQUARE_ROOT
    return LINEAR if any(word in name for word in _LINEAR) else SQUARE_ROOT


def is_known(optimizer: torch.optim.Optimizer) -> bool:
    name = type(optimizer).__name__.lower()
    return any(word in name for word in (*_LINEAR, *_SQUARE_ROOT))


def factor_of(rule: str, old: int, new: int) -> float:
    """Returns the factor for the learning rates."""
    return new / old if rule == LINEAR else math.sqrt(new / old)


def warmup_steps_of(new: int, samples_per_epoch: int | None = None) -> int:
    """Returns the number of warmup steps: 5 epochs, as in Goyal et al."""
    samples = WARMUP_SAMPLES if samples_per_epoch is None else WARMUP_EPOCHS * samples_per_epoch
    return max(1, -(-samples // new))


def scale_learning_rate(
    optimizer: torch.optim.Optimizer,
    old: int,
    new: int,
    *,
    rule: str | None = None,
    warmup_steps: int | None = None,
    samples_per_epoch: int | None = None,
) -> list[str]:
    """Returns Python code that adapts the learning rate from batch size `old` to batch size `new`.

    The function does not change the optimizer; paste the returned lines into your script. For a
    larger batch, they include a warmup from the old learning rate to the new one.

    old, new           samples per update, over all ranks and accumulated micro-batches
    rule               "linear" or "square root"; default: the usual rule for the optimizer
    warmup_steps       length of the warmup; default: 5 epochs, or 640,000 samples if samples_per_epoch
                       is not given
    samples_per_epoch  number of samples in your dataset
    """
    _check(old, new, rule, warmup_steps)
    rule = rule or rule_of(optimizer)
    factor = factor_of(rule, old, new)
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    scaled = [_short(rate * factor) for rate in rates]
    lines = [
        f"# batch {old} -> {new}: {rule} rule, learning rate x {factor:.4g} "
        f"({', '.join(f'{rate:.4g}' for rate in rates)} -> {', '.join(map(str, scaled))})",
        *(f"# {caveat}" for caveat in caveats(optimizer, old, new)),
        f"for group, rate in zip(optimizer.param_groups, {scaled}):",
        *_assignment(optimizer),
    ]
    if new <= old:  # a smaller rate needs no warmup
        return lines
    if warmup_steps is None:
        warmup_steps = warmup_steps_of(new, samples_per_epoch)
    if warmup_steps == 0:
        return lines
    return [
        *lines,
        "warmup = torch.optim.lr_scheduler.LinearLR(",
        f"    optimizer, start_factor={_short(1 / factor)}, total_iters={warmup_steps}",
        ")  # warmup.step() after each of the first optimizer.step()",
        "# To combine it with your own scheduler, stepped once per update:",
        f"# scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, scheduler], [{warmup_steps}])",
    ]


def _assignment(optimizer: torch.optim.Optimizer) -> list[str]:
    """Returns lines that set a group's rate. A tensor is filled in place, because CUDA graphs read it."""
    if not any(isinstance(group["lr"], torch.Tensor) for group in optimizer.param_groups):
        return ['    group["lr"] = group["initial_lr"] = rate']
    return [
        '    group["initial_lr"] = rate',
        '    if isinstance(group["lr"], torch.Tensor):',
        '        group["lr"].fill_(rate)  # a CUDA graph reads this tensor',
        "    else:",
        '        group["lr"] = rate',
    ]


def caveats(optimizer: torch.optim.Optimizer, old: int, new: int) -> list[str]:
    """Returns warnings about the rule for this optimizer and these batch sizes."""
    out = []
    if not is_known(optimizer):
        out.append(
            f"{type(optimizer).__name__} has no known rule; square root is the careful choice"
        )
    if max(new / old, old / new) > 8:
        out.append("beyond 8x the rules are known to fail; compare the accuracy of short runs")
    if rule_of(optimizer) == SQUARE_ROOT and new != old:
        out.append("betas are per update; with far fewer updates, try smaller betas")
    out.append("steps per epoch change too; set scheduler lengths in epochs or samples")
    return out


def _short(number: float) -> float:
    """Rounds to six significant digits."""
    return float(f"{number:.6g}")


def _check(old: int, new: int, rule: str | None, warmup_steps: int | None) -> None:
    for name, value in (("old", old), ("new", new)):
        if value < 1:
            raise ArgumentError(f"scale_learning_rate: {name} must be at least 1, not {value}")
    if rule not in (None, LINEAR, SQUARE_ROOT):
        raise ArgumentError(
            f'scale_learning_rate: rule must be "{LINEAR}" or "{SQUARE_ROOT}", not {rule!r}'
        )
    if warmup_steps is not None and warmup_steps < 0:
        raise ArgumentError(f"scale_learning_rate: warmup_steps must not be {warmup_steps}")
