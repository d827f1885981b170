"""Command lines for child Python processes, without modules of the current folder.

`python -c` and `python -m` put the current folder first on sys.path. A json.py there would replace the standard
library's.
"""

from __future__ import annotations

import json
import sys

# "import sys" reads no file. json is imported once the folder is off the path.
_START = (
    "import sys\n"
    "if sys.path[:1] == ['']: del sys.path[0]\n"
    "import json\n"
    "sys.path[:] = json.loads(sys.argv.pop(1))\n"
)


def child_command(code: str) -> list[str]:
    """Returns the argv that runs `code` with this process's sys.path. Append the arguments."""
    safe = ["-P"] if sys.version_info >= (3, 11) else []  # multiprocessing inherits it
    return [sys.executable, *safe, "-c", _START + code, json.dumps(sys.path)]
