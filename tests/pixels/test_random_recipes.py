"""Random lists of torchvision's transforms keep their pixels when translated, or are refused."""

import json
from collections import Counter

from tests.helpers.torchvision_child import ask_torchvision

CHILD = """
import json
from tests.helpers.random_recipes import compare_recipe, draw_recipe
answers = []
for number in range(int(sys.argv[1])):
    text = draw_recipe(number)
    answers.append((text, compare_recipe(text, (20 + number % 37, 24 + number % 29), number)))
print(json.dumps(answers))
"""


def test_random_recipes_have_the_pixels_of_torchvision() -> None:
    answers = json.loads(ask_torchvision(CHILD, "700"))
    verdicts = Counter(answer.split(":")[0] for _, answer in answers)
    differing = [one for one in answers if one[1].startswith("differs")]
    assert differing == []
    assert verdicts["same"] > 250
    assert verdicts["refused"] > 50
