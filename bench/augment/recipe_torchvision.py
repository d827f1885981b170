"""torch's DataLoader without workers, with Pillow's decoder and torchvision's transforms on PIL images."""

import random
import sys

import torch
from PIL import Image, ImageFilter
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import InterpolationMode
from torchvision.transforms import v2 as T

from ..common.process import Job, draw_batches, run


class PillowGaussianBlur:
    """The Gaussian blur of DeiT III, which torchvision lacks."""

    def __call__(self, image: Image.Image) -> Image.Image:
        return image.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2.0)))


CROP = [
    T.RandomResizedCrop(224, interpolation=InterpolationMode.BICUBIC),
    T.RandomHorizontalFlip(),
]
END = [
    T.PILToTensor(),
    T.ToDtype(torch.float32, scale=True),
    T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
]
RECIPES = {
    "rsb": [*CROP, T.RandAugment(2, 7), *END, T.RandomErasing(0.25)],
    "deit3": [
        *CROP,
        T.RandomChoice([T.Grayscale(3), T.RandomSolarize(128, 1), PillowGaussianBlur()]),
        T.ColorJitter(0.3, 0.3, 0.3),
        *END,
    ],
    "simclr": [
        *CROP,
        T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8),
        T.RandomGrayscale(0.2),
        T.RandomApply([T.GaussianBlur(23, (0.1, 2.0))], 0.5),
        *END,
    ],
}


class Files(Dataset):
    def __init__(self, job: Job) -> None:
        self.files = job.files
        self.transform = T.Compose(RECIPES[sys.argv[2]])

    def __getitem__(self, number: int):
        with Image.open(self.files[number]) as file:
            image = file.convert("RGB")
        return self.transform(image), number


def batches(job: Job):
    torch.set_num_threads(1)
    torch.manual_seed(job.seed)
    random.seed(job.seed)
    yield from DataLoader(Files(job), batch_sampler=list(draw_batches(job)), num_workers=0)


if __name__ == "__main__":
    run(batches)
