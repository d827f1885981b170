"""Finds what a boost could change in the unmodified script, and what stands against each change."""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from types import FrameType
from typing import Any

from ..._process.code_origin import user_line
from ...diagnosis.probe.imports import AfterImport
from .boosted_model import BoostedModel, tensors_of
from .call_sites import CallSite, ConstructionSites, call_site
from .frameworks import Choice, FrameworkSwitches, running_framework
from .identities import model_identity, optimizer_identity
from .loader_changes import LoaderChanges
from .memory_layout import channels_last_obstacle
from .module_calls import ModuleCalls
from .optimizer_kernels import fused_obstacle
from .request import LoaderIdentity, ModelIdentity, OptimizerIdentity, Request

STEPS = 3  # optimizer steps to survey


@dataclass(frozen=True)
class Place:
    file: str = ""
    line: int = 0


@dataclass
class ModelFacts:
    """A module with parameters that the loop calls with gradients."""

    identity: ModelIdentity
    place: Place
    calls: int = 0
    shapes: int = 0  # number of different shapes of its arguments
    autocast: bool = False  # called under the script's autocast
    compiled: bool = False
    scripted: bool = False
    channels_last: str = ""  # what stands against the layout
    types: list[str] = field(default_factory=list)  # of floating-point parameters
    made: CallSite = field(default_factory=CallSite)  # the constructor's call
    call_sites: list[CallSite] = field(default_factory=list)  # of all training calls
    # "tensor", "tensors" (a tuple or list), "fields" (a named tuple), "dict" (of tensors), "loss"
    # (contains a scalar) or "other"
    output: str = ""
    torch_forward: bool = False  # forward() is torch's, as in nn.Sequential


@dataclass
class OptimizerFacts:
    identity: OptimizerIdentity
    fused: str = ""  # what stands against fused kernels
    made: CallSite = field(default_factory=CallSite)


@dataclass
class SurveyFacts:
    models: list[ModelFacts] = field(default_factory=list)
    optimizers: list[OptimizerFacts] = field(default_factory=list)
    loader: LoaderIdentity | None = None
    loader_place: Place = field(default_factory=Place)
    loader_made: CallSite = field(default_factory=CallSite)
    workers: int = 0
    pins_memory: bool = False
    scaler: bool = False  # the script uses a GradScaler
    threads: int = 0
    framework: str = ""  # the package whose loop runs the training; "": the script's own loop
    choices: dict[str, Choice] = field(default_factory=dict)  # by change: the framework's switches
    steps: int = 0  # optimizer steps of the survey
    matmul_tf32: bool = False
    bf16: bool = False  # the device multiplies bfloat16 faster than float32
    cudnn_benchmark: bool = False
    device: str = "cpu"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Survey:
    """`finished` is called with the facts after the first steps."""

    def __init__(self, finished: Callable[[SurveyFacts], None]) -> None:
        self._finished = finished
        self._calls = ModuleCalls(self._model_called, self._model_returned)
        self._sites = ConstructionSites()
        self._loaders = LoaderChanges(Request(), lambda name, reason: None, self._sites)
        self._switches = FrameworkSwitches(())
        self._framework = ""
        self._models: dict[int, tuple[Any, ModelFacts]] = {}
        self._shapes: dict[int, set[Any]] = {}
        self._optimizers: dict[int, Any] = {}
        self._remove_hook: Callable[[], None] = lambda: None
        self._steps = 0
        self._done = False
        self._imports = AfterImport(
            {
                "torch": self._hook_torch,
                "torch.utils.data.dataloader": self._hook_loaders,
                **self._switches.functions(),
            }
        )

    def install(self) -> None:
        self._imports.install()

    def uninstall(self) -> None:
        self._stop_watching()
        self._remove_hook()

    def _stop_watching(self) -> None:
        """Removes all hooks except the optimizers', which torch iterates when a survey ends."""
        self._imports.uninstall()
        self._calls.uninstall()
        self._loaders.uninstall()
        self._sites.uninstall()
        self._switches.uninstall()

    def _hook_loaders(self) -> None:
        self._loaders.install()
        self._sites.install_loaders()

    def _hook_torch(self) -> None:
        self._calls.install()
        self._sites.install_torch()
        optimizers = sys.modules["torch.optim.optimizer"]
        hook = optimizers.register_optimizer_step_post_hook(self._optimizer_stepped)
        self._remove_hook = hook.remove

    def _model_called(
        self, module: Any, frame: FrameType | None, arguments: Any
    ) -> BoostedModel | None:
        torch = sys.modules["torch"]
        if not any(True for _ in module.parameters()):
            return None
        known = self._models.get(id(module))
        if known is None:
            place = Place(*user_line(frame))
            known = (weakref.ref(module), ModelFacts(model_identity(module), place))
            self._models[id(module)] = known
        facts = known[1]
        facts.calls += 1
        site = call_site(frame)
        if site not in facts.call_sites:
            facts.call_sites.append(site)
        shapes = self._shapes.setdefault(id(module), set())
        shapes.add(tuple(tuple(tensor.shape) for tensor in tensors_of(arguments)))
        facts.shapes = len(shapes)
        facts.autocast |= bool(torch.is_autocast_enabled(facts.identity.device))
        return None

    def _model_returned(self, module: Any, out: Any) -> None:
        known = self._models.get(id(module))
        if known is not None:
            known[1].output = _output_kind(out)

    def _optimizer_stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._done:
            return
        self._optimizers.setdefault(id(optimizer), weakref.ref(optimizer))
        self._framework = self._framework or running_framework(sys._getframe(1))
        self._steps += 1
        if self._steps >= STEPS * len(self._optimizers):
            self._done = True
            facts = self._facts()
            self._stop_watching()
            self._finished(facts)

    def _facts(self) -> SurveyFacts:
        torch = sys.modules["torch"]
        optimizers = [o for o in (ref() for ref in self._optimizers.values()) if o is not None]
        trained = {id(p) for o in optimizers for group in o.param_groups for p in group["params"]}
        facts = SurveyFacts(threads=torch.get_num_threads(), framework=self._framework)
        facts.choices = dict(self._switches.choices)
        for reference, model in self._models.values():
            module = reference()
            if module is None or not any(id(p) in trained for p in module.parameters()):
                continue  # a loss with frozen weights, a teacher
            _complete(model, module)
            model.made = self._sites.site_of(module)
            facts.models.append(model)
        facts.device = next((m.identity.device for m in facts.models), "cpu")
        facts.optimizers = [
            OptimizerFacts(optimizer_identity(o), _fused_obstacle(o), self._sites.site_of(o))
            for o in optimizers
        ]
        watched = self._loaders.latest
        if watched is not None:
            facts.loader, facts.loader_place = watched.identity, Place(*watched.place)
            facts.loader_made = watched.made
            facts.workers, facts.pins_memory = watched.workers, watched.pins_memory
        scalers = sys.modules.get("torch.amp.grad_scaler")
        facts.scaler = scalers is not None and _uses_scaler(optimizers)
        facts.steps = self._steps
        facts.matmul_tf32 = bool(torch.backends.cuda.matmul.allow_tf32)
        facts.bf16 = _multiplies_bf16(facts.device)
        facts.cudnn_benchmark = bool(torch.backends.cudnn.benchmark)
        return facts


