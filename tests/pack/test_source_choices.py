"""Options that choose the image, the label or the axis: used, or refused."""

import pytest
import tundish
from PIL import Image

from tests.helpers.files import png, tar_of
from tests.helpers.program import error_of, needs_program

pytestmark = needs_program


def write_list(folder, text):
    for number in range(2):
        Image.new("RGB", (4, 4), (number,) * 3).save(folder / f"{number}.png")
    (folder / "list.csv").write_text(text)
    return folder / "list.csv"


def rows(path, **options):
    """Returns the level and the label of each sample."""
    dataset = tundish.Dataset(tundish.DataSource(path, **options))
    return [(int(image.max()), label) for image, label in dataset], dataset.classes


def test_the_label_of_a_list_may_be_any_column(tmp_path):
    path = write_list(tmp_path, "path,label,species\n0.png,cat,wolf\n1.png,dog,lion\n")
    assert rows(path) == ([(0, 0), (1, 1)], ["cat", "dog"])
    assert rows(path, label="species") == ([(0, 1), (1, 0)], ["lion", "wolf"])
    result = tundish.pack(path, tmp_path / "a.tnd", label="species", progress=False)
    assert result["samples"] == 2
    [batch] = tundish.Loader(tmp_path / "a.tnd", 2, as_dict=True)
    assert batch["label"].tolist() == [1, 0]
    assert batch["label_"] == ["cat", "dog"]


def test_the_image_of_a_list_may_be_any_column(tmp_path):
    path = write_list(tmp_path, "path,photo,label\n0.png,1.png,3\n1.png,0.png,4\n")
    assert rows(path, image="photo")[0] == [(1, 3), (0, 4)]
    both = write_list(tmp_path, "file,image\n0.png,1.png\n1.png,0.png\n")
    assert rows(both, image="file")[0] == [(0, -1), (1, -1)]


def test_a_numbered_label_is_not_the_number_of_another_column(tmp_path):
    text = "path,label,label:number,kind\n0.png,cat,5,a\n"
    path = write_list(tmp_path, text)
    error = error_of("info", path, "--label", "kind", exit_code=3)
    assert "column 'kind' already is the label" in error["reason"]


@pytest.mark.parametrize("option", ["image", "label"])
def test_a_missing_column_is_named_with_those_that_there_are(option, tmp_path):
    path = write_list(tmp_path, "path,label\n0.png,1\n")
    error = error_of("info", path, f"--{option}=none", exit_code=1)
    assert error["code"] == "TND-318"
    assert "no column is called 'none'; there are: path, label" in error["reason"]


@pytest.fixture(params=["tar", "folder", "pack", "manifest", "list"])
def data(request, tmp_path):
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    (tmp_path / "photos" / "cat" / "1.png").write_bytes(png())
    tundish.pack(tmp_path / "photos", tmp_path / "a.tnd", progress=False)
    if request.param == "list":
        return write_list(tmp_path, "path,label\n0.png,1\n")
    if request.param == "tar":
        tar_of(tmp_path / "a.tar", {"cat/1.png": png()})
        return tmp_path / "a.tar"
    if request.param == "manifest":
        tundish.write_manifest(tmp_path / "a.tnds", [tmp_path / "a.tnd"])
        return tmp_path / "a.tnds"
    return tmp_path / ("photos" if request.param == "folder" else "a.tnd")


@pytest.mark.parametrize("option", ["image", "label", "axis"])
def test_an_option_that_a_format_would_ignore_is_refused(option, data, tmp_path):
    if data.suffix == ".csv" and option != "axis":
        assert rows(data, **{option: "label" if option == "label" else "path"})[0] == [(0, 1)]
        return
    value = 1 if option == "axis" else "none"
    with pytest.raises(tundish.ArgumentError, match=f"the {option} cannot be chosen for a"):
        tundish.Loader(tundish.DataSource(data, **{option: value}), 1)
    error = error_of("pack", data, "-o", tmp_path / "b.tnd", f"--{option}={value}", exit_code=2)
    assert error["code"] == "TND-601"
