"""Comments and docstrings begin with their subject or a verb, never with "Of"."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENDINGS = {".py", ".h", ".cpp", ".cu", ".cuh", ".sh", ".cmake"}
OPENING = re.compile(r'(?:^|\s)(?://|#|""")\s*Of\b(?! course)')


def sources():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = [Path(name) for name in listed.stdout.splitlines()]
    return [name for name in names if name.suffix in ENDINGS and (ROOT / name).is_file()]


def openings(text):
    """Returns the numbers of lines in which a comment or a docstring opens with "Of"."""
    return [n for n, line in enumerate(text.splitlines(), 1) if OPENING.search(line)]


def test_no_comment_opens_with_of():
    checked = sources()
    assert len(checked) > 2000
    found = [f"{name}:{line}" for name in checked for line in openings((ROOT / name).read_text())]
    assert found == []


def test_an_opening_would_be_found():
    quotes = '"' * 3
    lines = ["# " + "Of a step.", "x = 1  // " + "Of it", f"def f():\n    {quotes}" + "Of a file."]
    for line in lines:
        assert openings(f"import os\n{line}")
    for line in ("# Of course not.", "# Often", "# the end of it", "#include <Of>"):
        assert openings(line) == []
