"""Random file operations give the same results under the write guard as without it."""

import json
import subprocess
import sys

import pytest

from tests.helpers import file_operations
from tests.helpers.guarded import Guarded, recorded

COUNT = 200  # operations per seed


def results(lines: str) -> list:
    return [json.loads(line) for line in lines.splitlines()]


@pytest.mark.parametrize("seed", range(4))
def test_random_operations_give_the_same_results_under_the_guard(tmp_path, seed):
    plain = tmp_path / "plain" / "users"
    plain.mkdir(parents=True)
    file_operations.fill(str(plain))
    guarded = Guarded(tmp_path)
    file_operations.fill(str(guarded.users))
    before = recorded(guarded.users)
    command = [sys.executable, file_operations.__file__]
    expected = subprocess.run(
        [*command, plain, str(seed), str(COUNT)], capture_output=True, text=True, check=True
    )
    got = guarded.run(*command, guarded.users, seed, COUNT)
    assert recorded(guarded.users) == before
    assert results(got) == results(expected.stdout)
    assert len(results(got)) == COUNT


def test_processes_that_change_the_same_files_at_once_leave_the_users_as_they_are(tmp_path):
    guarded = Guarded(tmp_path)
    file_operations.fill(str(guarded.users))
    before = recorded(guarded.users)
    environment = guarded.environment()
    command = [sys.executable, file_operations.__file__, str(guarded.users)]
    children = [
        subprocess.Popen(
            [*command, str(seed), str(COUNT)], env=environment, stdout=subprocess.PIPE, text=True
        )
        for seed in range(100, 104)
    ]
    lines = [results(child.communicate()[0]) for child in children]
    assert recorded(guarded.users) == before
    assert [len(one) for one in lines] == [COUNT] * len(children)
