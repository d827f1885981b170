"""`tundish top`: finds the loaders of other processes without files; terminal, JSON and page."""

import json
import os
import pty
import re
import subprocess
import termios
import urllib.error
import urllib.request

import pytest

from tests.helpers.program import PROGRAM, documented_keys, err, needs_program, out, tundish
from tests.helpers.warm_python import run_warm

pytestmark = needs_program


def snapshot():
    result = tundish("top", "--json")
    assert result.returncode == 0, err(result)
    return json.loads(result.stdout)


TRAINING = """
import os, sys, time
import tundish
options = dict(threads=1, images_as="list")
loader = tundish.Loader(sys.argv[1], batch_size=4, shuffle=True, **options)
other = tundish.Loader(sys.argv[1], batch_size=2, **options)
batches = iter(loader)
next(batches), next(batches)
def found(process):
    import json, subprocess
    text = subprocess.run([sys.argv[2], "top", "--json"], capture_output=True, check=True).stdout
    return [one for one in json.loads(text)["loaders"] if one["process"] == process]
(one,) = found(os.getpid())  # the other one has not begun
assert one["source"].endswith(".tnd"), one
assert one["batch_size"] == 4 and one["stats"]["threads"] == 1, one
assert one["stats"]["batches"] >= 1 and one["epoch_samples"] == 23, one
child = os.fork()
if child == 0:
    time.sleep(60)
assert not found(child), "a forked child publishes nothing"
assert len(found(os.getpid())) == 1
os.kill(child, 9), os.waitpid(child, 0)
next(iter(other))
assert sorted(x["batch_size"] for x in found(os.getpid())) == [2, 4]
before = set(os.listdir("/proc/self/fd"))
loader.close()
assert [x["batch_size"] for x in found(os.getpid())] == [2]
other.close()
assert not found(os.getpid())
assert len(os.listdir("/proc/self/fd")) < len(before)
"""


def test_a_loader_is_seen_while_it_runs_and_not_in_its_forks(photos):
    assert run_warm("-c", TRAINING, photos.pack, PROGRAM).returncode == 0


def test_the_json_has_the_keys_documented_in_the_help():
    found = snapshot()
    assert set(found) == documented_keys("top")
    assert found["seconds"] > 0
    assert 0 <= found["host"]["cpu_busy"] <= 1


def test_each_interval_prints_one_line():
    result = tundish("top", "--json", "--interval", "0.1", "--snapshots", "3")
    lines = out(result).splitlines()
    assert len(lines) == 3
    times = [json.loads(line)["time"] for line in lines]
    assert times == sorted(times)


def test_without_a_terminal_the_text_has_no_escapes():
    text = out(tundish("top"))
    assert "\x1b" not in text
    assert text.startswith(("cpu ", "gpu "))


@pytest.mark.parametrize("color", [True, False])
def test_on_a_terminal_it_draws_until_q_and_leaves_the_terminal_as_it_was(color):
    ours, end = pty.openpty()
    before = termios.tcgetattr(end)
    environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    if color:
        del environment["NO_COLOR"]
    process = subprocess.Popen([PROGRAM, "top"], stdin=end, stdout=end, env=environment)
    drawn = b""
    while b"q: end" not in drawn:
        drawn += os.read(ours, 65536)
    assert termios.tcgetattr(end)[3] != before[3]
    os.write(ours, b"q")
    assert process.wait(timeout=60) == 0
    drawn += os.read(ours, 65536)
    assert termios.tcgetattr(end) == before
    os.close(ours)
    os.close(end)
    assert drawn.startswith(b"\x1b[?1049h")
    assert drawn.endswith(b"\x1b[?1049l")
    assert (b"\x1b[1mcpu\x1b[0m " in drawn) == color
    assert (b"cpu " in drawn) != color


def test_invalid_arguments_are_named():
    assert "--port is only for --serve" in err(tundish("top", "--port", "80"))
    assert tundish("top", "--port", "80").returncode == 2
    assert tundish("top", "--serve", "--snapshots", "2").returncode == 2


@pytest.fixture
def served():
    process = subprocess.Popen(
        [PROGRAM, "top", "--serve"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    address = process.stdout.readline().decode().strip()
    yield address
    process.terminate()
    assert process.wait(timeout=20) == 0
    process.stdout.close()


def get(address):
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read().decode(), answer.headers


def test_the_page_requires_the_token(served):
    base, token = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/\?token=([0-9a-f]{32})", served).groups()
    page, headers = get(served)
    assert page.startswith("<!doctype html>")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    figures = json.loads(get(f"{base}/snapshot?token={token}")[0])
    assert set(figures) == documented_keys("top")
    for address in (f"{base}/", f"{base}/snapshot", f"{base}/snapshot?token={'0' * 32}"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(address)
        assert refused.value.code == 403
        refused.value.close()
