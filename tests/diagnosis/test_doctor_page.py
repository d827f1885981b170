"""The report: complete, escaped, one small file, legible at narrow widths, with documented JSON."""

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from tundish.diagnosis.layers.layer_text import big
from tundish.diagnosis.probe.facts import GpuFacts, LineFacts
from tundish.diagnosis.probe.layers.layer_facts import LayerFacts, LayersFacts, RoofFacts
from tundish.diagnosis.report.comparison import read_report
from tundish.diagnosis.report.environment import environment
from tundish.diagnosis.report.layer_section import SHOWN_ROWS
from tundish.diagnosis.report.step_chart import steps_chart
from tundish.diagnosis.report.verdict_page import report_page
from tundish.diagnosis.verdict.excerpts import excerpt
from tundish.diagnosis.verdict.straggler import judge_ranks
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers.chromium import look_at
from tests.helpers.program import ROOT, needs_program
from tests.helpers.written_facts import facts, sampled, step
from tests.helpers.written_records import TIMELINE, recorded

MOST_BYTES = 500_000
PAGE = (ROOT / "docs" / "doctor-json.md").read_text()
VOID = {"meta", "br", "line", "rect", "polyline", "circle"}
EVIL = "<script>alert('x')</script>&\"'"
FINDING = {
    "file": __file__,
    "line": 3,
    "check": "item-in-loop",
    "level": "warning",
    "text": "waits",
    "fix": "read it later",
    "page": "docs/check.md",
}


LAYERS = LayersFacts(
    device="cuda",
    steps=3,
    total_s=0.03,
    outside_s=0.001,
    counts_missing_reason="",
    roof=RoofFacts(4e12, {"bf16": 8e14, "tf32": 4e14}, 0.6),
    rows=[
        LayerFacts(
            name=f"layer{n}.{EVIL}",
            type="Conv2d",
            shape_out=[8, 64, 56, 56],
            forward_s=1e-3 / (n + 1),
            backward_s=2e-3 / (n + 1),
            bytes=10**8 * (n + 1),
            flops=0 if n % 5 == 4 else 10**11,
            types={"bf16": 10**11} if n % 5 != 4 else {},
            by_kind={"elementwise": 1},
        )
        for n in range(300)
    ],
)
PROFILE = GpuFacts(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5)


def values(findings=(), steps=40, **more):
    loader = sampled([(EVIL, "decode", 0.01, 0.0), ("Crop", "transform", 0.004, 0)], 0.02)
    lines = [LineFacts("other", True, __file__, 20, "f", 0.5, 50, 0, 0)]
    counts = {"data": 1}
    all_steps = [step("warm-up", True, counts=counts)]
    all_steps += [step(data=0.2, other=0.02, counts=counts)] * steps
    all_steps += [step("cached", counts=counts)] * 9
    seen = {"loader": loader, "lines": lines, "gpu_profile": PROFILE, "layers": LAYERS}
    verdict = judge(facts(all_steps, **{**seen, "recorded": recorded(), **more}))
    verdict.timeline = {**TIMELINE, "file": f"{EVIL}.json"}
    verdict.findings = list(findings)
    verdict.applied = {
        "number": 1,
        "apply": "workers=8",
        "what": EVIL,
        "done": True,
        "text": "num_workers=8",
        "predicted_s": 0.05,
        "measured_s": 0.06,
        "difference": 0.2,
        "at_best": False,
        "sentence": "then",
    }
    machine = {"cpu": "a CPU", "cores": 8, "memory_gb": 1, "system": "Linux", "busy": 0.5}
    origin = {"command": f"python {EVIL}", "machine": machine, "versions": {"torch": "2"}}
    keys = ("area", "name", "level", "figure", "reason", "fix")
    origin["environment"] = [
        dict(zip(keys, ("memory", "swap", "ok", "none", "", ""))),
        dict(zip(keys, ("cpu", "load", "warning", "17 tasks", "others", EVIL))),
    ]
    return {**verdict.as_json(), "processes": 1, "exit": 0, **origin}


