"""torchvision, asked in a process of its own."""

import subprocess
import sys

import pytest

ABSENT = 77  # exit code
IMPORT = f"""
import sys, torch
library = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):  # a build without CUDA libraries lacks them and refuses to load
    try:
        library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    except RuntimeError:
        pass
try:
    import torchvision
except Exception as error:
    print(error)
    sys.exit({ABSENT})
"""


def ask_torchvision(code, *arguments):
    """What a program text prints; where torchvision cannot be imported, the test is skipped."""
    line = [sys.executable, "-W", "ignore", "-c", IMPORT + code, *arguments]
    child = subprocess.run(line, capture_output=True, text=True, timeout=300)
    if child.returncode == ABSENT:
        pytest.skip(f"torchvision cannot be imported: {child.stdout.strip()}")
    assert child.returncode == 0, child.stderr
    return child.stdout
