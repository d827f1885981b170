"""`tundish view`: a contact sheet of exactly the images that a loader returns."""

import base64
import html
import io
import json
import re

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.files import jpeg, left_behind, write
from tests.helpers.program import (
    documented_keys,
    err,
    error_of,
    needs_program,
    out,
    result_json,
)
from tests.helpers.program import tundish as program

pytestmark = needs_program

RECIPE = [
    T.RandomResizedCrop(64),
    T.RandomHorizontalFlip(),
    T.RandomApply([T.ColorJitter(0.4, 0.4)], p=0.5),
    T.ToDtype("float16", scale=True),
    T.Normalize(),
    T.RandomErasing(p=0.5, value="random"),
]
LEVELS = RECIPE[:3]
MARGIN = 6  # margin of the PNG in pixels


def recipe_file(folder, transforms=RECIPE):
    path = folder / "recipe.json"
    path.write_text(T.to_json(transforms))
    return path


def pictures_of(page):
    """Returns the pictures inside an HTML sheet, in order."""
    found = re.findall(r'src="data:image/jpeg;base64,([^"]*)"', page)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(one)))) for one in found]


def given_by_a_loader(pack, samples, draws, seed, transforms):
    """Returns the uint8 images of these samples over all epochs: images[sample][epoch]."""
    loader = tundish.Loader(
        pack, 1, transforms=transforms, seed=seed, order=tundish.Subset(samples), backend="numpy"
    )
    epochs = [[images[0].transpose(1, 2, 0) for images, _ in loader] for _ in range(draws)]
    return [[epoch[i] for epoch in epochs] for i in range(len(samples))]


