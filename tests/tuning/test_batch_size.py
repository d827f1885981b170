"""find_batch_size: the smallest batch within 3 % of the best samples/s, not the largest one."""

import random
from collections import Counter

import pytest
import torch
from tundish import ArgumentError
from tundish.tuning.job import Job
from tundish.tuning.search import batch_size
from tundish.tuning.search.batch_search import BatchSearch, DoesNotFit, SizeTiming, split_batch
from tundish.tuning.search.batch_size import find_batch_size, report_of, resize_batch
from tundish.tuning.step_graph import CannotCapture
from tundish.tuning.tricks.autocast import Bf16
from tundish.tuning.tricks.tf32 import TF32

from . import jobs


class Machine:
    """A GPU with a planted curve: fixed seconds per step, plus seconds per sample."""

    def __init__(self, fixed=0.0, per_sample=1e-3, memory=None, noise=0.0, rate=None):
        self.fixed, self.per_sample, self.memory, self.noise = fixed, per_sample, memory, noise
        self.rate = rate
        self.asked = []
        self._random = random.Random(1)

    def __call__(self, batch):
        self.asked.append(batch)
        if self.memory is not None and batch > self.memory:
            raise DoesNotFit("out of memory")
        seconds = self.fixed + batch * self.per_sample
        if self.rate is not None:
            seconds = batch / self.rate(batch)
        return SizeTiming(
            seconds * (1 + self._random.uniform(-self.noise, self.noise)), batch * 1000
        )


def found(machine, samples_per_update=None, **words):
    search = BatchSearch(machine, **words)
    return report_of(search, search.run(), samples_per_update)


def test_a_planted_knee_is_found():
    machine = Machine(rate=lambda batch: min(batch, 96) * 10)  # increases up to 96, then stays flat
    report = found(machine)
    assert report.batch == 96
    assert max(machine.asked) < 2048
    assert "stopped growing" in report.stopped
    assert all(point.batch % 8 == 0 for point in report.points)


def test_the_knee_is_not_the_largest_that_fits():
    report = found(Machine(rate=lambda batch: min(batch, 64) * 10, memory=300))
    assert report.batch == 64
    assert "does not fit" in report.stopped


def test_a_curve_that_still_grows_ends_near_the_memory():
    report = found(Machine(fixed=1.0, per_sample=1e-6, memory=200))
    assert report.batch == 192  # between 128, which fits, and 256, which does not
    assert report.points[-1].batch == 192


def test_noise_on_the_plateau_does_not_move_the_answer_far():
    for seed in range(20):
        machine = Machine(rate=lambda batch: min(batch, 128) * 10, noise=0.01)
        machine._random = random.Random(seed)
        assert 112 <= found(machine).batch <= 128


def test_the_noise_and_what_it_leaves_open_are_reported():
    curve = {"fixed": 0.02, "per_sample": 1e-3}  # a curve without a sharp knee
    exact = found(Machine(**curve))
    assert exact.noise == 0.0
    assert exact.low == exact.batch == exact.high
    assert str(exact).endswith("noise: equal measurements differed by 0.0 %")
    noisy = found(Machine(**curve, noise=0.02))
    assert 0.01 < noisy.noise < 0.04
    assert noisy.low < noisy.high
    assert noisy.low <= noisy.batch <= noisy.high
    assert f"the answer may be {noisy.low} to {noisy.high}" in str(noisy)


def test_one_lucky_measurement_does_not_win():
    class Lucky(Machine):
        def __call__(self, batch):
            measured = super().__call__(batch)
            first = self.asked.count(batch) == 1
            return SizeTiming(measured.step_s * (0.92 if batch == 512 and first else 1), 0)

    # Without repeated measurements, 512 would make 64 look 8 % too slow.
    machine = Lucky(rate=lambda batch: min(batch, 64) * 10)
    assert found(machine).batch == 64
    assert machine.asked.count(512) == 3


def test_sizes_near_the_best_after_a_lucky_turn_are_measured_again():
    class Lucky(Machine):
        def __call__(self, batch):
            measured = super().__call__(batch)
            first = self.asked.count(batch) == 1
            return SizeTiming(measured.step_s * (0.7 if batch == 512 and first else 1), 0)

    machine = Lucky(rate=lambda batch: min(batch, 64) * 10)
    assert found(machine).batch == 64
    assert [machine.asked.count(batch) for batch in (64, 128, 256, 512)] == [3, 3, 3, 3]


def test_a_curve_with_a_dip_is_followed_beyond_it():
    rates = {8: 100, 16: 200, 32: 300, 64: 250, 128: 290, 256: 600}
    machine = Machine(rate=lambda batch: rates.get(batch, 600 if batch > 256 else 280))
    assert found(machine).batch == 256


