"""Makes the changes of a request on the script's objects as they appear.

Models are changed in their first training call, optimizers before their first step, loaders when
they are iterated. Flags of torch are set when the script imports torch.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

from ...diagnosis.probe.imports import AfterImport
from .boosted_model import BoostedModel
from .frameworks import FrameworkSwitches, runs_in_bf16
from .identities import model_identity, optimizer_identity
from .loader_changes import LoaderChanges
from .memory_layout import Layouts
from .module_calls import ModuleCalls
from .optimizer_kernels import fused_obstacle, use_fused_kernels
from .outcomes import Outcomes
from .request import ModelIdentity, OptimizerIdentity, Request
from .torch_flags import set_torch_flags

GIVE_UP_AFTER = 20  # optimizer steps without finding the expected objects


class Injector:
    """`finished` is called once, when all expected models and optimizers are changed or missing."""

    def __init__(self, request: Request, finished: Callable[[], None]) -> None:
        self.request, self._finished = request, finished
        self.outcomes = Outcomes(request.changes)
        self._found: set[ModelIdentity | OptimizerIdentity] = set()
        self._layouts = Layouts()
        self._calls = ModuleCalls(self._model_called)
        self.loaders = LoaderChanges(request, self.outcomes.note)
        self._switches = FrameworkSwitches([change.name for change in request.changes])
        self._seen: set[int] = set()  # ids of models and optimizers that were examined
        self._steps = 0
        self._done = False
        self._undo: list[Callable[[], None]] = []
        self._imports = AfterImport(
            {
                "torch": self._hook_torch,
                "torch.utils.data.dataloader": self.loaders.install,
                **self._switches.functions(),
            }
        )

    def install(self) -> None:
        self._imports.install()

    def uninstall(self) -> None:
        """Removes the hooks. Changes of models, optimizers and flags stay."""
        self._imports.uninstall()
        self._calls.uninstall()
        self.loaders.uninstall()
        self._switches.uninstall()
        while self._undo:
            self._undo.pop()()

    def finish(self) -> None:
        """Reports at the end of a script that was too short for the usual report."""
        if self._steps and not self._done:
            self._done = True
            self._finished()

    def missing(self) -> list[ModelIdentity | OptimizerIdentity]:
        """Returns the models and optimizers of the request that the script has not used."""
        expected: list[ModelIdentity | OptimizerIdentity] = [
            *self.request.models,
            *self.request.optimizers,
        ]
        return [identity for identity in expected if identity not in self._found]

    def _hook_torch(self) -> None:
        for change in self.request.changes:
            if set_torch_flags(change.name):
                self.outcomes.note(change.name, "")
        if not self.missing():
            return
        self._calls.install()
        optimizers = sys.modules["torch.optim.optimizer"]
        hook = optimizers.register_optimizer_step_pre_hook(self._optimizer_steps)
        self._undo.append(hook.remove)

    def _is_new(self, one: Any) -> bool:
        """Returns whether a model or an optimizer was not examined before. A freed id is used again."""
        if id(one) in self._seen:
            return False
        self._seen.add(id(one))
        weakref.finalize(one, self._seen.discard, id(one))
        return True

    # --- models --------------------------------------------------------------------------------

    def _model_called(
        self, module: Any, frame: FrameType | None, arguments: Any
    ) -> BoostedModel | None:
        """Returns the changes of a model that the loop calls, or None if it stays as it is."""
        if not self._is_new(module):
            return None
        identity = model_identity(module)
        if identity not in self.request.models:
            return None
        self._found.add(identity)
        return self._boosted(module)

    def _boosted(self, module: Any) -> BoostedModel:
        boosted = BoostedModel(module, self._compilation_failed)
        if self.request.value_of("channels_last") is not None:
            self._layouts.use_channels_last(module)
            boosted.channels_last = True
            self.outcomes.note("channels_last", "")
        if self.request.value_of("bf16") is not None:
            device = next((p.device.type for p in module.parameters()), "cpu")
            boosted.autocast = not runs_in_bf16(module, device)
            way = "" if boosted.autocast else self._switches.ways.get("bf16", "")
            self.outcomes.note("bf16", "", way)
        mode = self.request.value_of("compile")
        if mode is not None:
            boosted.compile(mode)
            self.outcomes.note("compile", "")
        return boosted

    def _compilation_failed(self, error: Exception) -> None:
        text = str(error).strip().splitlines()
        self.outcomes.note("compile", f"{type(error).__name__}: {text[0] if text else ''}")
        if not self.request.fallback:
            raise error

    # --- optimizers ----------------------------------------------------------------------------

    def _optimizer_steps(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._steps += 1
        if self._is_new(optimizer):
            self._change_optimizer(optimizer)
        if self._done:
            return
        if not self.missing() or self._steps > GIVE_UP_AFTER:
            self._done = True
            self._calls.stop_search()
            self._finished()

    def _change_optimizer(self, optimizer: Any) -> None:
        identity = optimizer_identity(optimizer)
        if identity not in self.request.optimizers:
            return
        self._found.add(identity)
        if self.request.value_of("channels_last") is not None:
            self._layouts.match(optimizer)
        if self.request.value_of("fused") is not None:
            way, reason = self._switches.ways.get("fused", ""), ""
            if not way or not all(group.get("fused") for group in optimizer.param_groups):
                way, reason = "", fused_obstacle(optimizer)
                if not reason:
                    use_fused_kernels(optimizer)
            self.outcomes.note("fused", reason, way)
