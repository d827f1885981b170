"""The file that `tundish tune` writes is checked before the search."""

import json
import os

from .test_tune_cli import search, tune

__all__ = ["search"]  # a fixture


def test_a_plan_with_a_trick_of_the_users_own_may_be_replaced(search, tmp_path):
    assert tune("train.py:build", "-q") == 0
    values = json.loads((tmp_path / "plan.json").read_text())
    values["tricks"].append({"name": "mine", "own": "tricks.py:Mine"})
    (tmp_path / "plan.json").write_text(json.dumps(values))
    assert tune("train.py:build", "-q") == 2
    assert tune("train.py:build", "-q", "--force") == 0
    assert "own" not in (tmp_path / "plan.json").read_text()


def test_a_folder_that_cannot_be_written_is_found_before_the_search(search, capsys, monkeypatch):
    monkeypatch.setattr(os, "access", lambda folder, mode: False)
    assert tune("train.py:build") == 2
    assert "plan.json: no file can be made in" in capsys.readouterr().err
    assert search.asked is None
