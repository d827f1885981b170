"""Command lines for child Python processes that do not import modules from the current folder.

`python -c` and `python -m` put the current folder first on sys.path. A file json.py in that folder would replace the
module of the standard library.
"""

from __future__ import annotations

import json
import sys

# "import sys" reads no file. json is imported only after the folder has been removed from the path.
_START = (
    "import sys\n"
    "if sys.path[:1] == ['']: del sys.path[0]\n"
    "import json\n"
    "sys.path[:] = json.loads(sys.argv.pop(1))\n"
)


def child_command(code: str) -> list[str]:
    """Returns the argv that runs `code` with this process's sys.path. The caller appends the arguments of `code`."""
    safe = ["-P"] if sys.version_info >= (3, 11) else []  # multiprocessing passes it on
    return [sys.executable, *safe, "-c", _START + code, json.dumps(sys.path)]
