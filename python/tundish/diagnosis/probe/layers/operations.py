"""Counts the FLOPs and bytes of each operation and adds them to the running module. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

from .eager_code import run_eagerly
from .modules import layout

_ATTENTION = ("scaled_dot_product", "flash_attention", "efficient_attention", "flex_attention")
_COPIES = ("copy_", "clone", "_to_copy", "contiguous", "cat", "stack")
_FREE = ("_unsafe_view", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
_ELEMENTWISE = ("native_dropout", "native_dropout_backward", "bernoulli_")
_UNKNOWN = ("_cudnn_rnn", "_cudnn_rnn_backward", "mkldnn_rnn_layer", "mkldnn_rnn_layer_backward")


def _cpu_attention(query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> int:
    return int(sdpa_flop_count(query.shape, key.shape, value.shape))


def _cpu_attention_backward(grad: Any, q: Any, k: Any, v: Any, *args: Any, **kwargs: Any) -> int:
    return int(sdpa_backward_flop_count(grad.shape, q.shape, k.shape, v.shape))


def _convolution_backward(grad: Any, x: Any, weight: Any, *args: Any, **kwargs: Any) -> int:
    """Returns the FLOPs: each of the two gradients costs as much as the forward pass.

    torch's own formula ignores that groups are computed separately.
    """
    transposed, wanted = args[4], args[7]
    positions = (x if transposed else grad).numel()
    return int(2 * positions * weight[0].numel() * sum(wanted[:2]))


# Formulas that torch's registry lacks (fused attention on CPUs) or has wrong (grouped convolutions).
_OURS = {
    "convolution_backward": _convolution_backward,
    "_scaled_dot_product_flash_attention_for_cpu": _cpu_attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _cpu_attention_backward,
}


@dataclass
class Counted:
    """Counts for one module in one step, forward and backward."""

    flops: int = 0
    bytes: int = 0
    operations: int = 0  # operations that access memory: approximately the number of GPU kernels
    by_kind: dict[str, int] = field(default_factory=dict)  # bytes by kind
    types: dict[str, int] = field(default_factory=dict)  # FLOPs by element type of the operands
    products: set[str] = field(default_factory=set)  # which of softmax, bmm and attention ran
    tokens: int = 0  # number of tokens that attend to each other
    layout_bytes: int = 0  # bytes copied between NHWC and NCHW
    unknown: bool = False  # whether the FLOPs of an operation are unknown


class OperationCounter(TorchDispatchMode):  # type: ignore[misc]
    """Counts operations while active. `owner` returns the number of the running module, or None."""

    def __init__(self, owner: Callable[[], int | None]) -> None:
        super().__init__()
        self._owner = owner
        self.counts: dict[int, Counted] = {}
        self.failed = ""
        self._eager: AbstractContextManager[Any] = nullcontext()

    def __enter__(self) -> Any:
        self._eager = run_eagerly()
        self._eager.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._eager.__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        owner = self._owner()
        if owner is not None:
            try:
                count(self.counts.setdefault(owner, Counted()), func, args, kwargs, out)
            except Exception as error:
                self.failed = f"{func}: {type(error).__name__}: {error}"
        return out


def count(into: Counted, func: Any, args: Any, kwargs: Any, out: Any) -> None:
    kind = operation_kind(func)
    if kind == "free":
        return
    name = func._overloadpacket.__name__
    read = list(_tensors([*args, *kwargs.values()]))
    written = list(_tensors([out]))
    if name in ("copy_", "fill_", "zero_"):
        read = read[1:]  # the output tensor is overwritten, not read
    moved = sum(_bytes(tensor) for tensor in {id(tensor): tensor for tensor in read}.values())
    moved += sum(_bytes(tensor) for tensor in written)
    into.bytes += moved
    into.operations += 1
    into.by_kind[kind] = into.by_kind.get(kind, 0) + moved
    into.unknown = into.unknown or name in _UNKNOWN
    if kind == "matrix":
        flops = int(_formula(func)(*args, **kwargs, out_val=out))
        into.flops += flops
        dtype = read[0].dtype if read else torch.float32
        text = precision(dtype, "conv" in name, read[0].is_cuda if read else False)
        into.types[text] = into.types.get(text, 0) + flops
    _note_attention(into, name, read)
    if kind == "copy" and read and written:
        before, after = layout(read[0]), layout(written[0])
        if {before, after} == {"NHWC", "NCHW"}:
            into.layout_bytes += moved


def _note_attention(into: Counted, name: str, read: list[Any]) -> None:
    if name.endswith("backward") or "backward" in name or not read:
        return
    if any(word in name for word in _ATTENTION):
        into.products.add("attention")
        into.tokens = max(into.tokens, int(read[0].shape[-2]))
    elif name in ("_softmax", "_safe_softmax") and read[0].dim() >= 3:
        into.products.add("softmax")
        into.tokens = max(into.tokens, int(read[0].shape[-1]))
    elif name in ("bmm", "baddbmm"):
        into.products.add("bmm")


def operation_kind(func: Any) -> str:
    """Returns the kind of an operation: matrix, norm, elementwise, copy or other.

    Returns "free" if the operation does not access memory.
    """
    known = _KINDS.get(func)
    if known is None:
        known = _KINDS[func] = _kind(func)
    return known


_KINDS: dict[Any, str] = {}


def _kind(func: Any) -> str:
    name = func._overloadpacket.__name__
    if func.namespace == "c10d":
        return "free"
    returns = func._schema.returns
    aliases = [result.alias_info for result in returns]
    if name in _FREE or (
        aliases and all(alias is not None and not alias.is_write for alias in aliases)
    ):
        return "free"
    if not returns or name in ("_local_scalar_dense", "sym_size", "is_same_size"):
        return "free"
    if _formula(func) is not None:
        return "matrix"
    if name in _COPIES:
        return "copy"
    if "norm" in name and any(word in name for word in ("batch", "layer", "group", "rms")):
        return "norm"
    if name in _ELEMENTWISE or torch.Tag.pointwise in func.tags:
        return "elementwise"
    forward = getattr(torch.ops.aten, name.removesuffix("_backward"), None)
    if name.endswith("_backward") and forward is not None and "default" in forward.overloads():
        return "elementwise" if torch.Tag.pointwise in forward.default.tags else "other"
    return "other"


def _formula(func: Any) -> Any:
    packet = func._overloadpacket
    return _OURS.get(packet.__name__) or flop_registry.get(packet)


def _tensors(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _bytes(tensor: Any) -> int:
    """Returns the bytes of a tensor. For an expanded tensor, returns the bytes of its storage."""
    whole = tensor.numel() * tensor.element_size()
    try:
        return int(min(whole, tensor.untyped_storage().nbytes()))
    except (RuntimeError, NotImplementedError):  # sparse and other tensors without storage
        return int(whole)


def precision(dtype: Any, is_conv: bool, on_gpu: bool) -> str:
    """Returns the precision that is used with the current settings: fp32, tf32, bf16, fp16, or the dtype."""
    names = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
    if dtype is torch.float32 and on_gpu and uses_tf32(is_conv):
        return "tf32"
    return names.get(dtype, str(dtype).removeprefix("torch."))


def uses_tf32(is_conv: bool) -> bool:
    if torch.cuda.get_device_capability()[0] < 8:
        return False
    settings = torch.backends.cudnn if is_conv else torch.backends.cuda.matmul
    try:
        return bool(settings.allow_tf32)
    except RuntimeError:  # the script uses the newer flags, so torch refuses to read the older ones
        newer = torch.backends.cudnn.conv if is_conv else torch.backends.cuda.matmul
        return bool(newer.fp32_precision == "tf32")
