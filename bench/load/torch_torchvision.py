"""torch's DataLoader with torchvision's own JPEG decoder and its transforms on tensors."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from ..common.process import Job, draw_batches, run, unavailable

try:
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms.v2 import functional as F

    _ = torch.ops.image.decode_jpeg  # exists only if torchvision's own library has loaded
except Exception as error:
    unavailable(f"torchvision's image codecs do not load with this torch: {error}")


class Crops(Dataset):
    def __init__(self, job: Job) -> None:
        self.files = job.files
        self.draws = np.load(job.draws)

    def __getitem__(self, draw: int):
        x, y, width, height, mirrored = self.draws[draw].tolist()
        image = decode_jpeg(read_file(self.files[draw % len(self.files)]), ImageReadMode.RGB)
        image = F.resized_crop(image, y, x, height, width, [224, 224], antialias=True)
        return F.horizontal_flip(image) if mirrored else image, draw


def batches(job: Job):
    yield from DataLoader(
        Crops(job), batch_sampler=list(draw_batches(job)), num_workers=job.threads
    )


if __name__ == "__main__":
    run(batches)
