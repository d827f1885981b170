"""The table of `tundish tune`, and its progress."""

import io
from html import escape

import pytest
from tundish.tuning.report.results import KEPT
from tundish.tuning.report.tuning_page import report_page
from tundish.tuning.report.tuning_progress import Progress
from tundish.tuning.report.tuning_text import report_text

from tests.helpers import tuning_reports as examples


def line_of(text, start):
    return next(line for line in text.splitlines() if line.strip().startswith(start))


def test_every_row_has_its_figures():
    text = report_text(examples.image_model(), 160, plan="plan.json")
    assert line_of(text, "baseline  your flags").endswith("TF32 in convolutions, eager, foreach")
    tf32 = " ".join(line_of(text, "TF32").split())
    assert tf32 == "TF32 98.4 1.55x (1.53-1.57) = loss band ok (30 steps) faster"
    assert "152.1" in line_of(text, "baseline     ")
    assert "31.2 GB" in line_of(text, "baseline     ")
    assert "-38 %" in line_of(text, "bf16 autocast")
    compiled = line_of(text, "torch.compile")
    assert "33.0*" in compiled
    assert "4.61x (4.56-4.66), 41 s once" in compiled
    assert line_of(text, "in-place").endswith("slower")
    assert line_of(text, "plan ").split()[:3] == ["plan", "33.1", "4.60x"]
    assert "\n    channels_last + fused optimizer + bf16 autocast + torch.compile\n" in text


def test_rows_of_a_phase_say_only_what_differs():
    lines = report_text(examples.image_model(), 160).splitlines()
    at = lines.index("  compile, each with channels_last + fused optimizer + bf16 autocast")
    assert lines[at + 1].startswith("    torch.compile  ")
    assert lines[at + 2].startswith("    only these  ")
    at = lines.index("  removal of single tricks")
    assert lines[at + 1].startswith("    without fused optimizer  ")


def test_a_row_compared_with_another_row_explains_when_it_pays():
    report = examples.image_model()
    row = next(row for row in report.rows if row.one_off_s)
    row.compared_with, row.gain, row.low, row.high = "both", 1.25, 1.24, 1.26
    row.verdict, row.break_even_steps = KEPT, 5000
    line = line_of(report_text(report, 200), "torch.compile")
    assert "1.25x more (1.24-1.26), 41 s once" in line
    assert line.endswith("keep (pays after 5,000 steps)")
    narrow = report_text(report, 100).splitlines()
    at = next(i for i, line in enumerate(narrow) if line.startswith("    torch.compile"))
    assert narrow[at + 1].strip() == row.numerics
    assert narrow[at + 2].strip() == "41 s once, pays after 5,000 steps"


LONG_NAME = "channels_last + a trick of my own that has a very long name + bf16 autocast"


def long_named():
    report = examples.image_model()
    row = next(row for row in report.rows if row.label == "both")
    row.tricks.insert(1, {"name": "a trick of my own that has a very long name"})
    return report


@pytest.mark.parametrize("width", [70, 80, 100, 120, 160, 200, 250])
def test_names_are_whole_or_wrapped_but_never_cut(width):
    lines = report_text(long_named(), width).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("    channels_last + a trick"))
    assert max(map(len, lines[:-1])) <= width
    if width >= 200:
        assert lines[at].startswith(f"    {LONG_NAME}  ")
        return
    end = next(i for i, line in enumerate(lines) if line.startswith("  compile, each with"))
    column = lines[at].index("  ", 4)
    pieces = [lines[at][4:column], *(line.strip() for line in lines[at + 1 : end])]
    assert " ".join(pieces) == LONG_NAME
    assert all(line.startswith("      ") for line in lines[at + 1 : end])
    assert "..." not in " ".join(pieces)


@pytest.mark.parametrize("width", [70, 80, 120])
def test_the_human_recipe_is_named_whole(width):
    lines = report_text(examples.image_model(), width).splitlines()
    at = next(i for i, line in enumerate(lines) if "than the human recipe" in line)
    words = " ".join(" ".join(lines[at : at + 3]).split())
    assert "channels_last + fused optimizer + bf16 autocast + torch.compile" in words


@pytest.mark.parametrize("width", [70, 100, 200])
def test_the_steps_until_the_plan_pays_off_are_printed(width):
    report = examples.image_model()
    says = "pays off after 346 steps, 11 s of training: compilation and warm-up take 41 s once"
    assert says in " ".join(report_text(report, width).split())
    assert says.removeprefix("pays off ") in report_page(report)
    report.rows[-1].break_even_steps = None  # slower, for less memory
    assert "pays off" not in report_text(report, width)


def test_a_run_without_a_fresh_run_does_not_claim_that_nothing_pays():
    report = examples.interrupted()
    report.finished = True
    assert "No plan: there was no fresh run to confirm a gain" in report_text(report)


def test_the_gains_name_what_they_are_compared_with():
    lines = report_text(examples.image_model(), 160).splitlines()
    at = next(i for i, line in enumerate(lines) if "faster than your step" in line)
    assert lines[at].strip() == "4.60x faster than your step: 152.1 -> 33.1 ms"
    shown = lines[at + 2 : at + 6]
    assert [line.split("than ")[1].split("  ")[0] for line in shown] == [
        "your step",
        "torch's default flags",
        "strict fp32, no TF32",
        "the human recipe",
    ]
    assert shown[3].endswith("channels_last + fused optimizer + bf16 autocast + torch.compile")


