"""Makes a step draw the same random numbers in fp32 and fp64, in any memory layout, eager or compiled.

torch draws a dropout mask in memory order, with kernels that depend on the dtype. Without this module, two
correct steps would drop different elements and could not be compared.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

F = torch.nn.functional
_scaled_dot_product_attention = F.scaled_dot_product_attention


@contextlib.contextmanager
def same_dropout() -> Iterator[None]:
    """Makes dropout, including attention dropout, draw its mask in fp32 and in index order."""
    kept = F.dropout, F.scaled_dot_product_attention
    F.dropout, F.scaled_dot_product_attention = _dropout, _attention
    try:
        yield
    finally:
        F.dropout, F.scaled_dot_product_attention = kept


def _dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if not training or p == 0.0:
        return input
    keep = torch.rand(input.shape, dtype=torch.float32, device=input.device) >= p
    factor = keep.to(input.dtype) * (1.0 / (1.0 - p) if p < 1.0 else 0.0)
    return input.mul_(factor) if inplace else input * factor


def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Computes attention with a dropout mask drawn outside, because torch's kernels draw their own mask."""
    if dropout_p == 0.0:
        return _scaled_dot_product_attention(
            query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    scale = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * scale
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return _dropout(torch.softmax(scores, dim=-1), dropout_p) @ value


class Fp32Draws(TorchDispatchMode):  # type: ignore[misc]
    """Makes random operations on fp64 tensors draw the same fp32 numbers as the fp32 step."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        keywords = dict(kwargs or {})
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **keywords)
        name = func.overloadpacket.__name__
        if name == "native_dropout":
            mask = func(torch.ones_like(args[0], dtype=torch.float32), *args[1:])[1]
            return args[0] * mask / (1.0 - args[1]), mask
        if name.endswith("_") and _is_fp64(args[0]):
            drawn = torch.empty_like(args[0], dtype=torch.float32)
            func(drawn, *(_to_fp32(arg) for arg in args[1:]), **keywords)
            return args[0].copy_(drawn)
        changed = keywords.get("dtype") == torch.float64 or (
            keywords.get("dtype") is None and any(_is_fp64(arg) for arg in args)
        )
        if keywords.get("dtype") == torch.float64:
            keywords["dtype"] = torch.float32
        out = func(*(_to_fp32(arg) for arg in args), **keywords)
        is_fp32 = isinstance(out, torch.Tensor) and out.dtype == torch.float32
        return out.double() if changed and is_fp32 else out


def _is_fp64(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.float64


def _to_fp32(value: Any) -> Any:
    return value.float() if _is_fp64(value) else value
