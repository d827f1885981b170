"""Checks the argument `Loader(device=...)`, and whether memory can be page-locked for the GPU."""

from __future__ import annotations

import warnings
from typing import Any

from ..._c.errors import new_error
from ..._c.library import lib


def device_of(device: Any, backend: str) -> Any:
    """Returns a torch.device with an index, or None for the CPU or without a device."""
    if device is None or str(device) == "cpu":
        return None
    if backend != "torch":
        raise ValueError('device needs torch: leave out backend="numpy"')
    import torch

    out = torch.device(device)
    if out.type != "cuda":
        raise ValueError(f'device must be "cuda", "cuda:0" or None, not {device!r}')
    if not torch.cuda.is_available():
        raise new_error(
            509,
            f"TND-509 device={str(device)!r}, but torch sees no GPU\n"
            "  fix: check nvidia-smi and torch.cuda.is_available(); tundish needs a driver "
            "for CUDA 13. Without device= the batches stay in host memory",
        )
    index = torch.cuda.current_device() if out.index is None else out.index
    return torch.device("cuda", index)


def can_pin(device: Any) -> bool:
    """Returns whether memory can be page-locked. Warns if not, because the host then waits for copies."""
    import torch

    with torch.cuda.device(device):  # avoids initializing another GPU
        if lib.tundish_can_pin():
            return True
    reason = lib.tundish_last_error().decode()
    warnings.warn(f"batches are copied from pageable memory, slowly: {reason}", stacklevel=5)
    return False
