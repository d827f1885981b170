"""`./dev siege augment` with a few lists: it accepts correct results and stops at wrong results."""

import subprocess
import sys

from tests.helpers.list_checks import Difference
from tests.helpers.program import ROOT, needs_program
from tests.siege import augment

pytestmark = needs_program


def test_a_small_siege_finds_no_difference():
    line = [sys.executable, "-m", "tests.siege.augment", "--lists", "3", "--seed", "40"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "3 lists from seed 40: no difference"
    assert "siege: 3 of 3 lists, " in done.stderr
    assert "0:00 left  (seed 42)" in done.stderr


def test_the_first_difference_ends_the_siege_and_can_be_reproduced(monkeypatch, capsys):
    tried = []

    def differs_at_eight(pack, number):
        tried.append(number)
        if number == 8:
            raise Difference('two ranks: list 8:\n[{"name": "Pad"}]')

    monkeypatch.setattr(augment, "check_list", differs_at_eight)
    monkeypatch.setattr(sys, "argv", ["augment", "--seed", "6", "--lists", "90"])
    assert augment.main() == 1
    assert tried == [6, 7, 8]
    printed = capsys.readouterr().out
    assert 'DIFFERS: two ranks: list 8:\n[{"name": "Pad"}]' in printed
    assert "to repeat it: ./dev siege augment --seed 8 --lists 1" in printed
