"""FFCV's DatasetWriter: images decoded by Pillow and re-encoded as JPEGs of quality 90."""

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.writer import DatasetWriter
from PIL import Image

from .writing import Writing, run


class Files:
    def __init__(self, job: Writing) -> None:
        self.job = job

    def __len__(self) -> int:
        return len(self.job.files)

    def __getitem__(self, index: int):
        file = self.job.files[index]
        with Image.open(file) as image:
            return np.asarray(image.convert("RGB")), self.job.label_of(file)


def write(job: Writing, most_pixels: int | None = None) -> None:
    image = RGBImageField(write_mode="jpg", max_resolution=most_pixels, jpeg_quality=90)
    fields = {"image": image, "label": IntField()}
    DatasetWriter(job.target, fields, num_workers=len(job.cpus)).from_indexed_dataset(Files(job))


if __name__ == "__main__":
    run(write)
