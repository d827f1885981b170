"""`tundish.check` and `tundish check`: paths, lines, comments, notebooks, formats, exit codes."""

import json
import os
import subprocess
import sys

import pytest
import tundish
from tundish.diagnosis.cli.check_options import ARGUMENTS
from tundish.diagnosis.cli.check_verb import main
from tundish.diagnosis.rules.static import RULES

from tests.diagnosis.planted import PRELUDE
from tests.helpers.program import documented_keys, err, needs_program, out
from tests.helpers.program import tundish as program

LOOP = """
for x, y in loader:
    loss = loss_fn(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
    loss.backward()
    total += loss.item(){}
"""
BAD = PRELUDE + LOOP.format("")
LINE = BAD.splitlines().index("    total += loss.item()") + 1


@pytest.fixture
def script(tmp_path):
    (tmp_path / "train.py").write_text(BAD)
    return tmp_path / "train.py"


def test_a_finding_has_a_location_a_text_and_a_remedy(script):
    report = tundish.check(script)
    (one,) = report.findings
    assert (one.file, one.cell, one.line, one.column) == (str(script), None, LINE, 14)
    assert (one.end_line, one.end_column) == (LINE, 25)
    assert (one.check, one.level) == ("item-in-loop", "warning")
    assert one.excerpt[one.column - 1 : one.end_column - 1] == "loss.item()"
    assert "detach" in one.fix
    assert one.page == "docs/check.md#item-in-loop"
    assert not report
    assert report.problems == 1


def test_the_text_uses_the_singular_for_one_worker_process(tmp_path):
    loop = "loader = DataLoader(data, num_workers=1)\nfor epoch in range(3):\n    for x in loader:\n        model(x)\n"
    (tmp_path / "a.py").write_text(PRELUDE + loop)
    (one,) = tundish.check(tmp_path, select=["missing-persistent-workers"]).findings
    assert one.text == "1 worker process is restarted in every epoch"


def test_columns_count_characters_and_not_bytes(tmp_path):
    text = BAD.replace("total += ", "größe = 'ä€😀'; total += ")
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    (one,) = tundish.check(tmp_path).findings
    assert one.excerpt[one.column - 1 : one.end_column - 1] == "loss.item()"
    place, code, caret, *_ = str(tundish.check(tmp_path)).splitlines()
    assert place.startswith(f"{tmp_path}/a.py:{LINE}:")
    assert code[caret.index("^") : caret.rindex("^") + 1] == "loss.item()"


