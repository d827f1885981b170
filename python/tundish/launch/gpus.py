"""Lists the GPUs that a training script will see, in its order, and the CPUs near each GPU.

This module queries the CUDA driver instead of torch. A query takes milliseconds, honors CUDA_VISIBLE_DEVICES and
CUDA_DEVICE_ORDER, numbers GPUs as torch does, and allocates no GPU memory.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cpus import read_cpu_list

_NO_DEVICE = {34, 100}  # CUDA_ERROR_STUB_LIBRARY, CUDA_ERROR_NO_DEVICE


@dataclass(frozen=True)
class Gpu:
    index: int  # index of torch.device("cuda", index)
    name: str
    pci: str  # "0000:18:00.0"
    numa_node: int | None = None  # None if unknown
    local_cpus: tuple[int, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        values = {"index": self.index, "name": self.name, "pci": self.pci}
        return {**values, "numa_node": self.numa_node}


def visible_gpus(driver: Any = None, sys_root: str | Path = "/sys") -> tuple[list[Gpu], str]:
    """Returns the GPUs, and a note for the user if the CUDA driver is installed but does not work."""
    try:
        cuda = driver or ctypes.CDLL("libcuda.so.1")
    except OSError:
        return [], ""
    failed = cuda.cuInit(0)
    count = ctypes.c_int(0)
    failed = failed or cuda.cuDeviceGetCount(ctypes.byref(count))
    if failed:
        if failed in _NO_DEVICE:
            return [], ""
        return [], f"the CUDA driver reports {_error_name(cuda, failed)}: no GPU is used"
    return [_describe(cuda, index, sys_root) for index in range(count.value)], ""


def near_cpus(pci: str, sys_root: str | Path = "/sys") -> tuple[int | None, list[int] | None]:
    """Returns the NUMA node of a PCI device and the CPUs of that node; None if unknown."""
    folder = Path(sys_root) / "bus/pci/devices" / pci.lower()
    try:
        node = int((folder / "numa_node").read_text())
    except (OSError, ValueError):
        return None, None
    if node < 0:  # the firmware does not know the node
        return None, None
    cpus = read_cpu_list(folder / "local_cpulist")
    return node, cpus or read_cpu_list(Path(sys_root) / f"devices/system/node/node{node}/cpulist")


def _describe(cuda: Any, index: int, sys_root: str | Path) -> Gpu:
    device = ctypes.c_int(0)
    name, pci = ctypes.create_string_buffer(256), ctypes.create_string_buffer(64)
    cuda.cuDeviceGet(ctypes.byref(device), index)
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDeviceGetPCIBusId(pci, len(pci), device)
    where = pci.value.decode("ascii", "replace").lower()
    node, cpus = near_cpus(where, sys_root)
    text = name.value.decode("utf-8", "replace")
    return Gpu(index, text, where, node, None if cpus is None else tuple(cpus))


def _error_name(cuda: Any, number: int) -> str:
    text = ctypes.c_char_p()
    cuda.cuGetErrorName(number, ctypes.byref(text))
    return text.value.decode() if text.value else f"error {number}"