def test_a_cap_is_kept():
    machine = Machine(fixed=1.0, per_sample=1e-6)
    report = found(machine, memory_cap_bytes=100_000)
    assert report.batch == 96
    assert "more than the cap" in report.stopped
    assert max(point.peak_bytes for point in report.points) <= 100_000
    assert max(machine.asked) <= 128  # not far above the cap


def test_a_size_whose_predicted_memory_is_far_beyond_the_cap_is_not_tried():
    machine = Machine(fixed=1.0, per_sample=1e-6)
    found(machine, memory_cap_bytes=70_000)
    assert 128 not in machine.asked


def test_where_eight_do_not_fit_smaller_sizes_are_tried():
    report = found(Machine(memory=3), samples_per_update=32)
    assert (report.batch, report.micro_batch, report.accumulate) == (2, 2, 16)
    with pytest.raises(ArgumentError, match=r"not even one sample fits: 1 does not fit.*\n  fix:"):
        found(Machine(memory=0))


@pytest.mark.parametrize(("always_fits", "answer"), [(4, 4), (1, 1), (0, None)])
def test_a_size_that_fits_only_once_is_replaced_by_a_smaller_one(always_fits, answer):
    measured = Counter()

    def measure(batch):
        measured[batch] += 1
        fits = batch <= always_fits or measured[batch] == 1
        return SizeTiming(0.001 * batch, 100 if fits else 200)

    search = BatchSearch(measure, memory_cap_bytes=150, max_batch_size=16)
    if answer is None:
        with pytest.raises(ArgumentError, match="not even one sample fits"):
            search.run()
    else:
        assert search.run() == answer
    assert max(measured.values()) <= 3


def test_a_wanted_batch_that_does_not_fit_is_accumulated():
    machine = Machine(rate=lambda batch: min(batch, 64) * 10, memory=100)
    report = found(machine, samples_per_update=512)
    assert (report.batch, report.micro_batch, report.accumulate) == (64, 64, 8)
    assert "8 micro-batches of 64" in str(report)
    fits = found(Machine(rate=lambda batch: min(batch, 64) * 10, memory=100), samples_per_update=88)
    assert (fits.micro_batch, fits.accumulate) == (88, 1)


@pytest.mark.parametrize(
    ("wanted", "fits", "expected"),
    [
        (512, 64, (64, 8)),
        (512, 96, (64, 8)),  # 6 parts would fit, but not as equal multiples of 8
        (100, 64, (50, 2)),
        (1000, 64, (40, 25)),
        (97, 64, (49, 2)),  # a prime: split into 49 and 48
        (7, 2, (1, 7)),
    ],
)
def test_micro_batches_are_equal_and_multiples_of_eight_where_they_can_be(wanted, fits, expected):
    micro, parts = split_batch(wanted, fits)
    assert (micro, parts) == expected
    assert micro <= fits
    assert micro * parts >= wanted


def test_the_report_as_text_marks_the_answer():
    lines = str(found(Machine(rate=lambda batch: min(batch, 32) * 10))).splitlines()
    assert next(line for line in lines if "use this" in line).split()[0] == "32"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"tolerance": 1.0}, "tolerance"),
        ({"samples_per_update": 0}, "samples_per_update"),
        ({"multiple": 0}, "multiple of 0"),
        ({"max_batch_size": 4}, "max_batch_size=4"),
    ],
)
def test_invalid_arguments_are_refused(words, text):
    with pytest.raises(ArgumentError, match=text):
        find_batch_size(None, **words)


def test_a_batch_is_repeated_or_cut_and_keeps_its_layout():
    images = torch.randn(3, 2, 4, 4).contiguous(memory_format=torch.channels_last)
    batch = {"x": images, "y": torch.arange(3), "scale": torch.ones(5), "name": "a"}
    large, small = resize_batch(batch, 8), resize_batch(batch, 2)
    assert large["y"].tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert torch.equal(large["x"][7], images[1])
    assert large["x"].is_contiguous(memory_format=torch.channels_last)
    assert large["scale"] is batch["scale"]
    assert small["y"].tolist() == [0, 1]
    assert large["name"] == "a"


def job_of(model=None):
    torch.manual_seed(0)
    model = model or torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Linear(64, 4))
    batch = (torch.randn(4, 32), torch.randint(4, (4,)))
    return Job(
        model, torch.optim.SGD(model.parameters(), 0.1), torch.nn.CrossEntropyLoss(), [batch]
    )


