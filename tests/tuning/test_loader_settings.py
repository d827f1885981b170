"""tune_loader proposes other loader settings only if their gain exceeds the noise."""

import random

import pytest
import tundish
from tundish import ArgumentError
from tundish import transforms as T
from tundish.tuning.loader_settings import measure_settings, noise, stages, tune_loader


class Machine:
    """Loaders on a simulated clock: `cost(settings)` is the seconds per batch."""

    def __init__(self, cost, spread=0.0, seed=1):
        self.now, self.cost, self.spread = 0.0, cost, spread
        self.random = random.Random(seed)
        self.made, self.open = [], 0

    def clock(self):
        return self.now

    def make(self, **settings):
        self.made.append(settings)
        return Loader(self, settings)

    def tune(self, cpus=4, **words):
        tried = stages({}, cpus)
        return measure_settings(self.make, tried, 100.0, clock=self.clock, **words)


class Loader:
    def __init__(self, machine, settings):
        self.machine, self.settings = machine, settings
        machine.open += 1

    def __iter__(self):
        for _ in range(7):  # short epochs
            factor = 1 + self.machine.random.uniform(-self.machine.spread, self.machine.spread)
            self.machine.now += self.machine.cost(self.settings) * factor
            yield [0] * 8, [0] * 8

    def close(self):
        self.machine.open -= 1


def more_threads_pay(settings):
    return 0.1 if settings.get("threads", 4) >= 6 else 0.2


def test_a_setting_that_pays_is_found():
    machine = Machine(more_threads_pay)
    report = machine.tune()
    assert report.settings["threads"] in (6, 8)
    assert report.samples_per_s == pytest.approx(2 * report.default_samples_per_s)
    assert report.default_samples_per_s == pytest.approx(8 / 0.2)
    assert f"threads={report.settings['threads']}" in report.code()
    assert machine.open == 0


def test_winning_settings_are_combined():
    def cost(settings):
        return more_threads_pay(settings) * (0.5 if settings.get("prefetch", 4) == 16 else 1.0)

    report = Machine(cost).tune()
    assert report.settings["prefetch"] == 16
    assert report.settings["threads"] in (6, 8)
    assert report.samples_per_s == pytest.approx(4 * report.default_samples_per_s)


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.4])
def test_equal_settings_leave_the_default(spread):
    for seed in range(10):
        report = Machine(lambda settings: 0.2, spread, seed).tune()
        assert report.settings == {}
        assert report.code() == "the defaults are best"


def test_a_gain_below_the_noise_leaves_the_default():
    report = Machine(lambda settings: 0.2 if settings else 0.206).tune()  # 3 %
    assert report.settings == {}
    assert report.trials[0].gain == pytest.approx(1.03)


def test_a_winner_that_does_not_win_again_leaves_the_default():
    machine = Machine(lambda settings: 0.2)

    def cost(settings):  # fast only while other loaders are open
        return 0.1 if settings.get("threads") == 8 and machine.open > 3 else 0.2

    machine.cost = cost
    assert machine.tune().settings == {}


def test_what_the_machine_prefetched_between_turns_is_not_counted():
    class Prefetching(Loader):
        """A loader whose first batches after a pause cost nothing."""

        def __iter__(self):
            while True:
                paused = self.machine.now != getattr(self, "left_at", None)
                self.free = self.settings.get("prefetch", 4) if paused else self.free
                self.free -= 1
                self.machine.now += 0.0 if self.free >= 0 else 0.2
                self.left_at = self.machine.now
                yield [0] * 8, [0] * 8

    machine = Machine(None)
    machine.make = lambda **settings: Prefetching(machine, settings)
    report = machine.tune()
    assert report.settings == {}
    assert report.default_samples_per_s == pytest.approx(40.0)


def test_the_step_is_part_of_what_is_measured():
    machine = Machine(more_threads_pay)

    def train(batch):
        machine.now += 10.0

    assert machine.tune(step=train).settings == {}  # the loader is not the bottleneck


def test_a_setting_that_the_loader_refuses_is_left_out():
    machine = Machine(more_threads_pay)
    plain = machine.make

    def make(**settings):
        if settings.get("threads") == 8:
            raise ArgumentError("too many threads")
        return plain(**settings)

    machine.make = make
    assert machine.tune().settings["threads"] == 6


def test_loaders_are_closed_when_a_batch_fails():
    machine = Machine(lambda settings: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        machine.tune()
    assert machine.open == 0


def test_what_the_user_set_is_not_tried():
    assert stages({"threads": 3, "prefetch": 9}, 4) == []
    assert [list(one) for stage in stages({}, 4) for one in stage] == (
        [["threads"]] * 4 + [["prefetch"]] * 3
    )
    assert {"threads": 4} not in stages({}, 4)[0]  # the default
    assert stages({"threads": 1, "prefetch": 1, "device": "cuda"}, 4) == [
        [{"decode": "cpu"}, {"decode": "gpu"}]
    ]


def test_noise_is_estimated_from_a_twin():
    assert noise([0.0, 0.0, 0.0]) == 0.0
    assert noise([0.1, 0.1, 0.1]) == pytest.approx(0.1)
    assert noise([0.2, -0.2, 0.2, -0.2, 0.0]) > 0.05


def test_invalid_arguments_are_refused():
    with pytest.raises(ArgumentError, match="seconds"):
        tune_loader("train.tnd", 4, seconds=0)
    with pytest.raises(ArgumentError, match="the function that makes the loader"):
        tune_loader(lambda **_: [], 4)
    with pytest.raises(ArgumentError, match="no batches"):
        tune_loader(lambda **_: [], seconds=1.0)


def test_a_real_pack_is_measured(photos):
    report = tune_loader(photos.pack, 4, transforms=[T.RandomResizedCrop(32)], seconds=2.0)
    assert report.default_samples_per_s > 0
    assert {name for trial in report.trials for name in trial.settings} <= {"threads", "prefetch"}
    assert "samples/s" in str(report)
    loader = tundish.Loader(photos.pack, 4, **report.settings)  # valid as arguments of the Loader
    loader.close()
