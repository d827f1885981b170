"""Writes a plan as a plain training loop, with the tricks in the code."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .report.commands import near
from .tricks import Trick, in_order

# Tricks whose code() is copied unchanged to the top of the program.
_FLAGS = ("strict_fp32", "torch_defaults", "tf32", "cudnn_benchmark")
# Tricks with a fixed position in the loop. The code of any other trick is shown as a comment.
_WRITTEN = (
    "inplace",
    "set_to_none",
    "channels_last",
    "foreach_optimizer",
    "fused_optimizer",
    "bf16",
    "fp16",
    "compile",
    "accumulate",
)


def patch_text(tricks: Sequence[Trick], optimizer: str, device: str) -> str:
    """Returns the code of a training loop with the tricks in place.

    The code uses your model, optimizer, loss_fn and loader.

    optimizer  class name of the optimizer
    device     "cuda" or "cpu"
    """
    loop = _Loop({trick.name: trick for trick in in_order(tricks)}, optimizer, device)
    parts = [loop.top(), loop.before(), loop.loss(), loop.step(), loop.left_out()]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


class _Loop:
    def __init__(self, tricks: dict[str, Trick], optimizer: str, device: str) -> None:
        self.tricks, self.optimizer, self.device = tricks, optimizer, device
        self.scaler = "fp16" in tricks
        self.parts = int(getattr(tricks.get("accumulate"), "parts", 1))

    def top(self) -> list[str]:
        lines = ["import torch"]
        for name in _FLAGS:
            lines += self.tricks[name].code() if name in self.tricks else []
        return lines

    def before(self) -> list[str]:
        """Returns the lines that follow the creation of the model and the optimizer."""
        lines = []
        if "inplace" in self.tricks:
            lines += [
                "for module in model.modules():",
                "    if isinstance(module, (torch.nn.ReLU, torch.nn.ReLU6, torch.nn.LeakyReLU, torch.nn.ELU,",
                "                           torch.nn.Hardtanh, torch.nn.Threshold)):",
                "        module.inplace = True",
            ]
        if "channels_last" in self.tricks:
            lines.append("model = model.to(memory_format=torch.channels_last)")
        for name, on, off in (
            ("foreach_optimizer", "foreach", "fused"),
            ("fused_optimizer", "fused", "foreach"),
        ):
            lines += self._kernels(on, off) if name in self.tricks else []
        if self.scaler:
            lines.append(f'scaler = torch.amp.GradScaler("{self.device}")')
        return lines

    def _kernels(self, on: str, off: str) -> list[str]:
        known = hasattr(torch.optim, self.optimizer)
        kind = f"torch.optim.{self.optimizer}" if known else "type(optimizer)"
        lines = [
            f"# {on}=True where you make the optimizer; or here, before its scheduler and checkpoint:",
            f'groups = [{{**group, "{on}": True, "{off}": False}} for group in optimizer.param_groups]',
            f"optimizer = {kind}(groups, {on}=True)",
        ]
        if self.scaler and on == "fused" and self.optimizer == "SGD":
            lines += [
                "# fused SGD leaves its momentum unwritten when the scaler skips the first step",
                "for group in optimizer.param_groups:",
                '    if group["momentum"] and not group["dampening"]:',
                '        for parameter in group["params"]:',
                '            optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)',
            ]
        return lines

    def loss(self) -> list[str]:
        """Returns the lines for the forward pass and the loss, inside autocast and compilation."""
        lines = ["def loss_of(inputs, targets):"]
        dtype = "bfloat16" if "bf16" in self.tricks else "float16" if self.scaler else ""
        if dtype:
            lines += [
                f'    with torch.autocast("{self.device}", dtype=torch.{dtype}):',
                "        return loss_fn(model(inputs), targets)",
            ]
        else:
            lines.append("    return loss_fn(model(inputs), targets)")
        if "compile" in self.tricks:
            mode = getattr(self.tricks["compile"], "mode", "default")
            argument = "" if mode == "default" else f'mode="{mode}", '
            lines += [
                "",
                "# each new batch shape triggers a recompilation: DataLoader(..., drop_last=True)",
                f"loss_of = torch.compile(loss_of, {argument}dynamic=False)",
            ]
        return lines

    def step(self) -> list[str]:
        lines = ["for inputs, targets in loader:"]
        if "channels_last" in self.tricks:
            lines.append("    inputs = inputs.contiguous(memory_format=torch.channels_last)")
        lines.append("    optimizer.zero_grad(set_to_none=True)")
        if self.parts == 1:
            lines += ["    loss = loss_of(inputs, targets)", f"    {self._backward()}"]
        else:
            split = f".tensor_split({self.parts})"
            lines += [
                f"    for x, y in zip(inputs{split}, targets{split}):",
                "        # weight by the fraction of samples if the loss is a mean; drop the factor for a sum",
                "        loss = loss_of(x, y) * (len(x) / len(inputs))",
                f"        {self._backward()}",
            ]
        if self.scaler:
            lines += [
                "    # with clipping: scaler.unscale_(optimizer) before clip_grad_norm_()",
                "    scaler.step(optimizer)",
                "    scaler.update()",
            ]
        else:
            lines.append("    optimizer.step()")
        return lines

    def _backward(self) -> str:
        return "scaler.scale(loss).backward()" if self.scaler else "loss.backward()"

    def left_out(self) -> list[str]:
        lines = []
        for name, trick in self.tricks.items():
            if name == "cuda_graph":
                lines += [
                    "# Left out: the CUDA graph of the step. It needs plan.apply():",
                    "#     step = plan.apply(model, optimizer, loss_fn)",
                    "#     for batch in loader: loss = step(batch)",
                ]
            elif name not in (*_FLAGS, *_WRITTEN):
                code = trick.code() or _without_code(trick)
                lines += [f"# Left out: {trick.title}:", *(f"#     {line}" for line in code)]
        return lines


def _without_code(trick: Trick) -> list[str]:
    """Returns a comment for a user-defined trick without code()."""
    where = near(trick.own) if trick.own else type(trick).__name__
    return [
        f"{where} has no code(). Its apply() does the work in plan.apply():",
        "    step = plan.apply(model, optimizer, loss_fn)",
        "A method code() that returns the lines for a loop would show them here.",
    ]
