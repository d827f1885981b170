"""Runs torchvision in a separate process."""

from tests.helpers.warm_python import run_warm

_BEGIN = "import sys, warnings, torch\nwarnings.simplefilter('ignore')\ntorch.set_num_threads(1)\n"
# Skips the shutdown of the interpreter, which takes half a second with torch.
_END = "\nimport os\nsys.stdout.flush()\nos._exit(0)\n"


def ask_torchvision(code, *arguments):
    """Runs code that uses torchvision and returns its output."""
    return run_warm("-c", _BEGIN + code + _END, *arguments).stdout