def test_folders_are_searched_without_tool_folders(tmp_path):
    for name in ("a/x.py", "b.py", ".git/c.py", "__pycache__/d.py", "venv/e.py", "f.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(BAD)
    report = tundish.check([tmp_path, tmp_path / "b.py"])
    assert report.files == 2
    assert {os.path.relpath(one.file, tmp_path) for one in report.findings} == {"a/x.py", "b.py"}
    assert tundish.check(tmp_path / "f.txt").findings  # a file given by name is always checked


def test_select_and_ignore_restrict_the_checks(script):
    assert tundish.check(script, select=["item-in-loop"]).problems == 1
    assert tundish.check(script, select=["data-parallel"]).problems == 0
    assert tundish.check(script, ignore=["item-in-loop"]).problems == 0
    with pytest.raises(tundish.ArgumentError, match="did you mean item-in-loop"):
        tundish.check(script, select=["item-in-lop"])


@pytest.mark.parametrize("path", ["gone.py", "empty"])
def test_a_path_without_scripts_is_an_error(path, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(tundish.ArgumentError, match=r"no such file|no Python file"):
        tundish.check(tmp_path / path)


COMMENTS = {
    "  # tundish: ignore[item-in-loop]": (0, []),
    "  # tundish: ignore": (0, []),
    "  # slow, but fine  # tundish: ignore[gc-in-loop, item-in-loop]": (0, [("gc-in-loop",)]),
    "  # tundish: ignore[gc-in-loop]": (1, [("gc-in-loop",)]),
    "  # tundish: ignore[no-such-check]": (1, [("no-such-check",)]),
    "  # noqa  tundish: ignore[item-in-loop]": (0, []),
    "  # noqa  tundish: ignore[gc-in-loop]": (1, [("gc-in-loop",)]),
    "; s = '# tundish: ignore'": (1, []),
}


@pytest.mark.parametrize("comment", COMMENTS)
def test_a_comment_suppresses_findings_on_its_line(comment, tmp_path):
    (tmp_path / "a.py").write_text(PRELUDE + LOOP.format(comment))
    left, unused = COMMENTS[comment]
    report = tundish.check(tmp_path)
    assert len(report.findings) == left
    assert report.suppressed == 1 - left
    assert [one.ids for one in report.unused_suppressions] == unused
    assert ("suppresses nothing" in str(report)) == bool(unused)


def test_a_comment_naming_an_unknown_check_is_reported(tmp_path):
    (tmp_path / "a.py").write_text(PRELUDE + LOOP.format("  # tundish: ignore[item-in-lop]"))
    text = str(tundish.check(tmp_path))
    assert (
        "suppresses nothing (no check is called 'item-in-lop'; did you mean item-in-loop?)" in text
    )


def test_a_comment_suppresses_the_next_line_or_the_whole_statement_before_it(tmp_path):
    above = BAD.replace("    total +=", "    # tundish: ignore[item-in-loop]\n    total +=")
    (tmp_path / "a.py").write_text(above)
    assert tundish.check(tmp_path).suppressed == 1
    long = BAD.replace(
        "loss.item()", "(\n        loss.item()\n    )  # tundish: ignore[item-in-loop]"
    )
    (tmp_path / "a.py").write_text(long)
    assert tundish.check(tmp_path).suppressed == 1


def test_a_comment_for_an_unselected_check_is_not_reported_as_unused(script):
    script.write_text(PRELUDE + LOOP.format("  # tundish: ignore[item-in-loop]"))
    assert tundish.check(script, select=["gc-in-loop"]).unused_suppressions == []


def notebook(*cells):
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "# Title"}, *code]})


def test_notebooks_are_checked_cell_by_cell(tmp_path):
    cells = [
        "!pip install x\n%matplotlib inline\n" + PRELUDE,
        "%%bash\nls",
        "not python (",
        LOOP.format(""),
    ]
    (tmp_path / "a.ipynb").write_text(notebook(*cells))
    (one,) = tundish.check(tmp_path).findings
    assert (one.cell, one.line, one.check) == (4, 5, "item-in-loop")
    assert f"{tmp_path}/a.ipynb:cell 4:5:14: warning" in str(tundish.check(tmp_path))


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("%%time\n", ""),
        ("\n%%capture output\n", ""),
        ("files = !ls\n%cd data\n", ""),
        ("names, count = %who_ls\n", ""),
        ("model?\n!pip install \\\n    one \\\n    two\n", ""),
        ("# is this fast?\n?model\n", ""),
        ("", "rest = (7\n% 2)\n"),
        ("", 'text = """\n%d files\n!"""\n'),
    ],
)
def test_a_cell_with_commands_of_ipython_is_checked(first, last, tmp_path):
    (tmp_path / "a.ipynb").write_text(notebook(PRELUDE, first + LOOP.format("") + "\n" + last))
    (finding,) = tundish.check(tmp_path).findings
    assert (finding.cell, finding.line) == (2, 5 + first.count("\n"))
    assert finding.excerpt == "    total += loss.item()"


def test_a_finding_of_a_notebook_names_other_lines_by_their_cell(tmp_path):
    cells = [
        "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(data)",
        "model = torch.nn.Linear(8, 8).cuda()",
        "for x, y in loader:\n    x = x.cuda()\n    model(x).sum().backward()",
    ]
    (tmp_path / "a.ipynb").write_text(notebook(*cells))
    (one,) = tundish.check(tmp_path, select=["missing-pin-memory"]).findings
    assert (one.cell, one.line) == (1, 3)
    assert "copied to the GPU (cell 3, line 2)" in one.text


