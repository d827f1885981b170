"""torchvision, asked in a process of its own."""

from tests.helpers.warm_python import run_warm

_BEGIN = "import sys, warnings, torch\nwarnings.simplefilter('ignore')\ntorch.set_num_threads(1)\n"
# To take down an interpreter with torch in it takes half a second.
_END = "\nimport os\nsys.stdout.flush()\nos._exit(0)\n"


def ask_torchvision(code, *arguments):
    """What a program text prints."""
    return run_warm("-c", _BEGIN + code + _END, *arguments).stdout
