"""Only the code of a single call passes for a single call."""

import pytest
from tundish.dropin.single_calls import _chain

OTHER_CODE = """
return COMPOSE(image=image)
return COMPOSE(*image)
return COMPOSE(image, image)
return COMPOSE(image, None)
return COMPOSE(COMPOSE(image))
return COMPOSE(image)()
return COMPOSE()(image)
return COMPOSE[image]
return COMPOSE.transforms[0](image)
return image(COMPOSE)
return image.COMPOSE(image)
return (COMPOSE(image),)
return -COMPOSE(image)
return COMPOSE(image) or image
return COMPOSE(image) if image else image
return (yield COMPOSE(image))
return lambda: COMPOSE(image)
yield COMPOSE(image)
COMPOSE(image)
COMPOSE(image); return image
image = COMPOSE(image); image = COMPOSE(image); return image
image = COMPOSE(image); return COMPOSE
other = image; other = COMPOSE(image); return image
global image_; image_ = COMPOSE(image); return image_
with COMPOSE: return COMPOSE(image)
while True: return COMPOSE(image) and image
""".strip().splitlines()


@pytest.mark.parametrize("text", OTHER_CODE)
@pytest.mark.parametrize(
    "head", ["def f(image):", "async def f(image):", "def f(*image):", "def f(image, *other):"]
)
def test_no_other_code_passes_for_a_single_call(head, text):
    names = {}
    text = (
        text.replace("; ", "\n    ") if text.startswith(("global", "image", "other", "C")) else text
    )
    if head.startswith("async") and "yield" in text:
        text = "COMPOSE(image)"
    exec(f"{head}\n    {text}", names)
    assert _chain(names["f"].__code__, False) is None
    exec(f"{head}\n    return COMPOSE(image)", names)
    found = _chain(names["f"].__code__, False)
    assert found == (("COMPOSE",) if head == "def f(image):" else None)


def test_a_function_with_further_arguments_is_no_single_call():
    names = {}
    for other, expected in (("", ("COMPOSE",)), (", *other", None), (", **other", None)):
        exec(f"def f(image{other}):\n    other = COMPOSE(image)\n    return other", names)
        assert _chain(names["f"].__code__, False) == expected
