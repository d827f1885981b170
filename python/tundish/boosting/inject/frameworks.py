"""The switches of Lightning, Accelerate and Hugging Face's Trainer for changes that they can make.

A switch is set when the script makes the framework's object, and only if the script has not chosen a
value. A change without a switch, or with an object made before the hooks, is injected as usual.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from inspect import signature
from types import FrameType
from typing import Any

from ..._process.code_origin import framework_name, user_line
from ...diagnosis.probe.hidden_frames import hidden

_BFLOAT16 = ("bf16", "bf16-mixed", "bf16-true")
_FUSED_ADAM = "adamw_torch_fused"


@dataclass(frozen=True)
class Choice:
    """A value that the script has chosen. `reason`: why the change is not tried."""

    reason: str
    file: str = ""
    line: int = 0


class FrameworkSwitches:
    """Hooks for AfterImport. `wanted`: names of changes to make; a survey wants none."""

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = frozenset(wanted)
        self.choices: dict[str, Choice] = {}  # by change
        self.ways: dict[str, str] = {}  # by change: the switch that was set
        self._undo: list[Callable[[], None]] = []

    def functions(self) -> dict[str, Callable[[], None]]:
        """Returns the hooks by the module after whose import they are called."""
        hooks: dict[str, Callable[[], None]] = {}
        for package in ("lightning.pytorch", "pytorch_lightning"):
            name = f"{package}.trainer.trainer"
            hooks[name] = self._hook(name, "Trainer", "__init__", self._lightning)
        name = "accelerate.accelerator"
        hooks[name] = self._hook(name, "Accelerator", "__init__", self._accelerate)
        name = "transformers.training_args"
        hooks[name] = self._hook(name, "TrainingArguments", "__post_init__", self._hugging_face)
        return hooks

    def uninstall(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _hook(self, module: str, owner: str, name: str, make: Any) -> Callable[[], None]:
        def install() -> None:
            kind = getattr(sys.modules[module], owner, None)
            original = getattr(kind, name, None)
            if original is None:  # another version of the framework
                return
            replacement = functools.wraps(original)(hidden(make(original)))
            setattr(kind, name, replacement)

            def undo() -> None:
                if vars(kind).get(name) is replacement:
                    setattr(kind, name, original)

            self._undo.append(undo)

        return install

    def _choose(self, change: str, switch: str, is_done: bool, frame: FrameType | None) -> None:
        reason = f"already done: {switch}" if is_done else f"the script has chosen {switch}"
        self.choices[change] = Choice(reason, *user_line(frame))

    def _set(self, change: str, switch: str) -> bool:
        """Returns whether to set the switch, and records it."""
        if change not in self._wanted:
            return False
        self.ways[change] = switch
        return True

    # --- Lightning -----------------------------------------------------------------------------

    def _lightning(self, original: Any) -> Any:
        def init(trainer: Any, *args: Any, **kwargs: Any) -> None:
            precision = kwargs.get("precision") or os.environ.get("PL_TRAINER_PRECISION")
            strategy = kwargs.get("strategy") or "auto"  # an object may bring its own precision
            is_free = not precision and not kwargs.get("plugins") and isinstance(strategy, str)
            if is_free and self._set("bf16", 'Trainer(precision="bf16-mixed")'):
                kwargs["precision"] = "bf16-mixed"
            original(trainer, *args, **kwargs)
            used = str(getattr(trainer, "precision", ""))
            if precision or (used != "32-true" and "bf16" not in self.ways):
                text = f'Trainer(precision="{precision or used}")'
                self._choose("bf16", text, used in _BFLOAT16, sys._getframe(1))

        return init

    # --- Accelerate ----------------------------------------------------------------------------

    def _accelerate(self, original: Any) -> Any:
        described = signature(original)

        def init(accelerator: Any, *args: Any, **kwargs: Any) -> None:
            frame = sys._getframe(1)
            if framework_name(frame.f_code.co_filename) == "transformers":
                original(accelerator, *args, **kwargs)  # TrainingArguments decides
                return
            try:
                precision = described.bind(accelerator, *args, **kwargs).arguments.get(
                    "mixed_precision"
                )
            except TypeError:  # a wrong call, which fails below
                precision = "no"
            launched = os.environ.get("ACCELERATE_MIXED_PRECISION") or "no"
            if precision is not None or launched != "no":
                value = str(precision or launched)
                text = f'Accelerator(mixed_precision="{value}")'
                self._choose("bf16", text, value in _BFLOAT16, frame)
            elif _has_no_accelerator() and self._set("bf16", 'Accelerator(mixed_precision="bf16")'):
                kwargs["mixed_precision"] = "bf16"
            original(accelerator, *args, **kwargs)

        return init

    # --- Hugging Face --------------------------------------------------------------------------

    def _hugging_face(self, original: Any) -> Any:
        def post_init(arguments: Any) -> None:
            frame = sys._getframe(1)
            self._choose_precision(arguments, frame)
            self._choose_tf32(arguments, frame)
            self._choose_optimizer(arguments, frame)
            original(arguments)

        return post_init

    def _choose_precision(self, arguments: Any, frame: FrameType | None) -> None:
        launched = os.environ.get("ACCELERATE_MIXED_PRECISION") or "no"
        if arguments.bf16 or arguments.fp16:
            name = "bf16" if arguments.bf16 else "fp16"
            self._choose("bf16", f"TrainingArguments({name}=True)", name == "bf16", frame)
        elif launched != "no":
            switch = f"ACCELERATE_MIXED_PRECISION={launched}"
            self._choose("bf16", switch, launched in _BFLOAT16, frame)
        elif getattr(arguments, "deepspeed", None) or not _takes_bf16(arguments):
            return
        elif self._set("bf16", "TrainingArguments(bf16=True)"):
            arguments.bf16 = True

    def _choose_tf32(self, arguments: Any, frame: FrameType | None) -> None:
        if arguments.tf32 is not None:
            switch = f"TrainingArguments(tf32={arguments.tf32})"
            self._choose("tf32", switch, bool(arguments.tf32), frame)
            return
        on_gpu = sys.modules["torch"].cuda.is_available() and not arguments.use_cpu
        if on_gpu and self._set("tf32", "TrainingArguments(tf32=True)"):
            arguments.tf32 = True

    def _choose_optimizer(self, arguments: Any, frame: FrameType | None) -> None:
        """Sets the fused AdamW only in versions whose default is AdamW without fused kernels."""
        name = str(getattr(arguments.optim, "value", arguments.optim))
        default = type(arguments).__dataclass_fields__["optim"].default
        default = str(getattr(default, "value", default))
        if name == _FUSED_ADAM:
            self._choose("fused", f'TrainingArguments(optim="{name}")', True, frame)
            return
        switch = f'TrainingArguments(optim="{_FUSED_ADAM}")'
        if name == default == "adamw_torch" and self._set("fused", switch):
            arguments.optim = _FUSED_ADAM


def _has_no_accelerator() -> bool:
    """Returns whether the precision can still be chosen: all Accelerators of a process share it."""
    state = getattr(sys.modules.get("accelerate.state"), "AcceleratorState", None)
    return not getattr(state, "_shared_state", None)


def _takes_bf16(arguments: Any) -> bool:
    """Returns whether TrainingArguments accepts bf16=True here: without a GPU, it asks for use_cpu."""
    if arguments.use_cpu:
        return True
    cuda = sys.modules["torch"].cuda
    return bool(cuda.is_available() and cuda.is_bf16_supported())


def runs_in_bf16(module: Any, device: str) -> bool:
    """Returns whether a framework runs this call in bfloat16.

    Lightning calls the model under autocast. Accelerate replaces `forward` by one with autocast, and
    keeps the script's as `_original_forward`.
    """
    torch = sys.modules["torch"]
    if torch.is_autocast_enabled(device):
        return bool(torch.get_autocast_dtype(device) == torch.bfloat16)
    return "_original_forward" in vars(module)


def running_framework(frame: FrameType | None) -> str:
    """Returns the package whose loop runs `frame`, or "". The outermost frame decides."""
    name = ""
    while frame is not None:
        name = framework_name(frame.f_code.co_filename) or name
        frame = frame.f_back
    return name
