"""torchvision, asked in a process of its own."""

import subprocess
import sys


def ask_torchvision(code, *arguments):
    """What a program text prints."""
    line = [sys.executable, "-W", "ignore", "-c", "import sys, torch\n" + code, *arguments]
    child = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert child.returncode == 0, child.stderr
    return child.stdout
