"""torch's DataLoader with torchvision's PIL operations in plain Pillow, as most scripts load images.

The crops are given. This contestant has an advantage, because it does not have to draw them.
"""

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from ..common.process import Job, draw_batches, run


class Crops(Dataset):
    def __init__(self, job: Job) -> None:
        self.files = job.files
        self.draws = np.load(job.draws)

    def __getitem__(self, draw: int):
        x, y, width, height, mirrored = self.draws[draw].tolist()
        image = Image.open(self.files[draw % len(self.files)]).convert("RGB")
        image = image.crop((x, y, x + width, y + height)).resize(
            (224, 224), Image.Resampling.BILINEAR
        )
        if mirrored:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1), draw


def batches(job: Job):
    yield from DataLoader(
        Crops(job), batch_sampler=list(draw_batches(job)), num_workers=job.threads
    )


if __name__ == "__main__":
    run(batches)
