"""torchvision v2's functions on uint8 tensors (3, 224, 224), with one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torchvision
from torchvision.transforms.v2 import functional as F

from .torchvision_pil import OPERATIONS
from .turns import answer_all


def noise(image: Any, sigma: float) -> Any:
    return F.gaussian_noise(image, 0.0, sigma)


def tensor(array: np.ndarray) -> Any:
    return torch.from_numpy(array).permute(2, 0, 1).contiguous()


def array(image: Any) -> np.ndarray:
    return np.ascontiguousarray(image.permute(1, 2, 0).numpy())


if __name__ == "__main__":
    torch.set_num_threads(1)
    with torch.inference_mode():
        answer_all(
            OPERATIONS | {"noise": noise}, tensor, array, {"torchvision": torchvision.__version__}
        )
