"""A model whose training calls run with changes: layout, autocast, compilation.

Nothing is stored on the model but torch's own compiled call, which torch omits from copies and
checkpoints. Calls in evaluation mode or without gradients run as before.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any


class BoostedModel:
    """The changes of one model. `failed` is called if compilation fails; it may raise."""

    def __init__(self, module: Any, failed: Callable[[Exception], None]) -> None:
        self.module: Callable[[], Any] = weakref.ref(module)
        self.autocast = False
        self.channels_last = False
        self.copies_outputs = False  # outputs lie in the memory of a CUDA graph
        self._failed = failed
        self._is_compiled = False
        self._signature: Any = None  # of the first training call; other shapes run uncompiled
        self._ran = False

    def compile(self, mode: str) -> None:
        """Compiles training calls that have the shapes of the first one."""
        module = self.module()

        def run(*args: Any, **kwargs: Any) -> Any:
            return module._call_impl(*args, **kwargs)

        # Not module.compile(): it compiles nothing if the class is one of torch's, such as Sequential.
        options = {"mode": mode} if mode else {}
        module._compiled_call_impl = sys.modules["torch"].compile(run, dynamic=False, **options)
        self.copies_outputs = mode == "reduce-overhead"
        self._is_compiled = True

    def call(self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        """Calls the module. `original`: the `__call__` of its class."""
        torch = sys.modules["torch"]
        module = self.module()
        if not (module.training and torch.is_grad_enabled()):
            return self._uncompiled(module, original)(*args, **kwargs)
        if self.channels_last:
            args, kwargs = map_tensors(_as_channels_last, (args, kwargs))
        if not self.autocast:
            return self._run(module, original, args, kwargs)
        device = next((p.device.type for p in module.parameters()), "cpu")
        with torch.autocast(device, torch.bfloat16):
            out = self._run(module, original, args, kwargs)
        return map_tensors(_as_float, out)

    def _run(self, module: Any, original: Any, args: Any, kwargs: Any) -> Any:
        if not self._is_compiled:
            return original(module, *args, **kwargs)
        torch = sys.modules["torch"]
        shapes = [(tuple(t.shape), t.dtype) for t in tensors_of((args, kwargs))]
        if self._signature is None:
            self._signature = shapes
        if shapes != self._signature:  # the last batch of an epoch: not worth a compilation
            return self._uncompiled(module, original)(*args, **kwargs)
        if self.copies_outputs:
            torch.compiler.cudagraph_mark_step_begin()
        try:
            out = original(module, *args, **kwargs)
        except Exception as error:
            if self._ran or not _is_compiler_error(error):
                raise
            self._failed(error)
            self._is_compiled = False
            module._compiled_call_impl = None
            return original(module, *args, **kwargs)
        self._ran = True
        return map_tensors(lambda tensor: tensor.clone(), out) if self.copies_outputs else out

    def _uncompiled(self, module: Any, original: Any) -> Callable[..., Any]:
        if not self._is_compiled:
            return lambda *args, **kwargs: original(module, *args, **kwargs)
        call: Callable[..., Any] = module._call_impl
        return call


def _is_compiler_error(error: Exception) -> bool:
    """Returns whether torch.compile raised the error, rather than the model."""
    return type(error).__module__.startswith(("torch._dynamo", "torch._inductor"))


def _as_channels_last(tensor: Any) -> Any:
    torch = sys.modules["torch"]
    if tensor.dim() == 4 and tensor.is_floating_point():
        return tensor.contiguous(memory_format=torch.channels_last)
    return tensor


def _as_float(tensor: Any) -> Any:
    """Returns an output in float32, as without autocast, so that the loss is computed as before."""
    torch = sys.modules["torch"]
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def map_tensors(change: Callable[[Any], Any], value: Any) -> Any:
    """Applies `change` to tensors in tuples, lists and dicts. Keeps containers without a change."""
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        changed = {key: map_tensors(change, item) for key, item in value.items()}
        return _replaced_dict(value, changed)
    if isinstance(value, tuple | list):
        items = [map_tensors(change, item) for item in value]
        if all(new is old for new, old in zip(items, value)):
            return value
        if hasattr(value, "_fields"):
            return type(value)(*items)
        return type(value)(items)
    return value


def _replaced_dict(value: Any, changed: dict[Any, Any]) -> Any:
    """Returns the dict, or a dict of the same class if a value changed.

    The output classes of Hugging Face are dicts with attributes and take their values by name.
    """
    if all(changed[key] is item for key, item in value.items()):
        return value
    if type(value) is dict:
        return changed
    try:
        return type(value)(**changed)
    except TypeError:
        return type(value)(changed)


def tensors_of(value: Any) -> list[Any]:
    """Returns the tensors in tuples, lists and dicts."""
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_of(item)]
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []
