"""`python -m tundish VERB ...`: the same as the program `tundish`.

The program is C++; the parts that need PyTorch are here, and the program calls them.
"""

from __future__ import annotations

import os
import sys

from ._c.errors import MissingError
from .program import find_program


def main(words: list[str]) -> int:
    if words[:1] == ["demo-page"]:  # how the program's own demo goes on
        from .demo import run

        return run(words[1:])
    try:
        program = find_program()
    except MissingError as error:
        raise SystemExit(f"tundish: {error}") from None
    os.execv(program, [program, *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
