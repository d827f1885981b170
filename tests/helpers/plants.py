"""Training loops with planted bottlenecks, to test `tundish doctor`.

They have few steps, and sleep long enough to stand out from noise.
"""

import contextlib
import io
import os
import time
from unittest import mock

import torch
from PIL import Image
from torch.utils.data import Dataset
from tundish.diagnosis.probe.session import Session
from tundish.diagnosis.probe.settings import Settings
from tundish.diagnosis.verdict.verdict import judge

QUICK = {"warm_up": 2, "steps": 5, "profiled": 4, "cached_batches": 6, "layers": 0, "stop": False}
MOST = 40  # maximum number of steps, which is more than all phases need


class Slow(torch.nn.Module):
    """A model whose forward pass takes at least `seconds`."""

    def __init__(self, seconds=0.0):
        super().__init__()
        self.linear, self.seconds = torch.nn.Linear(8, 4), seconds

    def forward(self, x):
        if self.seconds:
            time.sleep(self.seconds)
        return self.linear(x)


class Samples(Dataset):
    """A dataset with eight features per sample. Each subclass is slow in one stage."""

    transform = None
    read_s = 0.0

    def __len__(self):
        return 4000

    def read(self, index):
        if self.read_s:  # even sleep(0) would yield the CPU
            time.sleep(self.read_s)
        return b"0" * 8

    def decode(self, data):
        return torch.frombuffer(bytearray(data), dtype=torch.uint8).float()

    def __getitem__(self, index):
        x = self.decode(self.read(index))
        if self.transform is not None:
            x = self.transform(x)
        return x, index % 4


class SlowStorage(Samples):
    read_s = 0.02


class SomewhatSlowStorage(Samples):
    read_s = 0.004


class SlowDecode(Samples):
    def __init__(self):
        file = io.BytesIO()
        Image.effect_noise((1000, 1000), 60).save(file, "JPEG")
        self.file = file.getvalue()

    def read(self, index):
        return self.file

    def decode(self, data):
        image = Image.open(io.BytesIO(data)).convert("RGB")
        return torch.tensor(image.getpixel((0, 0)) * 3)[:8].float()


class PythonJitter:
    def __call__(self, x):
        total = 0
        for i in range(200_000):
            total += i % 7
        return x + total * 0


class SlowTransform(Samples):
    transform = PythonJitter()


def train(batches, model=None, after_step=lambda: None, session=None):
    """Trains until the session is done, or for MOST steps at most."""
    model = model or Slow()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loss_fn = torch.nn.CrossEntropyLoss()
    for number, (x, y) in enumerate(batches):
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()
        after_step()
        if number == MOST or (session is not None and session.watch.phase == "done"):
            break


@contextlib.contextmanager
def watched(**settings):
    """Yields a session that watches the loop. Its end() then returns the facts."""
    session = Session(Settings(**{**QUICK, **settings}), None)
    session.begin()
    try:
        yield session
    finally:
        session.end()


def verdict_on(*words, settings=None, **named):
    """Runs train() with these arguments. Returns the verdict, as on a machine with two CPUs."""
    with mock.patch.object(os, "sched_getaffinity", return_value={0, 1}):
        with watched(**(settings or {})) as session:
            train(*words, **named, session=session)
        verdict = judge(session.end())
    assert verdict.facts.phase == "done", str(verdict)
    return verdict
