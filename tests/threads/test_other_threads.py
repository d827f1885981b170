"""A loader that other threads of the program inspect, such as a logger or a progress bar."""

import threading

import pytest
import tundish
from tundish import transforms as T

LIMIT_S = 120  # only a hang reaches the limit

HEAD = """
import numpy, sys, threading, tundish
from tundish import transforms as T

def loader():
    return tundish.Loader(sys.argv[1], 4, threads=1, backend="numpy",
                          transforms=[T.Resize((8, 8))])
"""


@pytest.fixture(scope="module")
def half_bad(make, tmp_path_factory):
    folder = tmp_path_factory.mktemp("half")
    for n in range(200):
        image = make.png(n, 8, 8)
        make.write(folder / "x" / f"{n:03}.png", image[:60] if n % 2 else image)
    return folder


def test_stats_may_be_called_while_the_loader_is_closed(photos, run_python):
    result = run_python(
        HEAD
        + """
sys.setswitchinterval(1e-5)
for _ in range(150):
    one = loader()
    iterator = iter(one)
    looking = threading.Event()
    def look():
        looking.set()
        try:
            while True:
                one.stats(), one.bad_samples(), len(one)
        except tundish.Error as error:
            assert error.code == "TND-606", error
    thread = threading.Thread(target=look)
    thread.start()
    looking.wait()
    next(iterator)
    one.close()
    thread.join()
print("fine")
""",
        photos.pack,
        check=False,
        timeout=LIMIT_S,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


@pytest.mark.parametrize("look", ["one.stats()", "one.bad_samples()", "len(one)", "data[3]"])
def test_a_thread_may_still_read_stats_when_the_program_ends(photos, run_python, look):
    result = run_python(
        HEAD
        + f"""
one, data = loader(), tundish.Dataset(sys.argv[1])
def always():
    while True:
        try:
            {look}
        except tundish.Error:
            pass
threading.Thread(target=always, daemon=True).start()
for _ in range(3):
    list(one)
""",
        photos.pack,
        check=False,
        timeout=LIMIT_S,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_every_thread_reads_its_own_list_of_bad_samples(half_bad):
    loader = tundish.Loader(half_bad, 20, threads=1, backend="numpy", transforms=[T.Resize((8, 8))])
    with pytest.warns(UserWarning, match="a bad sample was left out"):
        list(loader)
    wrong = []

    def look():
        try:
            for _ in range(100):
                assert len(loader.bad_samples()) == 100
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_closed_loader_keeps_no_batch_memory(photos, run_python):
    result = run_python(
        HEAD
        + """
import resource, time
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
one = tundish.Loader(sys.argv[1], 20, threads=1, backend="numpy", prefetch=4,
                     transforms=[T.Resize((1000, 1000))])
iterator = iter(one)
del_me = next(iterator)
del del_me
before = resident()
one.close()
while resident() > before - 50e6:  # a batch has 60 MB; a thread may end a moment later
    time.sleep(0.01)
print("fine")
""",
        photos.pack,
        check=False,
        timeout=LIMIT_S,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")
