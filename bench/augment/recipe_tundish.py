"""tundish.Loader with one thread, reading a pack, with each recipe as tundish transforms."""

import sys
from itertools import islice

import torch  # noqa: F401  (imported before the clock starts, as in the other contestant)
import tundish
from tundish import transforms as T

from ..common.process import Job, run

CROP = [T.RandomResizedCrop(224, interpolation="bicubic"), T.RandomHorizontalFlip()]
RECIPES = {
    "rsb": [*CROP, T.RandAugment(2, 7), T.Normalize(), T.RandomErasing(0.25)],
    "deit3": [
        *CROP,
        T.RandomChoice(
            [T.Grayscale(3), T.RandomSolarize(128, 1), T.PillowGaussianBlur((0.1, 2.0), 1)]
        ),
        T.ColorJitter(0.3, 0.3, 0.3),
        T.Normalize(),
    ],
    "simclr": [
        *CROP,
        T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8),
        T.RandomGrayscale(0.2),
        T.RandomApply([T.GaussianBlur(23, (0.1, 2.0))], 0.5),
        T.Normalize(),
    ],
}


def batches(job: Job):
    loader = tundish.Loader(
        job.pack,
        job.batch,
        transforms=RECIPES[sys.argv[2]],
        shuffle=True,
        seed=job.seed,
        drop_last=True,
        threads=job.threads,
        return_index=True,
    )
    for images, _, index in islice(loader, job.batches):
        yield images, index


if __name__ == "__main__":
    run(batches)
