"""TFRecord files, read with the package tfrecord and torch's DataLoader. The order is not shuffled."""

import numpy as np
import torch
from tfrecord.torch.dataset import TFRecordDataset
from torch.utils.data import DataLoader

from ..common.process import Job, run
from .torch_samples import cut, holds_jpegs


def read(job: Job):
    if holds_jpegs(job):
        draws = np.load(job.draws)
        kinds = {"image/encoded": "byte", "image/class/label": "int"}

        def change(sample):
            number = int(sample["image/class/label"][0])
            return cut(bytes(sample["image/encoded"]), draws[number].tolist()), number
    else:
        kinds = {"features": "float", "label": "int"}

        def change(sample):
            return torch.from_numpy(sample["features"]), int(sample["label"][0])

    data = TFRecordDataset(job.own, None, kinds, transform=change)
    for _ in range(job.epochs):
        yield from DataLoader(data, batch_size=job.batch, drop_last=True)


if __name__ == "__main__":
    run(read)
