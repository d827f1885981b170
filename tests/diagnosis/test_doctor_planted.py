"""Planted bottlenecks: the verdict names the cause. No test asserts a time."""

import io
import time

import pytest
import torch
import tundish
from PIL import Image
from torch.utils.data import DataLoader, Dataset

HERE = "test_doctor_planted.py"


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that spin while others want the CPU would measure the machine, not the loop."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Slow(torch.nn.Module):
    """A model whose forward takes at least so many seconds."""

    def __init__(self, seconds=0.0):
        super().__init__()
        self.linear, self.seconds = torch.nn.Linear(8, 4), seconds

    def forward(self, x):
        time.sleep(self.seconds)
        return self.linear(x)


class Samples(Dataset):
    """Eight features per sample; subclasses are slow somewhere."""

    transform = None

    def __len__(self):
        return 4000

    def read(self, index):
        return b"0" * 8

    def decode(self, data):
        return torch.frombuffer(bytearray(data), dtype=torch.uint8).float()

    def __getitem__(self, index):
        x = self.decode(self.read(index))
        if self.transform is not None:
            x = self.transform(x)
        return x, index % 4


class SlowStorage(Samples):
    def read(self, index):
        time.sleep(0.01)
        return b"0" * 8


class SomewhatSlowStorage(Samples):
    def read(self, index):
        time.sleep(0.003)
        return b"0" * 8


class SlowDecode(Samples):
    def __init__(self):
        file = io.BytesIO()
        Image.effect_noise((700, 700), 60).save(file, "JPEG")
        self.file = file.getvalue()

    def read(self, index):
        return self.file

    def decode(self, data):
        image = Image.open(io.BytesIO(data)).convert("RGB")
        return torch.tensor(image.getpixel((0, 0)) * 3)[:8].float()


class PythonJitter:
    def __call__(self, x):
        total = 0
        for i in range(100_000):
            total += i % 7
        return x + total * 0


class SlowTransform(Samples):
    transform = PythonJitter()


def train(batches, model=None, after_step=lambda: None, most=200):
    model = model or Slow()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loss_fn = torch.nn.CrossEntropyLoss()
    for number, (x, y) in enumerate(batches):
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()
        after_step()
        if number == most:
            break


def verdict_on(*words, most=70, **named):
    with tundish.doctor(steps=8) as doctor:
        train(*words, most=most, **named)
    assert doctor.verdict.facts["phase"] == "done", str(doctor.verdict)
    return doctor.verdict


def test_slow_storage():
    verdict = verdict_on(DataLoader(SlowStorage(), 4), most=45)
    assert (verdict.cause.name, verdict.cause.detail) == ("storage", "SlowStorage.read")
    assert "reading" in verdict.sentence
    assert verdict.figures.ceiling_s < verdict.figures.step_s / 2
    assert verdict.figures.ceiling_from == "replay"


def test_slow_storage_in_a_worker_process():
    verdict = verdict_on(DataLoader(SlowStorage(), 4, num_workers=1), most=50)
    assert (verdict.cause.name, verdict.cause.detail) == ("storage", "SlowStorage.read")
    assert "num_workers=1" in verdict.sentence


def test_slow_decode():
    verdict = verdict_on(DataLoader(SlowDecode(), 4), most=45)
    assert verdict.cause.name == "decode"


def test_slow_python_transform():
    verdict = verdict_on(DataLoader(SlowTransform(), 4), most=45)
    assert (verdict.cause.name, verdict.cause.detail) == ("transform", "PythonJitter")
    assert any("PythonJitter" in one.what for one in verdict.changes)


def test_too_few_workers():
    verdict = verdict_on(DataLoader(SomewhatSlowStorage(), 8), Slow(0.05), most=45)
    assert verdict.cause.name == "workers"
    first = verdict.changes[0]
    assert "num_workers=" in first.how
    assert first.predicted_s < verdict.figures.step_s


def test_host_bound():
    verdict = verdict_on(DataLoader(Samples(), 4), after_step=lambda: time.sleep(0.03), most=45)
    assert verdict.cause.name == "host"
    assert verdict.cause.detail.startswith(HERE)
    assert HERE in verdict.changes[0].how


def test_the_model_bounds_the_step():
    verdict = verdict_on(DataLoader(Samples(), 4), Slow(0.03), most=45)
    assert (verdict.cause.name, verdict.cause.detail) == ("compute", "forward")
    assert "tundish tune" in verdict.changes[-1].how


def test_a_loss_outside_modules_belongs_to_the_model():
    """The loop itself calls a function of torch."""
    model = Slow()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    scores, classes = torch.randn(3000, 1000), torch.zeros(3000, dtype=torch.int64)
    with tundish.doctor(steps=8) as doctor:
        for _, (x, _) in zip(range(45), DataLoader(Samples(), 4)):
            optimizer.zero_grad()
            model(x).sum().backward()
            torch.nn.functional.cross_entropy(scores, classes)
            optimizer.step()
    assert (doctor.verdict.cause.name, doctor.verdict.cause.detail) == ("compute", "forward")


def test_an_iterator_of_no_known_kind():
    def batches():
        while True:
            time.sleep(0.02)
            yield torch.ones(4, 8), torch.zeros(4, dtype=torch.int64)

    verdict = verdict_on(batches(), most=45)
    assert verdict.cause.name == "loader"
    assert verdict.cause.detail.startswith(HERE)
    assert verdict.figures.ceiling_from == "computed"
