"""The facts file of a process: what the probe writes is read again, and any other file is refused."""

import json
import random
import re
import sys

import pytest
from tundish.diagnosis import facts_file
from tundish.diagnosis.cli.doctor_verb import command_verdict
from tundish.diagnosis.facts_file import (
    FactsError,
    parse_facts,
    read_facts,
    read_timeline_part,
)
from tundish.diagnosis.probe.collect import save
from tundish.diagnosis.probe.facts import (
    VERSION,
    AppliedFacts,
    CallFacts,
    EngineFacts,
    GpuFacts,
    ObservedFacts,
)
from tundish.diagnosis.probe.layers.layer_facts import (
    Convolution,
    LayerFacts,
    LayersFacts,
    RoofFacts,
)
from tundish.diagnosis.probe.settings import Settings
from tundish.diagnosis.process.command import run

from tests.helpers.written_facts import ON_GPU, facts, line, sampled, step
from tests.helpers.written_records import recorded


def complete():
    """Returns facts with a value in every field."""
    conv = Convolution(3, 4, 1, [3, 3], [1, 1], "NHWC")
    layer = LayerFacts("a", "Conv2d", conv=conv, types={"bf16": 1}, padded=0.5)
    call = CallFacts(1 << 47, True, True, "/a/train.py", 3, 4, False)
    return facts(
        [step(data=0.1, counts={"data": 1}), step("cached", gpu={"data": 0.1})],
        torch=ON_GPU,
        lines=[line("other", 0.5)],
        loader=sampled([("f", "read", 0.1, 0.1)], 0.1, engine=EngineFacts(True, "", 0.1)),
        gpu_profile=GpuFacts(3, *[0.5] * 9),
        recorded=recorded(),
        layers=LayersFacts("cuda", 3, 0.0, 0.1, "", RoofFacts(None, {"bf16": 1e12}, 1.0), [layer]),
        observed=ObservedFacts(1, 2, ["a"], [], 0, [], 0, [], 0, [call], 1, [], True),
        applied=AppliedFacts(True, "num_workers=3"),
        files=["/a/\udcff.py"],
    )


def values():
    return json.loads(json.dumps(complete(), default=vars))


def test_facts_are_the_same_after_writing_and_reading(tmp_path):
    save(str(tmp_path), complete())
    assert read_facts(str(tmp_path / "1.json")) == complete()


def changed(change):
    found = values()
    change(found)
    return found


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda v: v.update(version=1), f"version: 1 instead of {VERSION}"),
        (lambda v: v.pop("version"), f"version: None instead of {VERSION}"),
        (lambda v: v.pop("cpus"), "cpus: missing"),
        (lambda v: v.update(cpus=True), "cpus: True is not of type int"),
        (lambda v: v.update(rank="0"), "rank: '0' is not of type int"),
        (lambda v: v.update(more=1), "more: unknown"),
        (lambda v: v.update(steps={}), "steps: a dict of 0 is not of type list"),
        (lambda v: v["steps"].insert(0, 7), "steps[0]: 7 is not an object"),
        (lambda v: v["steps"][1]["seconds"].update(data=None), "steps[1].seconds.data: None is not of type float"),
        (lambda v: v["steps"][0].update(cpu_s=float("nan")), "steps[0].cpu_s: nan is out of range"),
        (lambda v: v["steps"][0].update(batches=1 << 70), "steps[0].batches: 1180591620717411303424 is out of range"),
        (lambda v: v["torch"].update(gpu=3), "torch.gpu: 3 is not of type str"),
        (lambda v: v["loader"]["samples"]["rows"][0].update(kind="x"), "loader.samples.rows[0].kind: 'x' is not one of read"),
        (lambda v: v["layers"]["rows"][0]["conv"].pop("groups"), "layers.rows[0].conv.groups: missing"),
        (lambda v: v["recorded"]["memory"]["curve"]["kinds"].update(a=[0.5]), "recorded.memory.curve.kinds.a[0]: 0.5 is not of type int"),
        (lambda v: v.update(script="a" * (1 << 21)), "script: 2,097,152 elements; the limit is 1,048,576"),
    ],
)  # fmt: skip
def test_an_error_names_the_file_and_the_field(change, text):
    with pytest.raises(FactsError, match="^" + re.escape(f"x.json: {text}")):
        parse_facts(changed(change), "x.json")


def test_a_list_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(facts_file, "MOST_ITEMS", 1)
    with pytest.raises(FactsError, match=r"x: steps: 2 elements; the limit is 1"):
        parse_facts(values(), "x")


@pytest.mark.parametrize("text", ["", "[" * 100_000, "[]", "null", "{}", "nul", '{"version": 2}'])
def test_a_file_without_facts_is_refused(tmp_path, text):
    path = tmp_path / "1.json"
    path.write_text(text)
    with pytest.raises(FactsError, match=re.escape(str(path))):
        read_facts(str(path))


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(facts_file, "MOST_BYTES", 10)
    save(str(tmp_path), complete())
    with pytest.raises(FactsError, match="larger than"):
        read_facts(str(tmp_path / "1.json"))


def test_random_changes_of_a_file_never_raise_another_error():
    numbers = random.Random(7)
    odd = [None, True, -1, 1e400, "", "a", [], {}, [[]], {"a": 1}]
    errors = []
    for _ in range(400):
        found = values()
        parent, node = None, found
        while isinstance(node, dict | list) and node and numbers.random() < 0.9:
            key = numbers.choice(list(node) if isinstance(node, dict) else range(len(node)))
            parent, node = (node, key), node[key]
        if parent is not None:
            parent[0][parent[1]] = numbers.choice(odd)
        try:
            parse_facts(found, "x")
        except FactsError as error:
            errors.append(str(error))
    assert len(errors) > 100
    assert all(text.startswith("x: ") for text in errors)


WRITES = """
import os
folder = os.environ["TUNDISH_DOCTOR"].partition("|")[0]
with open(os.path.join(folder, "1.json"), "w") as file:
    file.write('{"version": 1}')
"""


def test_a_facts_file_of_another_version_is_a_note_of_the_verdict(tmp_path):
    (tmp_path / "a.py").write_text(WRITES)
    ended = run([sys.executable, str(tmp_path / "a.py")], Settings())
    assert (ended.code, ended.facts) == (0, [])
    verdict = command_verdict(ended)
    assert verdict.sentence == "No verdict: the facts of the script cannot be read."
    (note,) = verdict.notes
    assert note.startswith("facts left out: ")
    assert note.endswith(f"1.json: version: 1 instead of {VERSION}")


def part(**more):
    values = {"version": 1, "pid": 1, "rank": 0, "world": 1, "dropped": 0, "loaders": []}
    clock = {"monotonic_ns": 1, "offset_ns": 2, "width_ns": 3}
    return {**values, "clocks": [clock, clock], "steps": [], "spans": [], **more}


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"version": 2}, "version: 2 instead of 1"),
        ({"clocks": []}, "clocks: 0 elements instead of 2"),
        ({"steps": [{"number": 1, "begin": "0", "end": 1}]}, "steps[0].begin: '0' is not of type float"),
        ({"spans": [[1, 2]]}, "spans[0]: a list of 2 is not an object"),
    ],
)  # fmt: skip
def test_a_part_of_a_timeline_is_checked_in_the_same_way(tmp_path, more, text):
    path = tmp_path / "1.timeline"
    path.write_text(json.dumps(part()))
    assert read_timeline_part(str(path)).pid == 1
    path.write_text(json.dumps(part(**more)))
    with pytest.raises(FactsError, match=re.escape(f"{path}: {text}")):
        read_timeline_part(str(path))
