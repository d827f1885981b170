"""Newton-Schulz iterations on stacks of matrices, with few launches and little memory traffic."""

from __future__ import annotations

from typing import Any

import torch


def orthogonalize(
    stacks: list[Any], coefficients: tuple[float, float, float], steps: int, eps: float
) -> list[Any]:
    """Moves the singular values of every matrix toward 1 and keeps the singular vectors.

    stacks  bfloat16, contiguous, [count, rows, columns], all with the same min(rows, columns); overwritten

    Returns stacks of the same shapes.

    One step computes X <- (a + b G + c G^2) X with G = X X^T, or with G = X^T X if X has more rows than columns. The
    products G^2 of all stacks are computed as one batch. No matrix is transposed in memory.
    """
    for stack in stacks:
        norms = torch.linalg.vector_norm(stack, dim=(1, 2), keepdim=True)
        stack.div_(norms.clamp_(min=eps))
    if steps == 0:
        return stacks
    short = min(stacks[0].shape[1:])
    counts = [len(stack) for stack in stacks]
    grams = stacks[0].new_empty(sum(counts), short, short)
    factors = torch.empty_like(grams)
    now, later = stacks, [torch.empty_like(stack) for stack in stacks]
    for _ in range(steps):
        for gram, stack in zip(grams.split(counts), now):
            if is_tall(stack):
                gram.baddbmm_(stack.mT, stack, beta=0)
            else:
                gram.baddbmm_(stack, stack.mT, beta=0)
        scale = _fill_factors(factors, grams, coefficients)
        for factor, stack, out in zip(factors.split(counts), now, later):
            # With beta=0, X is neither read again nor copied to the result before the product.
            if is_tall(stack):
                out.baddbmm_(stack, factor.mT, beta=0, alpha=scale)
            else:
                out.baddbmm_(factor, stack, beta=0, alpha=scale)
        now, later = later, now
    return now


def is_tall(stack: Any) -> bool:
    return int(stack.shape[1]) > int(stack.shape[2])


def _fill_factors(out: Any, grams: Any, coefficients: tuple[float, float, float]) -> float:
    """Writes 1 + b/a G + c/a G^2 to `out` and returns `a`, by which the product must be multiplied.

    The diagonal is near 1, a number that bfloat16 holds exactly. With `a` on the diagonal, the error would double.
    """
    a, b, c = coefficients
    scale = a or 1.0
    torch.baddbmm(grams, grams, grams, beta=b / scale, alpha=c / scale, out=out)
    out.diagonal(dim1=1, dim2=2).add_(a / scale)
    return scale
