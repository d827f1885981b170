"""`tundish doctor compare`: the difference, the exit code, and files that are not reports."""

import json

import pytest
from tundish.diagnosis.cli import doctor_verb as cli
from tundish.diagnosis.cli.compare_verb import ARGUMENTS, main
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers.written_facts import facts, step


def report(data=0.0, **more):
    machine = {"cpu": "a CPU", "busy": 0.0}
    return {**judge(facts([step(data=data)] * 20)).as_json(), "machine": machine, **more}


@pytest.fixture
def write(tmp_path):
    def write(name, values):
        text = values if isinstance(values, str) else json.dumps(values)
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize(
    ("data", "threshold", "code", "words"),
    [
        (0.0, "5", 0, "0.0 % faster"),
        (0.0033, "5", 1, "10.0 % slower"),
        (0.0033, "11", 0, "10.0 % slower"),
        (0.033, "5", 1, "100.0 % slower"),
    ],
)
def test_the_exit_code_shows_whether_the_step_is_slower(
    write, capsys, data, threshold, code, words
):
    files = [write("a.json", report()), write("b.json", report(data))]
    assert main(["--slower-than", threshold, *files]) == code
    out = capsys.readouterr().out
    assert words in out
    assert ("slower: yes" in out) == bool(code)


def test_a_faster_step_and_a_changed_cause_are_reported(write, capsys):
    assert main([write("a.json", report(0.1)), write("b.json", report())]) == 0
    out = capsys.readouterr().out
    assert "75.2 % faster: 133 ms -> 33.0 ms" in out
    assert "before: Training waits for data" in out
    assert "after:  The model bounds the step" in out


def test_runs_that_cannot_be_compared_have_a_note(write, capsys):
    other = report(machine={"cpu": "another", "busy": 0.9}, loader={"batch_size": 7})
    other["figures"]["few"] = True
    main([write("a.json", report()), write("b.json", other)])
    out = capsys.readouterr().out
    for words in (
        "different machine: a CPU, then another",
        "batch size: 10, then 7",
        "few steps",
        "busy",
    ):
        assert words in out.replace("other processes used the CPUs", "busy"), words


def test_json_has_the_keys_that_the_help_promises(write, capsys):
    assert main(["--json", write("a.json", report()), write("b.json", report(0.1))]) == 1
    found = json.loads(capsys.readouterr().out)
    promised = ARGUMENTS.help().split("with --json:\n{")[1].split("}")[0]
    assert list(found) == promised.replace("\n", " ").split(", ")
    assert found["slower"] is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a report of tundish doctor"),
        ('{"figures": 1}', "not a report of tundish doctor"),
        ('{"version": 9, "figures": {}, "sentence": ""}', "version 9, not 1"),
        ('{"version": 1, "figures": null, "sentence": "No verdict"}', "contains no step: No verdict"),
        ('{"version": 1, "figures": [], "sentence": ""}', "incomplete"),
        ('{"version": 1, "figures": {"step_s": "x"}, "sentence": ""}', "incomplete"),
        ('{"version": 1, "figures": {"step_s": 0, "ceiling_s": 0, "parts": {}}, "sentence": ""}', "incomplete"),
        ('{"version": 1, "figures": {"step_s": 1, "ceiling_s": 1, "parts": {"data": []}}, "sentence": ""}', "incomplete"),
        ('{"version": 1, "machine": 3, "figures": {"step_s": 1, "ceiling_s": 1, "parts": {}}, "sentence": ""}', "incomplete"),
        ('{"version": 1, "figures": {"step_s": NaN, "ceiling_s": 1, "parts": {}}, "sentence": ""}', "incomplete"),
        ('{"version": 1, "cause": 3, "figures": {"step_s": 1, "ceiling_s": 1, "parts": {}}, "sentence": ""}', "incomplete"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_a_report_is_refused(write, capsys, text, words):
    file = write("bad.json", text)
    assert main(["--json", write("a.json", report()), file]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert file in captured.err
    assert json.loads(captured.out)["error"]["exit"] == 2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "BEFORE.json"),
        (["/no/such.json", "/no/such.json"], "/no/such.json: No such file"),
        (["a.json"], "AFTER.json is missing"),
        (["a.json", "b.json", "c.json"], "unknown argument 'c.json'"),
        (["--slower-than", "-3", "a", "b"], "'-3' is not a percentage from 0 to 1000"),
        (["--slower-than", "nan", "a", "b"], "'nan' is not a percentage from 0 to 1000"),
        (["--threshold", "3", "a", "b"], "tundish: --threshold is now --slower-than\n"),
    ],
)
def test_invalid_arguments_are_refused(words, text, capsys):
    assert main(words) == 2
    assert text in capsys.readouterr().err


def test_help_starts_with_an_example(capsys):
    assert cli.main(["compare", "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("examples:\n  tundish doctor compare before.json")
    assert max(map(len, out.splitlines())) <= 80


def test_quiet_prints_nothing_but_keeps_the_exit_code(write, capsys):
    files = [write("a.json", report()), write("b.json", report(0.1))]
    assert cli.main(["compare", "-q", *files]) == 1
    assert capsys.readouterr() == ("", "")


def test_any_value_of_a_report_is_compared_and_shown_without_control_characters(write, capsys):
    hostile = report(machine={"cpu": "\x1b[31mred\x00\x07", "busy": 0.0}, sentence="a\x1b[2Jb\rc")
    unnamed = report(data=0.0033)
    del unnamed["cause"]
    assert main([write("a.json", hostile), write("b.json", unnamed)]) == 1
    out = capsys.readouterr().out
    assert "different machine: red??, then a CPU" in out
    assert "before: a?[2Jb" in out
    assert all(char == "\n" or char.isprintable() for char in out)


def test_a_file_without_an_end_is_refused(capsys):
    assert main(["/dev/zero", "/dev/zero"]) == 2
    assert "/dev/zero: not JSON: more than 64 MiB" in capsys.readouterr().err