def test_sizes_are_measured_in_a_separate_process():
    job = job_of()
    before = {name: value.clone() for name, value in job.model.state_dict().items()}
    report = find_batch_size(job, max_batch_size=32, tricks=[Bf16()])
    assert {8, 16, 32} <= {point.batch for point in report.points}
    assert report.batch in (8, 16, 24, 32)
    assert report.device == "cpu"
    assert all(point.samples_per_s > 0 and point.peak_bytes > 0 for point in report.points)
    for name, value in job.model.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.mark.usefixtures("warm_trials")
def test_a_job_that_cannot_be_made_is_not_a_size_that_fails():
    for cap in (None, 2**40):
        with pytest.raises(
            ArgumentError,
            match=r"build_raises\(\) fails: the dataset is not there\n  fix: call build_raises",
        ):
            find_batch_size(jobs.build_raises, memory=cap)


@pytest.mark.usefixtures("warm_trials")
def test_progress_names_every_size_and_its_clock_runs():
    class Shown(list):
        ticks = 0

        def tick(self):
            self.ticks += 1

        __call__ = list.append

    shown = Shown()
    find_batch_size(job_of(), max_batch_size=16, progress=shown)
    assert shown[:3] == ["the job", "8 samples", "16 samples"]
    assert shown.ticks > 0


@pytest.mark.usefixtures("warm_trials")
def test_a_model_limited_to_one_batch_size_is_reported():
    fixed = torch.nn.Sequential(
        torch.nn.Unflatten(0, (2, 2)), torch.nn.Flatten(0, 1), torch.nn.Linear(32, 4)
    )
    with pytest.raises(
        ArgumentError, match=r"fails with a batch of 8 samples: .*\n  fix: make the model"
    ):
        find_batch_size(job_of(fixed), max_batch_size=16)


@pytest.mark.usefixtures("warm_trials")
def test_a_trick_that_cannot_be_applied_is_named():
    with pytest.raises(ArgumentError, match="TF32"):
        find_batch_size(job_of(), max_batch_size=16, tricks=[TF32()])


def test_out_of_memory_is_caught_and_what_was_made_is_released(monkeypatch):
    job = job_of()
    monkeypatch.setattr(batch_size, "_made", {})
    monkeypatch.setattr(batch_size, "TURN_S", 0.0)

    class Source:
        def make(self, seed):
            return job

    def fails(outputs, targets):
        if len(targets) > 16:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate\nmore")
        return torch.nn.functional.cross_entropy(outputs, targets)

    job.loss_fn = fails
    words = {"source": Source(), "tricks": [], "seed": 0}
    reply = batch_size.measure_size(**words, batch=32)
    assert reply == {"does_not_fit": "CUDA out of memory. Tried to allocate"}
    assert all(p.grad is None for p in job.model.parameters())
    assert batch_size.measure_size(**words, batch=16)["step_s"] > 0


def test_out_of_memory_is_recognized_in_chained_errors():
    capture = CannotCapture("train.py:3: loss.backward()")
    capture.__cause__ = torch.OutOfMemoryError("CUDA out of memory.")
    assert batch_size.out_of_memory(capture) == "CUDA out of memory."
    refused = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried\nmore")
    assert (
        batch_size.out_of_memory(refused) == "DefaultCPUAllocator: can't allocate memory: you tried"
    )
    assert batch_size.out_of_memory(MemoryError()) == "out of memory"
    assert batch_size.out_of_memory(RuntimeError("shapes differ")) == ""


def test_a_process_that_dies_of_a_large_batch_is_replaced():
    class Hungry(torch.nn.Linear):
        """Kills its process, like the kernel does when memory is exhausted."""

        def forward(self, x):
            if len(x) > 16:
                import os
                import signal

                os.kill(os.getpid(), signal.SIGKILL)
            return super().forward(x)

    hungry = torch.nn.Sequential(Hungry(32, 4))
    with pytest.raises(ArgumentError, match="pickled"):
        find_batch_size(job_of(hungry), max_batch_size=64)  # a class defined inside a function

    class Child(batch_size.InChild):
        def __init__(self):
            super().__init__(None, [], 0)
            self._worked, self.ended = True, 0

        def _ask(self, function, **words):
            if words["batch"] > 16:
                raise batch_size.TrialFailed("its process ended with SIGKILL", "died")
            return {"step_s": 1.0, "peak": 1}

        def end(self):
            self.ended += 1

    child = Child()
    search = BatchSearch(measure=child)
    assert search.run() == 16
    assert child.ended >= 1
    assert "SIGKILL" in search.stopped
