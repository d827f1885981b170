"""Random lists of torchvision's transforms: does each translation have the same pixels?

The lists have no randomness. The first list whose pixels differ ends the siege; its text is
printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter

from tests.helpers.random_recipes import compare_recipe, draw_recipe


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev siege recipes", description=__doc__)
    parser.add_argument("--lists", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="number of the first list (0)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    verdicts: Counter[str] = Counter()
    for number in range(options.seed, options.seed + options.lists):
        text = draw_recipe(number)
        answer = compare_recipe(text, (20 + number % 37, 24 + number % 29), number)
        verdicts[answer.split(":")[0]] += 1
        if answer.startswith("differs"):
            print(f"DIFFERS: {text}\n{answer}")
            print(f"to repeat it: ./dev siege recipes --seed {number} --lists 1")
            return 1
    print(f"{options.lists:,} lists from seed {options.seed}: {dict(verdicts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