def test_further_reads_in_a_notebook_are_named_with_their_cell(tmp_path):
    step = "    loss = model(x).sum()\n    loss.backward()\n    last = loss.item()\n"
    cells = (
        PRELUDE + "from own import top",
        "for x in loader:\n" + step + "    a, b = top(x)\n    a.item(), b.item()",
    )
    (tmp_path / "a.ipynb").write_text(notebook(*cells))
    (finding,) = tundish.check(tmp_path).findings
    assert finding.fix.endswith("; cell 2, line 6 waits too if the tensor is on the GPU")


def test_a_notebook_may_use_data_parallel(tmp_path):
    code = PRELUDE + "model = torch.nn.DataParallel(model)\nmodel(x).sum().backward()\n"
    (tmp_path / "a.ipynb").write_text(notebook(code))
    (tmp_path / "a.py").write_text(code)
    found = [(os.path.basename(one.file), one.check) for one in tundish.check(tmp_path).findings]
    assert found == [("a.py", "data-parallel")]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"cells": 3}', "{" * 100_000, "[" * 100_000, "\ud800"]
)
def test_a_broken_notebook_is_reported(text, tmp_path):
    (tmp_path / "a.ipynb").write_bytes(text.encode("utf-8", "surrogatepass"))
    (refused,) = tundish.check(tmp_path).not_checked
    assert refused.reason
    assert refused.fix


@pytest.mark.parametrize("codec", ["punycode", "undefined", "idna"])
def test_an_encoding_without_text_does_not_stop_the_other_files(codec, script):
    odd = script.with_name("odd.py")
    odd.write_bytes(f"# coding: {codec}\nk = 1..x\n".encode())
    report = tundish.check(script.parent)
    assert [finding.check for finding in report.findings] == ["item-in-loop"]
    assert all(refused.file == str(odd) for refused in report.not_checked)


def test_pipes_and_files_of_editors_in_a_folder_are_left_out(script):
    os.mkfifo(script.with_name("pipe.py"))
    os.symlink("user@host.1234", script.with_name(".#train.py"))
    script.with_name("._train.py").write_bytes(b"\0\5\x16\7")
    report = tundish.check(script.parent)
    assert (report.files, report.not_checked) == (1, [])


