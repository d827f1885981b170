"""Makes one run of `bench monitoring` in a separate process: one.py PACK WHAT THREADS IMAGES TRACE.

PYTHONPATH selects the tundish package to measure.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict

from ..common.rounds import measure

STATS, TRACE = "stats() at every batch", "trace"


def main(pack: str, what: str, threads: str, images: str, trace: str) -> None:
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
    loader.close()  # writes the trace, which is not timed
    print(json.dumps(asdict(cost)))


if __name__ == "__main__":
    main(*sys.argv[1:])
