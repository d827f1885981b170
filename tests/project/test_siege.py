"""`./dev siege lanes` with a few files: it accepts correct results and finds wrong results."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.helpers.program import PROGRAM, ROOT, needs_program
from tests.siege import proof, windows

pytestmark = needs_program


@pytest.fixture
def data(make, tmp_path):
    make.write(tmp_path / "data" / "a.jpg", make.jpeg(1, 150, 90, subsampling="4:2:2"))
    make.write(tmp_path / "data" / "no.jpg", b"not a JPEG")
    return tmp_path / "data"


def siege(data, tmp_path, *words, **environment):
    line = [sys.executable, "-m", "tests.siege.lanes", "--data", data]
    line += ["--work", tmp_path / "work", *words]
    return subprocess.run(
        line,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )


def test_a_small_siege_proves_every_kind(data, tmp_path):
    done = siege(data, tmp_path, "--windows", "4", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["proven"] is True
    assert report["photos"] == 1
    assert report["differences"] == report["not_made"] == report["unreadable"] == []
    assert len(report["kinds"]) + sum(report["left_out"].values()) == 19
    for name, kind in report["kinds"].items():
        assert kind["files"] == 1
        assert kind["lanes"] == (name not in ("arithmetic", "CMYK")), name
        assert kind["lanes"] + sum(kind["kept"].values()) == 1
        for check, count in {"restored": 1, "pixels": 1, "windows": 3, "resized": 1}.items():
            assert kind[check] == {"checked": count, "exact": count}, (name, check)
    assert report["supported"]["lanes"] == report["supported"]["files"]
    assert os.listdir(tmp_path / "work") == []
    assert "files, " in done.stderr
    assert "left  (4:2:0)" in done.stderr


def test_kinds_without_their_program_are_left_out_and_named(data, tmp_path):
    done = siege(data, tmp_path, "--files", "3", "--windows", "0", PATH="/nowhere")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "left out, not installed: 7 kinds without jpegtran, 2 kinds without cjpeg" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()[2:5]] == ["as", "4:4:4", "4:2:2"]
    assert done.stdout.splitlines()[-1] == "proven"


def test_a_file_that_differs_is_kept_and_named(data, tmp_path):
    liar = tmp_path / "liar"
    liar.write_text(
        f'#!/bin/sh\n{PROGRAM} "$@" || exit\n'
        'if [ "$1" = unpack ]; then for f in "$4"/*; do printf x >>"$f"; done; fi\n'
    )
    liar.chmod(0o755)
    done = siege(data, tmp_path, "--files", "1", "--windows", "0", "--program", liar)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "DIFFERS: 000000-as-it-came.jpg: does not come back byte for byte" in done.stdout
    assert done.stdout.splitlines()[-1] == "NOT proven"
    kept = tmp_path / "work" / "differing" / "000000-as-it-came.jpg"
    assert kept.read_bytes() == (data / "a.jpg").read_bytes()


def test_a_file_that_cannot_be_packed_is_a_difference(data, tmp_path):
    done = siege(data, tmp_path, "--files", "1", "--program", "/bin/false")
    assert done.returncode == 1
    assert "DIFFERS: 000000-as-it-came.jpg: refused" in done.stdout


def test_other_pixels_are_a_difference(data, tmp_path, monkeypatch):
    (data / "no.jpg").unlink()
    right = proof.by_pillow

    def wrong(file):
        pixels = np.array(right(file))
        pixels[-1, -1, -1] ^= 1
        return pixels

    found = proof.Proof()
    monkeypatch.setattr(proof, "by_pillow", wrong)
    proof.prove(found, data, tmp_path, proof.Options(PROGRAM, windows=0), seed=1)
    assert found.restored == proof.Tally(1, 1)
    assert found.pixels == proof.Tally(1, 0)
    assert [d.what for d in found.differences] == ["other pixels than Pillow's"]


def test_another_window_is_a_difference(data, tmp_path, monkeypatch):
    (data / "no.jpg").unlink()
    found = proof.Proof()
    corner = windows.random_crop_corner
    monkeypatch.setattr(
        windows, "random_crop_corner", lambda *words: tuple(max(0, n - 1) for n in corner(*words))
    )
    proof.prove(found, data, tmp_path, proof.Options(PROGRAM, windows=16), seed=1)
    assert found.windows.checked == 12
    assert found.windows.exact < 12
    assert found.resized == proof.Tally(4, 4)
    assert all("window" in d.what for d in found.differences)


def test_missing_data_are_an_error(tmp_path):
    (tmp_path / "empty").mkdir()
    done = siege(tmp_path / "empty", tmp_path)
    assert done.returncode == 1
    assert "holds no JPEGs" in done.stderr
