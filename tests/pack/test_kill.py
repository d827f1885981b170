"""SIGKILLs at random moments of `tundish pack` leave the old state or the new state."""

import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from tests.helpers.program import PROGRAM, needs_program, tundish
from tests.helpers.small_set import left_over, make_folder

pytestmark = needs_program

KILLS = int(os.environ.get("TUNDISH_KILLS", "300"))  # ./dev siege kills: 10,000
WORKERS = max(2, os.cpu_count() or 2)


def kill_at_random_moments(folder, source, kills, seed, old, new):
    """Packs repeatedly over an absent or old target until `kills` signals hit a live process."""
    choose = random.Random(seed)
    target = folder / "t.tnd"
    command = [PROGRAM, "pack", source, "-o", target, "--force", "--quiet", "-j", "2"]
    start = time.monotonic()
    subprocess.run(command, check=True)
    usual = time.monotonic() - start
    seen = {"absent": 0, "old": 0, "new": 0}
    hit = attempts = 0
    while hit < kills:
        attempts += 1
        assert attempts < 20 * kills, "the program is never alive when the signal comes"
        before = choose.choice([None, old])
        if before is None:
            target.unlink(missing_ok=True)
        else:
            target.write_bytes(before)
        process = subprocess.Popen(command)
        time.sleep(choose.uniform(0, usual))
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            continue
        hit += 1
        after = target.read_bytes() if target.exists() else None
        assert after in (before, new), f"half a file after kill {hit} of seed {seed}"
        seen["absent" if after is None else "old" if after == old else "new"] += 1
        assert len(left_over(folder)) <= 2  # the partial pack and its journal
    subprocess.run(command, check=True)
    assert target.read_bytes() == new
    assert os.listdir(folder) == ["t.tnd"]
    return seen


def test_a_killed_pack_leaves_the_old_state_or_a_complete_file(tmp_path):
    source = make_folder(tmp_path / "source", 40)
    old, new = tmp_path / "old.tnd", tmp_path / "new.tnd"
    assert tundish("pack", make_folder(tmp_path / "other", 3), "-o", old).returncode == 0
    assert tundish("pack", source, "-o", new).returncode == 0
    assert tundish("verify", new).returncode == 0

    def campaign(worker):
        folder = tmp_path / f"worker-{worker}"
        folder.mkdir()
        share = KILLS // WORKERS + (worker < KILLS % WORKERS)
        return kill_at_random_moments(
            folder, source, share, worker, old.read_bytes(), new.read_bytes()
        )

    with ThreadPoolExecutor(WORKERS) as pool:
        states = list(pool.map(campaign, range(WORKERS)))
    total = {name: sum(state[name] for state in states) for name in states[0]}
    assert sum(total.values()) == KILLS
    print(f"{KILLS} kills: {total}")