def run(*words, capsys):
    code = main([os.fspath(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_exit_codes_follow_the_findings(script, capsys):
    assert run(script, capsys=capsys)[0] == 1
    assert run(script, "--ignore", "item-in-loop", capsys=capsys)[0] == 0
    assert run(script.parent / "gone.py", capsys=capsys)[0] == 2
    assert run(script, "--slect", "x", capsys=capsys)[0] == 2
    assert run(capsys=capsys)[0] == 2
    (script.parent / "broken.py").write_text("def f(:\n")
    code, _, messages = run(script.parent, capsys=capsys)
    assert code == 3
    assert f"{script.parent}/broken.py:1: syntax error" in messages
    assert "fix: " in messages


def test_a_note_alone_exits_with_0(tmp_path, capsys):
    text = (
        PRELUDE
        + "from torchvision import transforms\nfrom torchvision.datasets import ImageFolder\n"
        "t = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])\n"
        "loader = DataLoader(ImageFolder('a', t), num_workers=n, pin_memory=True)\n" + LOOP
    ).replace("total += loss.item(){}", "")
    (tmp_path / "a.py").write_text(text)
    code, text, _ = run(tmp_path, capsys=capsys)
    assert "note:" in text
    assert "(1 note)" in text
    assert code == 0


def test_text_has_place_code_caret_why_and_fix(script, capsys):
    _, text, _ = run(script, capsys=capsys)
    first, code, caret, why, fix, empty, summary = text.splitlines()
    assert (
        first
        == f"{script}:{LINE}:14: warning: .item() waits for the GPU in every step [item-in-loop]"
    )
    assert code.strip() == "total += loss.item()"
    assert code[caret.index("^") :] == "loss.item()"
    assert why.startswith("  why: ")
    assert fix.startswith("  fix: ")
    assert empty == ""
    assert summary == "1 finding in 1 of 1 file (1 warning)"
    assert run(script, "--quiet", capsys=capsys) == (1, "", "")


def test_control_characters_do_not_reach_the_terminal(tmp_path, capsys):
    text = BAD.replace("loss.item()", "loss.item() + len('\x1b[31m')")
    (tmp_path / "a\x1b[2J.py").write_text(text)
    assert "\x1b" not in run(tmp_path, capsys=capsys)[1]


def test_json_has_the_keys_documented_in_the_help(script, capsys):
    code, text, _ = run(script, "--json", capsys=capsys)
    report = json.loads(text)
    assert code == 1
    assert report["version"] == 1
    assert report["findings"][0]["line"] == LINE
    promised = ARGUMENTS.help().partition("with --json:")[2].partition("exit codes")[0]
    for part in (report, report["findings"][0]):
        assert [key for key in part if key not in promised] == []
    code, text, _ = run(script, "--select", "nothing", "--json", capsys=capsys)
    assert code == 2
    assert json.loads(text)["error"]["exit"] == 2


def test_list_and_explain_cover_every_check(capsys):
    _, text, _ = run("--list", capsys=capsys)
    assert [name for name in RULES if f"  {name} " not in text] == []
    assert len(json.loads(run("--list", "--json", capsys=capsys)[1])) == len(RULES)
    code, text, _ = run("--explain", "item-in-loop", capsys=capsys)
    assert code == 0
    assert "instead:" in text
    assert run("--explain", "nothing", capsys=capsys)[0] == 2


def test_sarif_has_the_fields_that_its_readers_need(script, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken ä.py").write_text("def f(:\n")
    (tmp_path / "a.ipynb").write_text(notebook(BAD))
    assert run(".", "--sarif", "out.sarif", capsys=capsys)[0] == 3
    log = json.loads((tmp_path / "out.sarif").read_text())
    assert log["version"] == "2.1.0"
    assert "sarif-2.1.0" in log["$schema"]
    (one,) = log["runs"]
    rules = one["tool"]["driver"]["rules"]
    assert one["tool"]["driver"]["name"] == "tundish check"
    assert [rule["id"] for rule in rules] == list(RULES)
    assert one["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    assert len(one["results"]) == 2
    for result in one["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        (place,) = result["locations"]
        region = place["physicalLocation"]["region"]
        assert all(
            isinstance(region[key], int) and region[key] >= 1 for key in region if key != "snippet"
        )
    first = one["results"][1]["locations"][0]["physicalLocation"]
    assert first["artifactLocation"] == {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
    assert first["region"]["startLine"] == LINE
    (invocation,) = one["invocations"]
    assert invocation["executionSuccessful"] is False
    (note,) = invocation["toolExecutionNotifications"]
    place = note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "broken%20%C3%A4.py"


def test_a_script_is_not_overwritten_by_sarif(script, capsys):
    assert run(script, "--sarif", script, capsys=capsys)[0] == 2
    assert script.read_text() == BAD


def test_a_sarif_file_that_exists_is_replaced_with_force_only(script, tmp_path, capsys):
    sarif = tmp_path / "old.sarif"
    sarif.write_text("old")
    code, _, error = run(script, "--sarif", sarif, capsys=capsys)
    assert (code, sarif.read_text()) == (2, "old")
    assert f"--sarif {sarif}: exists already\n  fix: " in error
    assert run(script, "--sarif", sarif, "-f", capsys=capsys)[0] == 1
    assert json.loads(sarif.read_text())["version"] == "2.1.0"


def test_findings_are_printed_even_if_sarif_cannot_be_written(script, tmp_path, capsys):
    code, found, error = run(script, "--sarif", tmp_path, capsys=capsys)
    assert (code, found) == (2, run(script, capsys=capsys)[1])
    assert f"train.py:{LINE}" in found
    assert error == f"tundish: --sarif {tmp_path}: cannot be written: Is a directory\n"


def test_neither_torch_nor_the_script_is_imported(script):
    code = (
        "import sys; from tundish.__main__ import main; main(['check', sys.argv[1]]);"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, script], timeout=60).returncode == 0


@needs_program
def test_the_program_runs_the_verb(script):
    result = program("check", script.name, cwd=script.parent)
    assert result.returncode == 1
    assert out(result).startswith(f"train.py:{LINE}:14: warning")
    assert err(result) == ""
    result = program("check", script, "--json")
    assert set(json.loads(result.stdout)) == documented_keys("check")