@pytest.mark.parametrize("width", [70, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_no_reason_is_cut(width):
    text = report_text(examples.image_model(), width, plan="plan.json")
    table = text.split("step = ")[0].splitlines()[:-1]  # the last line can be copied: never broken
    assert max(len(line) for line in table) <= width
    words = " ".join(text.split())
    assert examples.OVERFLOW in words
    assert examples.NO_CAPTURE in words


@pytest.mark.parametrize("width", [70, 80, 100, 120, 200])
@pytest.mark.parametrize("color", [False, True])
def test_the_numerics_of_the_plan_are_not_cut(width, color):
    report = examples.image_model()
    long = (
        "loss band ok (30 steps), gradient norm 0.98 to 1.03 of fp32, worst: layer4.2.conv3.weight"
    )
    report.rows[-1].numerics = long
    text = report_text(report, width, color)
    assert long in " ".join(text.split())
    rule = next(i for i, line in enumerate(text.splitlines()) if line.startswith("  -----"))
    below = text.splitlines()[rule + 1 : rule + 4]
    assert "plan" in below[0]
    assert "loss band" not in below[0]  # unbroken, and only once
    assert below[1].startswith("      loss band ok (30 steps)")
    report.rows[-1].numerics = "the same bits"
    assert "\n      the same bits" not in report_text(report, 160, color)


def test_the_last_line_is_how_to_use_the_plan():
    last = report_text(examples.image_model(), 80, plan="my plan.json").splitlines()[-1]
    assert last.split(maxsplit=1) == [
        "next",
        'step = tundish.load_plan("my plan.json").apply(model, optimizer, loss_fn); loss = step(batch)',
    ]


def test_the_last_line_says_where_own_tricks_are(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    report = examples.image_model()
    for path in (tmp_path / "tricks.py", "/elsewhere/tricks.py"):
        own = {"name": "no_wait", "own": f"{path}:NoWait"}
        report.rows[-1].tricks = [*report.rows[-1].tricks, own]
    last = report_text(report, 80, plan="plan.json").splitlines()[-1]
    load = 'tundish.load_plan("plan.json", custom_tricks=["tricks.py:NoWait", "/elsewhere/tricks.py:NoWait"])'
    assert f"step = {load}.apply(" in last
    page = report_page(report, None, "other.json")
    assert escape(load.replace("plan.json", "other.json")) in page


def test_without_a_gain_there_is_no_plan_to_use():
    text = report_text(examples.nothing_pays(), plan="plan.json")
    assert "No trick pays off: your step stays as it is" in text
    assert "next" not in text
    assert "\n  plan " not in text


def test_a_confirmed_baseline_is_no_plan():
    report = examples.nothing_pays()
    report.rows[-1].verdict = KEPT
    report.rows[-1].tricks = []
    assert "No trick pays off" in report_text(report)


def test_the_text_for_a_cpu_does_not_mention_a_gpu():
    report = examples.image_model()
    assert "33.0*" in report_text(report)
    report.device = "cpu"
    assert "*" not in report_text(report)


def test_an_interrupted_run_is_labeled():
    text = report_text(examples.interrupted(), 160, plan="plan.json")
    assert "the run ended early; this is the best plan so far" in text
    assert "3.68x faster than your step: 152.1 -> 41.3 ms" in text
    narrow = report_text(examples.interrupted(), 80)
    assert "\n      loss band ok (30 steps)\n" in narrow
    assert "load_plan" in text


def test_colors_appear_only_when_enabled():
    report = examples.image_model()
    plain, painted = report_text(report), report_text(report, color=True)
    assert "\x1b" not in plain
    assert "\x1b[31m    fp16 autocast" in painted
    assert painted.replace("\x1b[1m", "").replace("\x1b[31m", "").replace("\x1b[0m", "") == plain


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_log_gets_a_line_for_each_phase_and_every_half_minute():
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, redraw=False, clock=clock, limit_s=360)
    progress.phase("baseline")
    for clock.now in range(1, 73):
        progress.tick()
    progress.phase("torch.compile")
    progress.note("channels_last: no gain")
    assert stream.getvalue().splitlines() == [
        "  baseline   0.0 s of about 6:00",
        "  baseline   30 s of about 6:00",
        "  baseline   1:00 of about 6:00",
        "  torch.compile   1:12 of about 6:00",
        "  channels_last: no gain",
    ]


def test_without_a_limit_only_the_time_that_passed_is_shown():
    clock = Clock()
    progress = Progress(io.StringIO(), redraw=True, clock=clock)
    progress.phase("8 samples")
    clock.now = 72.0
    assert progress.text() == "8 samples   1:12"


def test_a_terminal_gets_one_line_that_is_drawn_again(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, redraw=True, clock=clock, limit_s=120)
    progress.phase("a phase with a long name that has to be cut somewhere")
    clock.now = 30.0
    progress.tick()
    progress.phase("flags")
    progress.note("kept")
    progress.end()
    text = stream.getvalue()
    drawn = text.split("\r")
    assert max(len(line.rstrip()) for line in drawn) <= 59
    assert "...   30 s of about 2:00" in text
    assert "flags   #####.................   30 s of about 2:00" in text
    assert text.count("\n") == 1
    assert text.endswith(" " * 50 + "\r")


def test_a_run_that_takes_longer_than_its_limit_goes_on_counting():
    clock = Clock()
    progress = Progress(io.StringIO(), redraw=True, clock=clock, limit_s=60)
    clock.now = 90.0
    assert progress.text().endswith("#" * 22 + "   1:30 of about 1:00")


def test_without_a_stream_nothing_is_shown(capsys):
    progress = Progress()
    progress.phase("baseline")
    progress.tick()
    progress.note("kept")
    progress.end()
    assert capsys.readouterr() == ("", "")
