"""The second half of the demo, the example, and `python -m tundish`."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tundish.demo.torch_comparison import random_crop
from tundish.demo.train import train, why_not
from tundish.report.chart import Bar, bar_chart

from tests.helpers.program import PROGRAM, ROOT, needs_program

MAKE_SAMPLES = ROOT / "build" / "release" / "make_samples"

# Two threads on one busy core would spin most of the time.
ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with the contents that `tundish demo` leaves."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "made-by-tundish-demo.txt").write_text("a test")
    subprocess.run([MAKE_SAMPLES, folder / "images", "240", "3"], check=True)
    words = ["pack", folder / "images", "-o", folder / "demo.tnd", "--quiet"]
    subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)
    return folder


def demo(work, *words):
    words = ["demo-page", "--work", work, "--seconds", "0.05", "--rounds", "1", *words]
    return python("-m", "tundish", *words)


def python(*words):
    line = [sys.executable, *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, env=ONE_THREAD)
    assert done.returncode == 0, done.stderr
    return done


@needs_program
def test_the_demo_ends_with_one_screen_and_a_page_that_needs_no_other_file(work):
    steps = {"pack": "demo.tnd", "folder": "images", "steps": [["packing", "240 <images>"]]}
    (work / "demo.json").write_text(json.dumps(steps))
    text = demo(work, "--steps", "2").stdout
    (work / "demo.json").unlink()
    assert len(text.splitlines()) <= 24
    assert "torch's DataLoader" in text
    assert "unseen images right" in text
    assert re.search(r"doctor    before, torch's DataLoader: [\d.]+ ms per step\n  +\w", text)
    assert re.search(
        r"doctor    after, tundish.Loader: [\d.]+ ms per step\n  +\w.*\n\Z",
        text.rstrip("\n") + "\n",
    )
    page = (work / "report.html").read_text()
    assert page.index("<svg") < page.index("<h2>")
    assert "240 &lt;images&gt;" in page
    assert "tundish.Loader(" in page
    assert "The doctor's verdict" in page
    assert not re.search(r"(src|href|url|@import)\s*[=(]", page)
    assert set(re.findall(r"https?://[^'\" <]+", page)) <= {"http://www.w3.org/2000/svg"}


@needs_program
def test_the_demo_prints_json(work):
    about = {
        "pack": "demo.tnd",
        "folder": None,
    }  # as after --data set.tar: files come from the pack
    (work / "demo.json").write_text(json.dumps(about))
    result = json.loads(demo(work, "--json", "--steps", "2").stdout)
    assert result["images"] == 240
    assert set(result["images_per_s"]) == {"tundish", "torch DataLoader + Pillow"}
    assert all(rate > 0 for of in result["images_per_s"].values() for rate in of.values())
    assert result["speedup"]["1"] > 0
    assert len(result["training"]["losses"]) == 2
    assert result["training"]["held_out"] == 48
    assert Path(result["page"]).exists()
    assert [result["doctor"][when]["loader"]["class"] for when in ("before", "after")] == [
        "DataLoader",
        "Loader",
    ]


def test_the_second_half_writes_nothing_into_a_folder_that_no_demo_made(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    line = [sys.executable, "-m", "tundish", "demo-page", "--work", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "tundish demo --work NEW-FOLDER" in done.stderr
    assert (tmp_path / "report.html").read_text() == "mine"


def test_a_folder_without_a_pack_is_named(tmp_path):
    (tmp_path / "made-by-tundish-demo.txt").touch()
    line = [sys.executable, "-m", "tundish", "demo-page", "--work", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "must hold one .tnd file" in done.stderr


@needs_program
def test_the_network_learns_from_the_pack(work):
    threads = torch.get_num_threads()
    result = train(str(work / "demo.tnd"), steps=40)
    torch.set_num_threads(threads)
    assert sum(result.losses[-5:]) < 0.7 * sum(result.losses[:5])
    assert result.accuracy > 0.6  # chance level is 1/3


def test_training_is_skipped_with_a_reason_if_impossible():
    assert why_not(1000, 10) == ""
    assert "several classes" in why_not(1000, 1)
    assert "too few" in why_not(100, 100)


def test_the_comparison_draws_crops_inside_the_image():
    random.seed(1)
    for _ in range(2000):
        width, height = random.randint(1, 900), random.randint(1, 900)
        left, top, right, bottom = random_crop(width, height)
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height


def test_bar_lengths_are_proportional_to_their_values():
    svg = bar_chart([("group", [Bar("<a>", 100, "100", True), Bar("b", 25, "25")])], "a & b")
    longer, shorter = (float(w) for w in re.findall(r"<rect x=[^>]* width='([\d.]+)'", svg))
    assert longer == pytest.approx(4 * shorter, abs=0.5)
    assert "&lt;a&gt;" in svg
    assert "aria-label='a &amp; b'" in svg


@needs_program
def test_the_module_runs_the_program():
    words = ["--version"]
    module = subprocess.run([sys.executable, "-m", "tundish", *words], capture_output=True)
    program = subprocess.run([PROGRAM, *words], capture_output=True)
    assert (module.returncode, module.stdout) == (program.returncode, program.stdout)


@needs_program
def test_the_example_script_trains(work):
    words = [work / "demo.tnd", "--epochs", "2", "--size", "32"]
    done = python(ROOT / "tests" / "examples" / "programs" / "train_sample.py", *words)
    losses = [float(text) for text in re.findall(r"loss ([\d.]+)", done.stdout)]
    assert len(losses) == 2
    assert losses[1] < losses[0]