def _complete(facts: ModelFacts, module: Any) -> None:
    torch = sys.modules["torch"]
    facts.scripted = isinstance(module, torch.jit.ScriptModule)
    facts.compiled = module._compiled_call_impl is not None or hasattr(module, "_orig_mod")
    facts.compiled |= any(hasattr(part, "_orig_mod") for part in module.children())
    facts.channels_last = channels_last_obstacle(module)
    floats = (p.dtype for p in module.parameters() if p.is_floating_point())
    facts.torch_forward = type(module).forward.__module__.startswith("torch.")
    facts.types = sorted({str(dtype) for dtype in floats})


def _output_kind(out: Any) -> str:
    torch = sys.modules["torch"]
    if isinstance(out, torch.Tensor):
        return "tensor" if out.is_floating_point() else "other"
    tensors = [tensor for tensor in tensors_of(out) if tensor.is_floating_point()]
    if isinstance(out, tuple | list) and tensors and len(tensors) == len(out):
        return "fields" if hasattr(out, "_fields") else "tensors"
    if type(out) in (dict, OrderedDict) and tensors and len(tensors) == len(out):
        return "dict"
    return "loss" if any(tensor.dim() == 0 for tensor in tensors) else "other"


def _multiplies_bf16(device: str) -> bool:
    torch = sys.modules["torch"]
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device != "cpu":
        return False
    return bool(torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported())


def _fused_obstacle(optimizer: Any) -> str:
    if any(group.get("fused") for group in optimizer.param_groups):
        return "already done"
    return fused_obstacle(optimizer)


def _uses_scaler(optimizers: list[Any]) -> bool:
    """Returns whether a GradScaler has stepped one of the optimizers."""
    import gc

    kind = sys.modules["torch.amp.grad_scaler"].GradScaler
    return any(kind in type(one).__mro__ and one.is_enabled() for one in gc.get_objects())