def test_a_png_sheet_shows_the_images_of_the_loader(photos, tmp_path):
    sheet = tmp_path / "sheet.png"
    recipe = recipe_file(tmp_path, LEVELS)
    words = ("view", photos.pack, "--transforms", recipe, "-o", sheet, "--seed", "7")
    result = result_json(*words, "--samples", "3", "--draws", "2")
    assert set(result) == documented_keys("view")
    samples = [k * photos.count // 3 for k in range(3)]
    assert [one["sample"] for one in result["samples"]] == samples
    assert [draw["epoch"] for draw in result["samples"][0]["draws"]] == [0, 1]
    pixels = np.asarray(Image.open(sheet).convert("RGB"))
    across = (pixels.shape[1] - MARGIN) // 3
    down = (pixels.shape[0] - MARGIN) // 3
    expected = given_by_a_loader(photos.pack, samples, 2, 7, LEVELS)
    for row in range(3):
        for column in range(2):
            top, left = MARGIN + row * down, MARGIN + (column + 1) * across
            assert np.array_equal(
                pixels[top : top + 64, left : left + 64], expected[row][column]
            ), (row, column)
    assert left_behind(tmp_path, "sheet.png", "recipe.json") == []


def test_normalize_is_undone_and_an_erasure_after_it_is_shown(photos, tmp_path):
    """Without erasing, the levels equal those before ToDtype; with erasing, some differ."""
    sheets = {}
    for name, transforms in {
        "levels": LEVELS,
        "undone": RECIPE[:5],
        "bfloat": [*LEVELS, T.ToDtype("bfloat16", scale=True)],
        "erased": [*RECIPE[:5], T.RandomErasing(p=1, value=0)],
    }.items():
        sheet = tmp_path / f"{name}.png"
        recipe = recipe_file(tmp_path, transforms)
        words = ("view", photos.pack, "--transforms", recipe, "-o", sheet)
        result_json(*words, "--samples", "2", "--draws", "1")
        image = np.asarray(Image.open(sheet).convert("RGB")).astype(int)
        left = MARGIN + (image.shape[1] - MARGIN) // 2
        sheets[name] = image[MARGIN : MARGIN + 64, left : left + 64]
    assert np.array_equal(sheets["levels"], sheets["undone"])
    assert np.array_equal(sheets["levels"], sheets["bfloat"])
    differ = (sheets["levels"] != sheets["erased"]).any(-1)
    assert 0.01 < differ.mean() < 0.4
    means = [round(255 * mean) for mean in T.Normalize().mean]
    assert (sheets["erased"][differ] == means).all()


def test_an_html_sheet_is_one_file_with_the_pictures_inside(photos, tmp_path):
    sheet = tmp_path / "sheet.html"
    recipe = recipe_file(tmp_path)
    words = ("view", photos.folder, "--transforms", recipe, "-o", sheet)
    text = out(program(*words, "--samples", "2", "--draws", "3", "--epoch", "4"))
    assert "2 samples, 3 draws of each" in text
    page = sheet.read_text()
    pictures = pictures_of(page)
    assert len(pictures) == 2 * 4
    assert [one.shape for one in pictures[1:4]] == [(64, 64, 3)] * 3
    assert re.findall(r"alt=\"epoch (\d+)\"", page)[:3] == ["4", "5", "6"]
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    shown = json.loads(html.unescape(re.search(r"<pre>(.*?)</pre>", page, re.S)[1]))
    assert [one["name"] for one in shown] == [type(one).__name__ for one in RECIPE]


def test_an_html_sheet_shows_the_images_of_the_loader(photos, tmp_path):
    sheet = tmp_path / "sheet.html"
    words = ("view", photos.pack, "--transforms", recipe_file(tmp_path, LEVELS), "-o", sheet)
    result_json(*words, "--samples", "2", "--draws", "2")
    pictures = pictures_of(sheet.read_text())
    expected = given_by_a_loader(photos.pack, [0, photos.count // 2], 2, 0, LEVELS)
    for row in range(2):
        for column in range(2):
            shown = pictures[3 * row + 1 + column].astype(int)
            assert np.abs(shown - expected[row][column]).mean() < 6


def test_recipes_are_read_from_python_json_and_saved_states(photos, tmp_path):
    loader = tundish.Loader(photos.pack, 4, transforms=RECIPE, seed=11, exif_orientation=True)
    state, sheet = tmp_path / "state.json", tmp_path / "sheet.png"
    state.write_text(json.dumps(loader.state_dict()))
    words = ("--samples", "2", "--draws", "1")
    one = result_json("view", photos.pack, "--transforms", state, "-o", sheet, *words)
    assert one["seed"] == 11
    two = result_json(
        "view", photos.pack, "--transforms", recipe_file(tmp_path), "-o", tmp_path / "b.png",
        "--seed", "11", "--exif-orientation", *words,
    )  # fmt: skip
    assert one["samples"] == two["samples"]
    assert sheet.read_bytes() == (tmp_path / "b.png").read_bytes()


def test_one_of_several_views_is_shown_from_a_file_and_from_a_state(photos, tmp_path):
    views = [LEVELS, [T.RandomCrop(32, pad_if_needed=True), *LEVELS[1:]]]
    recipe = recipe_file(tmp_path, views)
    state, sheet = tmp_path / "state.json", tmp_path / "sheet.png"
    loader = tundish.Loader(photos.pack, 1, views=views, seed=3)
    state.write_text(json.dumps(loader.state_dict()))
    words = ("-o", sheet, "--force", "--samples", "1", "--draws", "1")
    for number, (file, more) in enumerate([(recipe, ["--seed", "3"]), (state, [])] * 2):
        view = number // 2
        given = ("view", photos.pack, "--transforms", file, "--view", str(view), *more, *words)
        found = result_json(*given)
        assert found["view"] == view
        (draw,) = found["samples"][0]["draws"]
        width, height = draw["image"]
        plan = T.plan(views[view], (height, width), seed=3, view=view)
        assert draw["steps"] == plan["steps"]
    result = program("view", photos.pack, "--transforms", recipe, "--view", "2", *words)
    assert result.returncode == 2
    assert "--view 2: " in err(result)
    assert "has 2 views, and the first is 0" in err(result)


def test_long_captions_do_not_widen_the_columns_of_a_png(photos, tmp_path):
    """The numbers of an affine step do not widen the columns either."""
    long = [T.Resize((200, 200)), T.RandomAffine((9, 9), (0.3, 0.3), (0.8, 0.8), (5, 5))]
    sheet = tmp_path / "sheet.png"
    words = ("--samples", "2", "--draws", "2")
    result_json(
        "view", photos.pack, "--transforms", recipe_file(tmp_path, long), "-o", sheet, *words
    )
    with Image.open(sheet) as image:
        assert image.size[0] == 3 * (200 + MARGIN) + MARGIN
    page = tmp_path / "sheet.html"
    result_json(
        "view", photos.pack, "--transforms", recipe_file(tmp_path, long), "-o", page, *words
    )
    assert "rotate -9 deg, scale 0.8, shear x " in page.read_text()
    assert "affine" not in page.read_text().split("</details>")[1]


def test_images_of_different_sizes_can_be_shown(photos, tmp_path):
    """The loader refuses such batches; the sheet shows the images that cause the refusal."""
    sheet = tmp_path / "sheet.png"
    recipe = recipe_file(tmp_path, [T.RandomHorizontalFlip()])
    assert result_json("view", photos.pack, "--transforms", recipe, "-o", sheet)["bad"] == []
    large = write(tmp_path / "large/c/a.jpg", jpeg(size=(1500, 700))).parents[1]
    result_json("view", large, "--transforms", recipe, "-o", sheet, "--force", "--draws", "1")
    with Image.open(sheet) as image:
        width, height = image.size
    assert width == 2 * (384 + MARGIN) + MARGIN
    assert height < 384


def test_bad_samples_are_named_and_left_out(tmp_path):
    write(tmp_path / "set/c/a.jpg", jpeg(size=(80, 80)))
    write(tmp_path / "set/c/b.jpg", b"this is no image")
    recipe, sheet = recipe_file(tmp_path), tmp_path / "sheet.html"
    words = ("view", tmp_path / "set", "--transforms", recipe, "-o", sheet)
    result = program(*words)
    assert result.returncode == 0
    assert "TND-401" in err(result)
    assert "c/b.jpg" in err(result)
    found = result_json(*words, "--force")
    assert [one["code"] for one in found["bad"]] == ["TND-401"]
    assert len(found["samples"]) == 1
    (tmp_path / "set/c/a.jpg").write_bytes(b"nor is this")
    sheet.unlink()
    assert result_json(*words, exit_code=3)["sheet"] is None
    assert not sheet.exists()


def test_an_existing_sheet_is_not_overwritten(photos, tmp_path):
    sheet = tmp_path / "sheet.html"
    sheet.write_text("mine")
    words = ("view", photos.pack, "--transforms", recipe_file(tmp_path), "-o", sheet)
    error_of(*words, exit_code=1)
    assert sheet.read_text() == "mine"
    result_json(*words, "--force", "--samples", "1", "--draws", "1")
    assert sheet.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "T.to_json(transforms)"),
        ("not json", "it is not JSON"),
        ('[{"name": "Sharpen"}]', "Sharpen"),
        ('[{"name": "RandomCrop", "size": 0}]', "RandomCrop"),
        ("[" * 10_000, "JSON"),
    ],
)
def test_an_invalid_recipe_file_is_named(text, why, photos, tmp_path):
    recipe = write(tmp_path / "recipe.json", text.encode())
    sheet = tmp_path / "sheet.png"
    error = error_of("view", photos.pack, "--transforms", recipe, "-o", sheet, exit_code=2)
    assert str(recipe) in error["message"]
    assert why in error["message"]
    assert not sheet.exists()


def test_invalid_usage_suggests_a_fix(photos, tmp_path):
    recipe = recipe_file(tmp_path, [T.RandomCrop(5000)])
    result = program("view", photos.pack, "--transforms", recipe, "-o", tmp_path / "a.gif")
    assert result.returncode == 2
    assert "ends neither in .html nor in .png" in err(result)
    sheet = tmp_path / "a.png"
    words = ("view", photos.pack, "--transforms", recipe, "-o", sheet)
    result = program(*words, "--samples", "1000", "--draws", "11")
    assert result.returncode == 2
    assert "--samples 1000 times --draws 11 is more than the 10,000" in err(result)
    error = error_of(*words, exit_code=2)
    assert "RandomCrop" in error["message"]
    missing = tmp_path / "nothing.json"
    error_of("view", photos.pack, "--transforms", missing, "-o", sheet, exit_code=1)
    assert left_behind(tmp_path, "recipe.json") == []
