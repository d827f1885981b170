"""Any bytes produce findings or a clear message; nothing crashes and nothing is executed."""

import random

import pytest
import tundish
from tundish.diagnosis.lint.check import check_source, choose
from tundish.diagnosis.script.loops import Loops
from tundish.diagnosis.script.source_text import MAX_BYTES, SourceRefused, read_source

from tests.diagnosis import planted

REFUSED = {
    "a syntax error": (b"x = 1\ndef f(:\n", "syntax error", 2),
    "python 2": (b"print 'a'\n", "syntax error", 1),
    "not UTF-8": (b"x = 1\ny = '\xff'\n", "byte 11 is not utf-8", 2),
    "not UTF-8 in the first line": (b"x = '\xff'\n", "byte 5 is not utf-8", 1),
    "an unknown encoding": (b"# coding: klingon\n", "encoding", None),
    "null bytes": (b"x = 1\n\0", "null bytes", 2),
    "too many brackets": (b"(" * 5000 + b")" * 5000, "", 1),
    "a deep chain": (b"x" + b".a" * 60_000, "nested too deeply", None),
    "a deep sum": (b"x" + b" + 1" * 60_000, "nested too deeply", None),
    "deep signs": (b"-" * 60_000 + b"1", "nested too deeply", None),
    "a large file": (b"#" * (MAX_BYTES + 1), "limit of 1,048,576", None),
    "an unfinished string": (b'x = """abc', "syntax error", 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_checked_is_reported_with_its_line(name, tmp_path):
    data, reason, line = REFUSED[name]
    (tmp_path / "train.py").write_bytes(data)
    report = tundish.check(tmp_path / "train.py")
    (refused,) = report.not_checked
    assert reason in refused.reason
    assert refused.line == line
    assert refused.fix
    assert not report
    assert "1 not checked" in str(report)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"\xef\xbb\xbfx = 1\n",
        b"x = 1\r\ny = 2\r",
        b"# coding: latin-1\nx = '\xe9'\n",
        b"\x0c\nx = 1",
    ],
)
def test_unusual_files_are_checked(data, tmp_path):
    (tmp_path / "train.py").write_bytes(data)
    report = tundish.check([tmp_path / "train.py"])
    assert report
    assert report.findings == report.not_checked == []


DEEP = {
    "attributes": "x" + ".a" * 150,
    "a sum": "x" + " + 1" * 150,
    "calls": "f(" * 80 + "x" + ")" * 80,
    "methods": "x" + ".f()" * 70,
    "blocks": "".join("    " * i + "if x:\n" for i in range(90)) + "    " * 90 + "x",
    "a cycle": "a = b\nb = c\nc = a\nfor x in a:\n    a = b(a, c)\n    loss = a\n    loss.backward()\n    print(loss)",
    "a chain of names": "x0 = model(1)\n"
    + "\n".join(f"x{i} = x{i - 1} + 1" for i in range(1, 400))
    + "\nx399.backward()",
    "functions": "\n".join(f"def f{i}(a):\n    return f{i + 1}(a)" for i in range(200)),
    "classes": "\n".join(f"class C{i}(C{i + 1}): pass" for i in range(200))
    + "\nclass C200(C0): pass",
}


@pytest.mark.parametrize("name", DEEP)
def test_files_that_python_can_parse_are_checked(name):
    assert isinstance(planted.found(DEEP[name]), list)


def test_changed_scripts_never_crash_a_check():
    """Deletes, repeats and swaps lines and changes words; a script that parses is checked fully."""
    draw = random.Random(0)
    words = [
        "loss",
        "model",
        "x",
        "self",
        "torch",
        "loader",
        "None",
        "0",
        "[]",
        "optimizer",
        "lambda: x",
    ]
    parsed = 0
    for file in planted.files():
        for text in planted.scripts(file):
            for _ in range(2):
                lines = text.splitlines()
                for _ in range(draw.randint(1, 4)):
                    i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
                    kind = draw.randrange(4)
                    if kind == 0:
                        del lines[i]
                    elif kind == 1:
                        lines[i], lines[j] = lines[j], lines[i]
                    elif kind == 2:
                        lines.insert(i, lines[j])
                    else:
                        lines[i] = lines[i].replace(draw.choice(words), draw.choice(words), 1)
                try:
                    source = read_source("train.py", "\n".join(lines).encode())
                except SourceRefused:
                    continue
                parsed += 1
                assert isinstance(check_source(source, choose((), ()))[0], list)
    assert parsed > 100


def test_nothing_is_run_or_imported(tmp_path):
    mark = tmp_path / "ran"
    (tmp_path / "train.py").write_text(
        f"import os_that_is_not_there\nopen({str(mark)!r}, 'w').close()\n"
    )
    assert tundish.check(tmp_path).files == 1
    assert not mark.exists()


READS = """
import torch
model = torch.nn.Linear(8, 8).cuda()
for x in loader:
    loss = model(x).mean()
    loss.backward()
"""


def test_each_node_is_searched_for_its_loop_once(monkeypatch):
    """A file of a few hundred findings once took half a minute."""
    searched = []
    find = Loops._find_step_region
    monkeypatch.setattr(
        Loops, "_find_step_region", lambda loops, node: searched.append(node) or find(loops, node)
    )
    text = READS + "".join(f"    a{number} = loss.item()\n" for number in range(100))
    found, _, _ = check_source(read_source("train.py", text.encode()), choose((), ()))
    assert len(found) == 100
    assert len(searched) == len(set(searched)) < 1000
