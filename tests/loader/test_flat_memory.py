"""A long run uses no more memory than a short one, with or without bad samples."""

import os
import random

from tests.helpers.small_set import image

BATCHES = int(os.environ.get("TUNDISH_FLAT_BATCHES", "10000"))  # ./dev siege flat: 100,000
ALLOWED = 1 << 20  # bytes of growth from the second to the last tenth of the run
REPORTED = 320  # bytes per bad sample in the report, which holds the first 10,000

CODE = """
import sys, warnings, tundish
from tundish import transforms as T
warnings.simplefilter("ignore")

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

batches = int(sys.argv[2])
loader = tundish.Loader(sys.argv[1], 4, shuffle=True, threads=2, on_error=sys.argv[3], backend="numpy",
                        transforms=[T.Resize((16, 16))])
done, sizes = 0, []
while done < batches:
    for _ in loader:
        done += 1
        if done % (batches // 10) == 0:
            sizes.append(resident())
            loader.stats(reset=True)
        if done == batches:
            break
assert loader.stats()["data/bad"] >= batches * 4 // 100 - 8, loader.stats()
print(max(sizes[1:]) - sizes[1], min(10_000, int(loader.stats()["data/bad"])))
"""


def test_memory_is_flat_over_many_batches_with_bad_samples(make, tmp_path, run_python):
    bad = set(random.Random(3).sample(range(400), 4))  # 1 %
    for number in range(400):
        data = image(number)
        make.write(tmp_path / f"f/x/{number:03}.png", data[:60] if number in bad else data)
    pack = make.pack(tmp_path / "f", tmp_path / "set.tnd")
    for policy in ("skip", "substitute"):
        result = run_python(CODE, pack, BATCHES, policy, timeout=120 + BATCHES / 100)
        growth, reported = map(int, result.stdout.split())
        assert growth < ALLOWED + REPORTED * reported, (policy, growth, reported)
        print(f"{BATCHES} batches, {policy}: {growth} bytes more, {reported} samples reported")
