"""One run of `bench seeing`, in a process of its own: one.py PACKAGES PACK WHAT THREADS IMAGES TRACE."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.rounds import measure

STATS, TRACE = "stats() at every batch", "trace"


def main(packages: str, pack: str, what: str, threads: str, images: str, trace: str) -> None:
    sys.path.insert(0, packages)
    import tundish
    from tundish import transforms as T

    more = {"trace": trace} if what == TRACE else {}
    loader = tundish.Loader(
        pack,
        64,
        shuffle=True,
        seed=7,
        threads=int(threads),
        backend="numpy",
        uneven="drop",
        transforms=[T.RandomResizedCrop(224), T.RandomHorizontalFlip()],
        **more,
    )

    def sizes() -> Iterator[int]:
        while True:
            for batch in loader:
                yield len(batch[1])
                if what == STATS:
                    loader.stats(reset=True)

    cost = measure(sizes(), int(images))
    loader.close()  # writes the trace, untimed
    print(json.dumps(asdict(cost)))


if __name__ == "__main__":
    main(*sys.argv[1:])
