"""torchvision, asked in a process of its own."""

import subprocess
import sys

# Threads of torch that share a busy CPU wait for each other many times as long as they work.
_BEGIN = "import sys, torch\ntorch.set_num_threads(1)\n"


def ask_torchvision(code, *arguments):
    """What a program text prints."""
    line = [sys.executable, "-W", "ignore", "-c", _BEGIN + code, *arguments]
    child = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert child.returncode == 0, child.stderr
    return child.stdout
