"""Command lines for Python processes of ours, without modules of the current folder.

`python -c` and `python -m` put the current folder first on sys.path: a json.py there would be
imported instead of the standard library's.
"""

from __future__ import annotations

import json
import sys

# "import sys" reads no file. json comes from the standard library once the folder is off the path.
_START = (
    "import sys\n"
    "if sys.path[:1] == ['']: del sys.path[0]\n"
    "import json\n"
    "sys.path[:] = json.loads(sys.argv.pop(1))\n"
)


def child_command(code: str) -> list[str]:
    """Returns the words that run `code` with this process's sys.path; arguments come after them."""
    safe = ["-P"] if sys.version_info >= (3, 11) else []  # multiprocessing passes it on
    return [sys.executable, *safe, "-c", _START + code, json.dumps(sys.path)]
