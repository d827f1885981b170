"""Result files: shared values are written once, every file is referenced, and no value is lost."""

import json

from bench.common.result_files import read_rows, result_text, write_rows
from tests.helpers.bench_runs import ROOT

RESULTS = ROOT / "bench" / "results"


def test_rows_survive_a_file_and_shared_origins_are_written_once(tmp_path):
    origins = [{"machine": {"cpu": f"number {n}"}, "command": "run", "commit": ""} for n in (1, 2)]
    rows = [{"metric": "speed", "value": n / 3, "nested": {"low": [n]}} for n in range(9)]
    rows = [row | origins[n % 2] for n, row in enumerate(rows)]
    path = tmp_path / "folder" / "rows.json"
    write_rows(path, rows)
    as_text = {json.dumps(row, sort_keys=True) for row in rows}
    assert {json.dumps(row, sort_keys=True) for row in read_rows(path)} == as_text
    text = path.read_text()
    assert text.count("number 1") == text.count("number 2") == 1
    assert sum('"metric"' in line for line in text.splitlines()) == len(rows)


def test_rows_of_an_older_revision_are_read(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text('[{"metric": "speed", "value": 1}]')
    assert read_rows(path) == [{"metric": "speed", "value": 1}]


def test_text_is_json_of_the_same_value():
    for value in ({}, [], {"a": []}, {"a": [{"b": 1}, {"rows": [{"c": None}]}], "d": {"e": 2.5}}):
        assert json.loads(result_text(value)) == value


def test_every_result_file_is_referred_to_by_a_page_or_a_test():
    folders = [ROOT / "docs", ROOT / "bench", ROOT / "tests"]
    sources = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    sources += [f for folder in folders for f in folder.rglob("*") if f.suffix in {".md", ".py"}]
    text = "\n".join(source.read_text() for source in sources)
    assert not [f.name for f in RESULTS.iterdir() if f"{f.name}" not in text]
