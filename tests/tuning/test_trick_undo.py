"""Every trick: apply, save, load an older checkpoint, undo. No change of the trick remains."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from tundish.tuning.step import Step
from tundish.tuning.tricks import TRICKS, Trick

OPTIONS: dict[str, dict[str, Any]] = {"checkpointing": {"blocks": ("0",)}}
BATCH = (torch.linspace(-1, 1, 768).reshape(4, 3, 8, 8), torch.tensor([0, 1, 2, 0]))


def optimizers(name: str) -> list[Any]:
    if name == "tundish_muon":
        return [lambda m: torch.optim.Muon([m[4].weight], lr=0.01)]
    return [
        lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9),
        lambda m: torch.optim.AdamW(m.parameters(), lr=0.01),
    ]


def make(build: Any, layout: Any, steps: int) -> Step:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 3),
    ).to(memory_format=layout)
    step = Step(model, build(model), torch.nn.CrossEntropyLoss())
    for _ in range(steps):
        step(BATCH)
    step.reset()
    return step


def form(value: Any) -> Any:
    """Returns a value comparable by ==, bitwise, with types and strides."""
    if isinstance(value, dict):
        return {key: form(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [form(one) for one in value]
    if isinstance(value, torch.Tensor):
        numbers = value.detach().flatten().tolist()
        return value.dtype, value.shape, value.stride(), value.requires_grad, numbers
    return value


def everything(step: Step) -> Any:
    optimizer: Any = step.optimizer
    model = step.model
    options = {k: v for k, v in vars(step).items() if k not in ("model", "optimizer", "loss_fn")}
    return {
        "model": form(dict(model.named_parameters())),
        "gradients": form([p.grad for p in model.parameters()]),
        "buffers": form(dict(model.named_buffers())),
        "modules": [{k: v for k, v in vars(m).items() if k[0] != "_"} for m in model.modules()],
        "model hooks": [(len(m._forward_hooks), len(m._state_dict_hooks)) for m in model.modules()],
        "state": form([optimizer.state.get(p, "absent") for p in model.parameters()]),
        "groups": form([{**g, "params": len(g["params"])} for g in optimizer.param_groups]),
        "saved": form(optimizer.state_dict()),
        "hooks": [
            len(optimizer._optimizer_state_dict_post_hooks),
            len(optimizer._optimizer_load_state_dict_post_hooks),
        ],
        "amp": optimizer.__dict__.get("_step_supports_amp_scaling"),
        "step": {k: v for k, v in options.items() if k != "main_signature"},
        "flags": (
            torch.backends.cudnn.benchmark,
            torch.backends.cuda.matmul.fp32_precision,
            torch.backends.cudnn.conv.fp32_precision,
        ),
        "random": form(torch.get_rng_state()),
    }


CASES = [
    (kind, i)
    for kind in TRICKS
    if kind.name != "ddp"  # see tests/tuning/test_ddp.py
    for i in range(len(optimizers(kind.name)))
]


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(("kind", "number"), CASES, ids=lambda one: getattr(one, "name", one))
def test_apply_save_load_and_undo_leave_no_trace(
    kind: type[Trick], number: int, layout: Any, steps: int
) -> None:
    build = optimizers(kind.name)[number]
    plain, step = make(build, layout, steps), make(build, layout, steps)
    before = everything(step)
    older = copy.deepcopy(step.optimizer.state_dict())
    trick = kind(**OPTIONS.get(kind.name, {}))
    trick.apply(step)
    assert form(step.optimizer.state_dict()) == form(plain.optimizer.state_dict())
    groups = form([{**g, "params": 0} for g in step.optimizer.param_groups])
    step.optimizer.load_state_dict(older)
    assert form([{**g, "params": 0} for g in step.optimizer.param_groups]) == groups
    assert form(step.optimizer.state_dict()) == form(plain.optimizer.state_dict())
    trick.undo(step)
    assert everything(step) == before
