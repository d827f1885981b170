"""The lines of the loop that the doctor reports, and their cost."""

import io
import linecache
import sys
import time
from dataclasses import replace

import pytest
import torch
from tundish._process.code_origin import _OURS
from tundish.diagnosis.probe.clocks.blocked_clock import BlockedClock
from tundish.diagnosis.probe.loaders.dataset_profile import profile_dataset
from tundish.diagnosis.probe.profiles.line_samples import LineSampler, _columns, _user_line
from tundish.diagnosis.verdict.line_costs import LEAST_SAMPLES, shown
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers.written_facts import facts, line, sampled, step


def costs(lines):
    found = judge(facts([step(other=0.067)] * 20, lines=lines))
    return [one.what for one in found.changes if "outside the model" in one.what], found


def test_a_line_of_too_few_samples_is_not_a_change():
    rare = [line("other", 0.04, at=at, samples=LEAST_SAMPLES - 1) for at in (3, 4)]
    found, _ = costs([line("other", 0.5, samples=50), *rare])
    assert [one.partition(" ")[0] for one in found] == ["train.py:9"]
    found, verdict = costs([line("other", 1.0, samples=LEAST_SAMPLES - 1)])
    assert found == []
    assert verdict.sentence == "Host code outside the model takes 67 % of every step."


def test_the_longest_line_is_in_the_sentence_not_the_one_with_most_samples():
    _, verdict = costs([line("other", 0.9, at=3, samples=9), line("other", 0.1, samples=50)])
    assert "train.py:3" in verdict.sentence


def test_a_line_with_several_functions_is_one_change():
    names = [line("other", 0.5, name="a"), line("other", 0.1, name="b")]
    assert costs(names)[0] == ["train.py:9 (a) takes 67.0 ms per step outside the model"]
    framework = [
        line("other", 0.5, name="fit: a in x.py"),
        line("other", 0.5, name="fit: b in y.py"),
    ]
    assert len(costs(framework)[0]) == 2


@pytest.mark.parametrize("code", ["for x, y in loader:", "async for x in loader:  # batches"])
def test_the_header_of_a_loop_is_not_a_change(code):
    text = f"{code}\n"
    linecache.cache["/a/train.py"] = (len(text), None, ["\n"] * 8 + [text], "/a/train.py")
    try:
        found, verdict = costs([line("other", 0.5), line("other", 0.2, at=10)])
    finally:
        del linecache.cache["/a/train.py"]
    assert [one.partition(" ")[0] for one in found] == ["train.py:10"]
    assert "train.py:10" in verdict.sentence


def test_samples_of_validations_and_checkpoints_do_not_count():
    sampler = LineSampler()
    for boundary, seconds, at in [
        (True, 0.1, 1),
        (False, 0.1, 2),
        (False, 0.1, 2),
        (False, 0.9, 3),
    ]:
        sampler._current = [(("other", True, "/a/train.py", at, ""), 0.002)] * 7
        sampler.step_ended(boundary, seconds)
    (found,) = sampler.facts()
    assert (found.line, found.samples, found.share) == (2, 14, 1.0)


def test_all_samples_count_if_no_regular_step_was_seen():
    sampler = LineSampler()
    sampler._current = [(("other", True, "/a/train.py", 1, ""), 0.002)] * 7
    sampler.step_ended(True, 0.1)
    assert [one.samples for one in sampler.facts()] == [7]


def test_a_sample_represents_the_time_since_the_previous_sample():
    """No sample is taken during a C function that holds the GIL."""
    sampler = LineSampler()
    places = [("other", True, "/a/train.py", at, "") for at in (1, 2)]
    sampler._current = [(places[0], 0.002)] * 50 + [(places[1], 0.1)] * 9
    sampler.step_ended(False, 1.0)
    first, second = sampler.facts()
    assert (first.line, first.samples, first.share) == (2, 9, pytest.approx(0.9))
    assert (second.line, second.samples) == (1, 50)


def test_hooks_of_the_doctor_are_not_reported_as_called_functions():
    seen = []
    scope = {"look": lambda: seen.append(_user_line(sys._getframe(1)))}
    for file, text in {
        torch.__file__: "def backward(): look()",
        f"{_OURS[1]}/hooks.py": "def call(): backward()",
        "/home/train.py": "call()",
    }.items():
        exec(compile(text, file, "exec"), scope)
    assert seen == [("/home/train.py", 1, "backward", torch.__file__)]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 knows no columns")
def test_the_call_that_takes_the_time_is_named_in_a_long_line(tmp_path):
    file = tmp_path / "train.py"
    words = "a = 1; " * 20 + "look(0.01)"
    file.write_text(words)
    seen = []
    scope = {"look": lambda _: seen.append(_columns(sys._getframe(1), str(file)))}
    exec(compile(words, str(file), "exec"), scope)
    assert shown(str(file), 1, seen[0]).endswith("train.py:1  ... look(0.01)")
    assert shown(str(file), 1).endswith(" ...")


def test_functions_of_python_itself_are_not_named():
    loader = sampled([("get_ident", "other", 0.008, 0.0), ("open", "read", 0.001, 0.0)], 0.01)
    rows = loader.samples.rows
    rows[:] = [replace(row, file="") for row in rows]
    verdict = judge(facts([step(data=0.1)] * 20, loader=loader))
    assert verdict.loading.slowest() == "dataset"
    assert "get_ident" not in str(verdict)


def test_one_cpu_gets_one_worker():
    loader = sampled([("f", "decode", 0.01, 0.004)], 0.01, 0.004, workers=0)
    verdict = judge(facts([step(data=0.1)] * 20, loader=loader, cpus=1))
    proposed = [one.apply for one in verdict.changes if one.apply.startswith("workers=")]
    assert proposed == ["workers=1"]
    assert verdict.cause.name == "decode"


class LazySamples(torch.utils.data.Dataset):
    """The first sample opens a resource; every sample calls a function 300 times."""

    ready = False

    def __len__(self):
        return 100

    def __getitem__(self, index):
        if not LazySamples.ready:
            LazySamples.ready = True
            time.sleep(0.5)
        for _ in range(300):
            id(self)
        time.sleep(0.003)
        return 0


def test_the_first_sample_and_the_clock_do_not_count_as_dataset_time():
    found = profile_dataset(torch.utils.data.DataLoader(LazySamples(), 4), 1.0)
    rows = {row.name: row.s for row in found.rows}
    assert rows["sleep"] > 0.6 * found.sample_s
    assert found.sample_s < 0.1


def test_waiting_for_a_busy_cpu_does_not_count_as_function_time():
    clock = BlockedClock()
    clock.close()
    clock._file = io.BytesIO(b"0 1000000000 1")
    begin = clock.own()
    clock._file = io.BytesIO(b"0 61000000000 1")
    end = clock.own()
    assert end[0] - begin[0] == pytest.approx(-60, abs=1)
