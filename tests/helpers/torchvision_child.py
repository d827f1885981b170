"""Runs torchvision in a separate process."""

from tests.helpers.warm_python import run_warm

_BEGIN = "import sys, warnings, torch\nwarnings.simplefilter('ignore')\ntorch.set_num_threads(1)\n"
# Shutting down an interpreter with torch takes half a second.
_END = "\nimport os\nsys.stdout.flush()\nos._exit(0)\n"


def ask_torchvision(code, *arguments):
    """Returns the output of a program."""
    return run_warm("-c", _BEGIN + code + _END, *arguments).stdout