class Tags(HTMLParser):
    """Checks that tags are closed in the right order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_has_every_part_and_needs_no_other_file():
    found = values([FINDING])
    text = report_page(found)
    tags = Tags(text).seen
    assert html.escape(found["sentence"]) in text
    for change in found["changes"]:
        assert html.escape(change["what"]) in text
    for words in (
        *("Where the time of a step goes", "Step by step", "Inside the loader", "waiting for data"),
        *(
            "Lines of the loop outside the model",
            "Applied change",
            "+20.0%",
            "<h2>Checks</h2>",
        ),
        *("Memory of a step", "Lines that hold the memory", "train.py:6", "Functions of the loop"),
        *("outlive their step", "<h2>Timeline</h2>"),
        *("<h2>Layers</h2>", "FLOPs per byte", "bf16: 800 TFLOP/s", "and 260 faster layers"),
        *("item-in-loop: waits", "read it later", "How it was measured", "a CPU, 8 cores"),
    ):
        assert words in text, words
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in tags}
    assert not [one for _, one in tags if {"src", "href", "onclick"} & set(one)]
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert sum(one.get("role") == "img" and bool(one["aria-label"]) for _, one in tags) >= 4


def test_problems_of_the_environment_come_first():
    text = report_page(values())
    assert text.index("17 tasks") < text.index("memory: swap")
    assert "others. Fix: &lt;script" in text


@needs_program
def test_the_environment_section_equals_the_output_of_env(monkeypatch):
    found = environment()
    assert {"software", "cpu", "memory"} <= {one["area"] for one in found}
    assert {one["level"] for one in found} <= {"ok", "warning", "problem"}
    monkeypatch.setattr("tundish.diagnosis.report.environment.find_program", lambda: "/bin/false")
    assert environment() == []


def test_user_text_is_escaped_and_pictures_are_svg():
    text = report_page(values([{**FINDING, "text": EVIL, "fix": EVIL}]))
    assert EVIL not in text
    assert "<script" not in text
    pictures = re.findall(r"<svg.*?</svg>", text, re.S)
    assert pictures
    for picture in pictures:
        ElementTree.fromstring(picture)


def test_code_is_shown_around_the_line_that_is_meant():
    text = report_page(values([FINDING]))
    here = Path(__file__).read_text().splitlines()
    assert f"<b>    3  {html.escape(here[2])}</b>" in text
    assert html.escape(here[4]) in text
    assert excerpt("/no/such/file.py", 7) == []
    assert excerpt(__file__, 10**9) == []


def test_the_largest_page_is_small_enough():
    found = values([FINDING] * 500, steps=5000)
    assert len(report_page(found).encode()) < MOST_BYTES


def test_pages_are_complete_with_few_facts():
    for one in (facts([]), facts([step()] * 9), facts([step()] * 9, loader=None)):
        Tags(report_page(judge(one).as_json()))
    ranks = [facts([step(communication=0.1)] * 9, world=2), facts([step(other=0.1)] * 9, world=2)]
    assert "rank 0" in report_page(judge_ranks(ranks).as_json())


ORANGE = "#c2410c"


def fills(chart):
    """Returns the colors of the bars of a step chart, from the bottom to the top."""
    return re.findall(r"<rect x=[^>]*fill='(#\w+)'/>", chart)


def test_orange_marks_the_cause_in_the_chart_of_steps():
    steps = [{"phase": "measure", "s": 0.3, "data_s": 0.1}] * 3
    assert fills(steps_chart(steps))[:2] == ["#94a3b8", ORANGE]
    work, waiting = fills(steps_chart(steps, waiting_is_cause=False))[:2]
    assert work == ORANGE != waiting


def test_orange_marks_the_model_if_it_is_the_cause():
    verdict = judge(facts([step("warm-up", True), *[step(data=0.001)] * 40, *[step("cached")] * 9]))
    assert verdict.cause.name == "compute"
    text = report_page(verdict.as_json())
    assert "class='name ours'>backward</div>" in text
    assert "class='name ours'>waiting for data</div>" not in text
    assert "waiting for data, which is not the cause" in text
    assert "class='name ours'>waiting for data</div>" in report_page(values())


@pytest.mark.parametrize("seconds", [1e-4, 0.02, 0.9, 7.0, 1234.0])
def test_labels_of_the_step_axis_are_plain_numbers_and_fit(seconds):
    chart = steps_chart([{"phase": "measure", "s": seconds, "data_s": 0.0}] * 3)
    labels = re.findall(r"text-anchor='end'>([^<]*(?:ms|s|0))<", chart)
    assert len(labels) == 4  # three of the axis, and the number of steps
    assert not [label for label in labels if "e+" in label]
    assert max(len(label) for label in labels[:3]) <= 9


def test_names_of_phases_do_not_overlap():
    steps = [{"phase": "warm-up", "s": 1.0, "data_s": 0.0}]
    steps += [{"phase": "measure", "s": 1.0, "data_s": 0.0}] * 99
    chart = steps_chart(steps)
    places = [float(x) for x in re.findall(r"<text x='([\d.]+)' y='12.0'", chart)]
    assert places[1] - places[0] > 40


def test_a_layer_above_its_roof_is_explained():
    found = values()
    found["layers"]["rows"][0]["of_roof"] = 2.5
    text = report_page(found)
    assert "<td style='white-space: nowrap'>&gt;100%</td>" in text
    assert "the layer&#x27;s data stay in a cache" in text
    assert "250%" not in text
    assert big(1e16) == "10 P"


def test_most_layers_are_folded():
    text = report_page(values())
    before, folded = text.split("<details>", 1)
    assert before.count("<td>layer") == SHOWN_ROWS
    assert "32 more layers, slowest first" in folded
    assert folded.split("</details>")[0].count("<td>layer") == 32


def test_a_report_without_layers_says_why():
    assert "<h2>Layers</h2>" not in report_page(values(layers=None))
    text = report_page(values(layers=None, layers_missing_reason=f"it is compiled {EVIL}"))
    assert "No table: it is compiled &lt;script" in text


def test_a_verdict_is_saved_as_a_page_or_as_json(tmp_path):
    verdict = judge(facts([step()] * 9))
    verdict.save(tmp_path / "a.html")
    assert html.escape(verdict.sentence) in (tmp_path / "a.html").read_text()
    verdict.save(tmp_path / "a.json")
    assert read_report(str(tmp_path / "a.json")).sentence == verdict.sentence
    with pytest.raises(ValueError, match="HTML or JSON"):
        verdict.save(tmp_path / "a.txt")
    assert not (tmp_path / "a.txt").exists()


def keys_of(value, prefix=""):
    """Returns the keys of objects as "a.b", and the keys of objects in arrays as "a[].b"."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{prefix}{key}"
            if key not in (
                "machine",
                "versions",
                "torch",
                "loader",
                "parts",
                "host_parts",
                "stages",
                "kinds",
                "sources",
                "flops_per_s",
            ):
                yield from keys_of(inner, f"{prefix}{key}.")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield from keys_of(value[0], f"{prefix[:-1]}[].")


def test_every_key_of_the_json_is_documented_and_no_other():
    found = values([FINDING])
    found["ranks"] = [{"rank": 0, "step_s": 0.1, "waits_s": 0.0}]
    documented = re.findall(r"^\| `([\w.\[\]]+)` \|", PAGE, re.M)
    assert sorted(keys_of(json.loads(json.dumps(found)))) == sorted(documented)
    assert len(set(documented)) == len(documented)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, False), (400, True)])
def test_the_page_renders_in_chromium_without_errors(tmp_path, width, dark):
    seen, said, picture = look_at(report_page(values([FINDING])), tmp_path, width, dark=dark)
    assert said == []
    assert seen["page"] <= seen["window"]  # only tables, code and the step chart scroll
    assert seen["hidden"] == []  # scrolling content is reachable by keyboard
    assert len(seen["charts"]) >= 4
    assert min(seen["charts"]) > 200
    with Image.open(picture) as image:
        colors = image.convert("RGB").getcolors(2**20)
    ground = max(colors)[1]
    assert (sum(ground) < 200) == dark
    assert len(colors) > 50
