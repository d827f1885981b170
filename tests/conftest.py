"""Shared datasets, created once per run, and tools for the tests that use them."""

import csv
import hashlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from tests.helpers import files
from tests.helpers.files import tar_of, write
from tests.helpers.program import PROGRAM

# Spinning torch threads waste most of a busy CPU, so tests run torch on one thread. torch reads the
# variable on import. Tests of threads request more threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell starts background jobs with SIGINT ignored, and children inherit the setting. The tests of
# Ctrl-C need the default handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Properties of the machine that allow a skip; the reason must start with one of these texts. Any
# other skip fails: ./dev setup and ./dev build provide everything else, and a wrongly skipped test
# hides failures.
MAY_BE_SKIPPED = (
    "cannot mount here",
    "page-locked memory is available here",
    "there is a GPU",
    "another user is needed",
    "root may read everything",
    "another tar program",
    "no Chromium is installed",
)


def fail_unless_allowed(report):
    """Turns the report of a skip into a failure unless its reason is allowed."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if not reason.startswith(MAY_BE_SKIPPED):
        report.outcome = "failed"
        report.longrepr = f"skipped, which only a reason of tests/conftest.py may: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return fail_unless_allowed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return fail_unless_allowed((yield))


RANK_VARIABLES = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_STEP_NUM_TASKS",
    "TORCHELASTIC_RUN_ID",
    "TUNDISH_CPUS_PER_RANK",
)


@pytest.fixture(autouse=True)
def _one_process(monkeypatch):
    """Removes rank variables, so no test takes the runner's own job for its ranks."""
    for name in RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)


# --- making datasets -------------------------------------------------------------------------


def photo(number: int, width: int, height: int) -> Image.Image:
    """Returns a smooth picture with some noise; each number gives a different picture."""
    rng = np.random.default_rng(number)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    waves = [
        128 + 100 * np.sin(x * a + b) * np.cos(y * c + d)
        for a, b, c, d in rng.uniform(0.02, 0.4, (3, 4))
    ]
    pixels = np.stack(waves, axis=-1) + rng.normal(0, 6, (height, width, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def encode(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def jpeg(number: int, width: int, height: int, mode: str = "RGB", **options) -> bytes:
    return encode(photo(number, width, height).convert(mode), "JPEG", **options)


def png(number: int, width: int, height: int, mode: str = "RGB") -> bytes:
    return encode(photo(number, width, height).convert(mode), "PNG")


def pack(source: Path, target: Path, *words: str) -> Path:
    """Packs a source. Exit code 3 means warnings; the pack exists nevertheless."""
    if not PROGRAM.exists():
        pytest.skip("./dev build makes the program")
    line = [PROGRAM, "pack", source, "-o", target, "--quiet", *words]
    result = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert result.returncode in (0, 3), result.stderr
    return target


@pytest.fixture(scope="session")
def make():
    """The functions above, for tests that need their own data."""
    return SimpleNamespace(
        photo=photo, encode=encode, jpeg=jpeg, png=png, write=write, pack=pack, tar=tar_of
    )


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """23 images of three classes in every sampling and kind, as folder, pack, tar and list."""
    root = tmp_path_factory.mktemp("photos")
    images: dict[str, bytes] = {}
    options = [
        {"quality": 95, "subsampling": 0},
        {"quality": 75, "subsampling": 1},
        {"quality": 60, "subsampling": 2},
        {"quality": 85, "subsampling": 2, "progressive": True},
        {"quality": 30, "subsampling": 2, "optimize": True},
    ]
    for number in range(15):
        width, height = 41 + 13 * (number % 7), 96 - 11 * (number % 6)
        name = f"{('bird', 'cat', 'dog')[number % 3]}/{number:02}.jpg"
        images[name] = jpeg(number, width, height, **options[number % 5])
    images["bird/gray.jpg"] = jpeg(20, 70, 50, "L", quality=80)
    images["cat/cmyk.jpg"] = jpeg(21, 50, 70, "CMYK", quality=80)
    for number, mode in enumerate(["RGB", "L", "P", "RGBA", "LA", "1"]):
        images[f"dog/{mode}.png"] = png(30 + number, 40 + 9 * number, 64, mode)
    for name, data in images.items():
        write(root / "folder" / name, data)
    names = sorted(images)
    tar = tar_of(root / "photos.tar", {name: images[name] for name in names})
    with open(root / "photos.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["path", "label"])
        rows.writerows([f"folder/{name}", name.split("/")[0]] for name in names)
    return SimpleNamespace(
        names=names,
        count=len(names),
        labels=[["bird", "cat", "dog"].index(name.split("/")[0]) for name in names],
        folder=root / "folder",
        tar=tar,
        csv=root / "photos.csv",
        pack=pack(root / "folder", root / "photos.tnd"),
    )


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """355 images of 8 x 8 pixels: 60 steps with global batches of 6, the last batch not full."""
    root = tmp_path_factory.mktemp("tiny")
    rng = np.random.default_rng(0)
    count = 355
    for number in range(count):
        image = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
        write(root / "folder" / f"class{number % 5}" / f"{number:03}.png", encode(image))
    return SimpleNamespace(
        count=count, folder=root / "folder", pack=pack(root / "folder", root / "tiny.tnd")
    )


@pytest.fixture
def three_photos(tmp_path):
    """Three images in two classes; one is a PNG named b.JPEG."""
    write(tmp_path / "photos/cat/a.jpg", files.jpeg())
    write(tmp_path / "photos/cat/b.JPEG", files.png())
    write(tmp_path / "photos/dog/c.jpg", files.jpeg((0, 90, 200), (64, 48)))
    return tmp_path / "photos"


@pytest.fixture
def three_packed(three_photos, tmp_path):
    return pack(three_photos, tmp_path / "train.tnd")


# --- reading batches --------------------------------------------------------------------------


def bytes_of(value) -> bytes:
    """Returns the bytes of every value of a tensor, array, tuple or list, in index order."""
    if isinstance(value, (tuple, list)):
        return b"|".join(bytes_of(one) for one in value)
    if hasattr(value, "detach"):  # a torch tensor; NumPy has no bfloat16
        value = value.contiguous()
        value = value.view(dtype=_same_width(value)).numpy()
    return str(value.shape).encode() + np.ascontiguousarray(value).tobytes()


def _same_width(tensor):
    import torch

    return {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]


@pytest.fixture(scope="session")
def digest():
    """Returns a digest of all values of some batches: equal digests mean equal bytes."""
    return lambda value: hashlib.sha256(bytes_of(value)).hexdigest()


@pytest.fixture(scope="session")
def run_python():
    """Runs program text in a fresh interpreter; only a hang reaches the time limit."""

    def run(code: str, *arguments, env=None, options=(), timeout=120, check=True):
        line = [sys.executable, *options, "-c", code, *map(str, arguments)]
        environment = {k: v for k, v in os.environ.items() if k not in RANK_VARIABLES}
        environment |= env or {}
        result = subprocess.run(
            line, capture_output=True, text=True, timeout=timeout, env=environment
        )
        if check:
            assert result.returncode == 0, result.stdout + result.stderr
        return result

    return run
