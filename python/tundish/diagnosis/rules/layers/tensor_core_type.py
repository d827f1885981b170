"""Products in float32 or float64 on a GPU that has Tensor Cores."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import Layer, Measured, percent, slowest_names, total
from ..runtime.runtime_rule import some
from .layer_rule import LayerCheck, SlowLayers

PRECISIONS = ("fp32", "float64")


def find(measured: Measured) -> Iterator[SlowLayers]:
    if measured.device != "cuda":
        return
    found, cost = [], 0.0
    for one in measured.layers:
        share = _share_in_bf16(measured, one) if one.precision in PRECISIONS else None
        if share is not None and share < 1:
            found.append(one)
            cost += one.seconds * (1 - share)
    if found and measured.is_worth(cost):
        names = some(slowest_names(found), len(found))
        timed = [one for one in found if one.in_bf16 is not None]
        slowest = max(timed, key=lambda one: one.seconds, default=None)
        figure = ""
        if slowest is not None:
            figure = f"; under autocast {slowest.shown} takes {percent(slowest.in_bf16 or 1.0)} of its time"
        yield SlowLayers(
            f"{names}: {measured.share(total(found))} of the model's time computes in float32, without Tensor Cores{figure}",
            'torch.autocast("cuda", torch.bfloat16), or torch.set_float32_matmul_precision("high"): tundish tune measures both, '
            "with their numerics",
            cost,
        )


def _share_in_bf16(measured: Measured, one: Layer) -> float | None:
    """Of the layer's time, measured; by the roofs, where it was not."""
    if one.in_bf16 is not None:
        return one.in_bf16
    fast, roof = measured.flops_per_s.get("bf16"), measured.roof_s(one)
    if not fast or not measured.bytes_per_s or not roof:
        return None
    return max(one.flops / fast, one.bytes / 2 / measured.bytes_per_s) / roof


CHECK = LayerCheck(
    id="tensor-core-type",
    title="products that Tensor Cores do not compute",
    level="warning",
    why="Tensor Cores compute float16, bfloat16 and TF32. torch uses TF32 for convolutions, but for matrix products only when asked. The slowest "
    "such layers are timed on the GPU as they are and under autocast with bfloat16, conversions included; a layer that gains nothing "
    "is not named. The cost of others is what the roof of bfloat16 is below theirs: at best.",
    find=find,
)
