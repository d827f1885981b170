"""`tundish convert` to every format and back, byte for byte and value for value."""

import io
import os
import tarfile

import numpy as np
import pytest
import tundish
from PIL import Image

from tests.helpers import record_files
from tests.helpers.files import jpeg, png, tar_of, tree, write
from tests.helpers.program import documented_keys, error_of, needs_program, result_json
from tests.helpers.program import tundish as program
from tests.helpers.sources import rows

pytestmark = needs_program

FORMATS = ["folder", "tar", "tfrecord", "lmdb", "hdf5", "npy"]


def pixels(number, size=(16, 12)):
    """Returns an encoded photo-like picture that is unique to the number."""
    wave = np.add.outer(np.arange(size[1]) * (number + 3), np.arange(size[0]) * 5)
    levels = np.stack([wave, wave * 2, 255 - wave], -1).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(levels).save(file, "PNG" if number % 3 == 2 else "JPEG")
    return file.getvalue()


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Image files by key; the folder also has their pack with re-coded JPEGs."""
    root = tmp_path_factory.mktemp("convert")
    files = {}
    for number in range(9):
        name = f"{'cat' if number < 5 else 'dog'}/{number:02}.{'png' if number % 3 == 2 else 'jpg'}"
        files[name] = pixels(number)
        write(root / "photos" / name, files[name])
    program("pack", root / "photos", "-o", root / "photos.tnd")
    assert any(row["codec"] == "lanes" for row in rows(root / "photos.tnd"))
    return root, files


def back(path, *words):
    """Returns keys, labels and image bytes of a converted source."""
    found = rows(path)
    images = [program("unpack", path, "--record", str(i), *words).stdout for i in range(len(found))]
    return [row["key"].decode() for row in found], [row["label"] for row in found], images


def labels_of(files):
    return [int(name.startswith("dog")) for name in files]


# --- encoded images ---------------------------------------------------------------------------


def test_a_folder_is_restored_byte_for_byte(photos, tmp_path):
    root, files = photos
    report = result_json("convert", root / "photos.tnd", "-o", tmp_path / "f", "--to", "folder")
    assert set(report) == documented_keys("convert")
    assert (report["samples"], report["files"], report["refused"]) == (9, 9, [])
    assert tree(tmp_path / "f") == {name.encode(): data for name, data in files.items()}


def test_a_tar_has_the_same_keys_labels_classes_and_bytes(photos, tmp_path):
    root, files = photos
    result_json("convert", root / "photos.tnd", "-o", tmp_path / "a.tar", "--to", "tar")
    assert back(tmp_path / "a.tar") == (list(files), labels_of(files), list(files.values()))
    assert [row["class"] for row in rows(tmp_path / "a.tar")] == [n[:3] for n in files]
    with tarfile.open(tmp_path / "a.tar") as archive:
        members = {one.name: archive.extractfile(one).read() for one in archive}
        times = {one.mtime for one in archive}
    assert times == {0}
    assert members["dog/07.jpg"] == files["dog/07.jpg"]
    assert members["dog/07.cls"] == b"1"


def test_tfrecord_shards_hold_the_features_of_image_data_sets(photos, tmp_path):
    root, files = photos
    words = ["-o", tmp_path / "t.tfrecord", "--to", "tfrecord", "--shards", "4"]
    report = result_json("convert", root / "photos.tnd", *words)
    names = [f"t.tfrecord-{n:05}-of-00004" for n in range(4)]
    assert sorted(os.listdir(tmp_path)) == names
    assert report["files"] == 4
    found = [record_files.tfrecords((tmp_path / name).read_bytes()) for name in names]
    assert [len(part) for part in found] == [2, 2, 2, 3]
    records = [record for part in found for record in part]
    for record, (name, data) in zip(records, files.items(), strict=True):
        assert record == {
            "image/encoded": data,
            "image/filename": name.encode(),
            "image/class/label": [int(name.startswith("dog"))],
            "image/class/text": name[:3].encode(),
            "image/format": b"png" if name.endswith("png") else b"jpeg",
            "image/height": [12],
            "image/width": [16],
        }


def test_a_tfrecord_comes_back_with_its_keys_and_without_more_fields(photos, tmp_path):
    root, files = photos
    target = tmp_path / "a.tfrecord"
    program("convert", root / "photos.tnd", "-o", target, "--to", "tfrecord")
    assert back(target) == (list(files), labels_of(files), list(files.values()))
    found = result_json("diff", root / "photos.tnd", target)
    assert (found["removed"], found["added"], found["unchanged"]) == ([], [], 9)
    program("unpack", target, "-o", tmp_path / "f")
    found = tree(tmp_path / "f")
    del found[b"list.csv"]
    assert found == {name.encode(): data for name, data in files.items()}


def test_lmdb_holds_datums_or_without_labels_the_images(photos, tmp_path):
    root, files = photos
    report = result_json("convert", root / "photos.tnd", "-o", tmp_path / "l", "--to", "lmdb")
    wanted = "the names of the 2 classes: an LMDB value has the number only"
    assert report["left_out"] == [wanted]
    assert os.listdir(tmp_path / "l") == ["data.mdb"]
    found = record_files.lmdb((tmp_path / "l/data.mdb").read_bytes())
    assert [key.decode() for key in found] == [f"{n:08}_{name}" for n, name in enumerate(files)]
    values = [record_files.datum(value) for value in found.values()]
    assert [value["data"] for value in values] == list(files.values())
    assert [value["label"] for value in values] == labels_of(files)
    assert all(value["encoded"] == 1 for value in values)
    for number in range(3):
        write(tmp_path / f"flat/{number}.jpg", pixels(number))
    result_json("convert", tmp_path / "flat", "-o", tmp_path / "m", "--to", "lmdb")
    found = record_files.lmdb((tmp_path / "m/data.mdb").read_bytes())
    assert list(found.values()) == [pixels(number) for number in range(3)]


def test_an_lmdb_tree_may_have_several_levels(tmp_path):
    """Values of many sizes are stored in leaves and in overflow pages."""
    files = {f"{'n' * 80}{n:04}.jpg": bytes([n % 251]) * (37 * n % 5000 + 1) for n in range(2500)}
    tar_of(tmp_path / "a.tar", files)
    result_json("convert", tmp_path / "a.tar", "-o", tmp_path / "l", "--to", "lmdb")
    data = (tmp_path / "l/data.mdb").read_bytes()
    assert data[4096 + 94] >= 3  # depth of the tree
    assert list(record_files.lmdb(data).values()) == list(files.values())


def test_hdf5_holds_the_files_and_labels(photos, tmp_path):
    root, files = photos
    result_json("convert", root / "photos.tnd", "-o", tmp_path / "a.h5", "--to", "hdf5")
    _, labels, images = back(tmp_path / "a.h5")
    assert (labels, images) == (labels_of(files), list(files.values()))


# Names that only quoting, their lengths or UTF-8 distinguish, and a class without samples.
CLASSES = ["0", "a cat", "empty", "l'été, 3 5 x", "ü"]


@pytest.mark.parametrize(
    ("target", "words", "empty"),
    [
        ("a.h5", ["--to", "hdf5"], "empty"),
        ("a.tfrecord", ["--to", "tfrecord"], "2"),  # no record has the name of an empty class
        ("set/a.tfrecord", ["--to", "tfrecord", "--shards", "2"], "2"),
    ],
)
def test_class_names_are_restored(target, words, empty, tmp_path):
    for number, name in enumerate(CLASSES):
        (tmp_path / "photos" / name).mkdir(parents=True)
        if name != "empty":
            write(tmp_path / "photos" / name / "x.jpg", pixels(number))
    (tmp_path / "set").mkdir()
    result_json("convert", tmp_path / "photos", "-o", tmp_path / target, *words)
    path = tmp_path / ("set" if target.startswith("set") else target)
    wanted = [empty if name == "empty" else name for name in CLASSES]
    for _ in range(2):  # the second time with the index beside the file
        assert tundish.Dataset(str(path)).classes == wanted
    result_json("pack", path, "-o", tmp_path / "back.tnd")
    pack = tundish.Dataset(str(tmp_path / "back.tnd"))
    assert pack.classes == wanted
    assert [label for _, label in pack] == [0, 1, 3, 4]


@pytest.mark.filterwarnings("ignore:.*classes does not name")
def test_names_that_are_not_class_names_are_omitted(photos, tmp_path):
    root, _ = photos
    result_json("convert", root / "photos", "-o", tmp_path / "a.h5", "--to", "hdf5")
    data = (tmp_path / "a.h5").read_bytes()
    assert data.count(b"dog\0") == 1
    (tmp_path / "b.h5").write_bytes(data.replace(b"dog\0", b"cat\0"))
    assert tundish.Dataset(str(tmp_path / "b.h5")).classes == []
    warning = program("pack", tmp_path / "b.h5", "-o", tmp_path / "b.tnd").stderr.decode()
    assert "classes does not name the classes: one occurs twice" in warning


def test_npy_holds_decoded_images(photos, tmp_path):
    root, files = photos
    result_json("convert", root / "photos.tnd", "-o", tmp_path / "n", "--to", "npy")
    wanted = [np.asarray(Image.open(io.BytesIO(data)).convert("RGB")) for data in files.values()]
    assert np.array_equal(np.load(tmp_path / "n/image.npy", mmap_mode="r"), wanted)
    assert np.load(tmp_path / "n/label.npy").tolist() == labels_of(files)
    assert back(tmp_path / "n/image.npy")[1] == labels_of(files)


@pytest.mark.parametrize("form", FORMATS)
def test_folder_and_pack_give_the_same_bytes_twice(photos, tmp_path, form):
    """The output has no clock, host, path or old state; lanes records become the original files."""
    root, _ = photos
    found = []
    for number, source in enumerate(["photos", "photos.tnd", "photos.tnd"]):
        (tmp_path / str(number)).mkdir()
        tundish.convert(root / source, tmp_path / str(number) / "out", form)
        found.append(tree(tmp_path / str(number)))
    assert found[0]
    assert found[0] == found[1] == found[2]


# --- names, fields, refusals --------------------------------------------------------------------


def test_names_that_webdataset_would_confuse_are_changed(tmp_path):
    files = {"cat.0.jpg": jpeg(), "cat.1.jpg": jpeg((1, 2, 3)), "x.jpg": jpeg(), "x.png": png()}
    for name, data in files.items():
        write(tmp_path / "in/c" / name, data)
    report = tundish.convert(tmp_path / "in", tmp_path / "a.tar", "tar")
    keys, _, images = back(tmp_path / "a.tar")
    assert keys == ["c/cat_0.jpg", "c/cat_1.jpg", "c/x.jpg", "c/x-00000003.png"]
    assert images == list(files.values())
    assert "3 samples have other names" in report["warnings"][0]


def test_an_archive_with_further_files_and_long_names_comes_back(tmp_path):
    long = "d" * 90 + "/" + "e" * 90
    files = {}
    for stem in ("s/1", long):
        files |= {f"{stem}.jpg": jpeg(), f"{stem}.cls": b"2", f"{stem}.json": b"{}"}
        files[f"{stem}.mask.png"] = png()
    tar_of(tmp_path / "a.tar", files)
    program("pack", tmp_path / "a.tar", "-o", tmp_path / "a.tnd")
    tundish.convert(tmp_path / "a.tnd", tmp_path / "b.tar", "tar")
    with tarfile.open(tmp_path / "b.tar") as archive:
        assert {one.name: archive.extractfile(one).read() for one in archive} == files
    names = ["a.tar", "a.tnd", "b.tar"]
    found = [[(row["key"], row["label"]) for row in rows(tmp_path / name)] for name in names]
    assert found[0] == found[1] == found[2]


def test_a_compressed_archive_is_converted(photos, tmp_path):
    root, files = photos
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(root / "photos", ".")
    tundish.convert(tmp_path / "a.tar.gz", tmp_path / "l", "lmdb")
    found = record_files.lmdb((tmp_path / "l/data.mdb").read_bytes())
    assert {record_files.datum(value)["data"] for value in found.values()} == set(files.values())


def test_a_damaged_sample_is_left_out_and_named(photos, tmp_path):
    root, files = photos
    data = bytearray((root / "photos.tnd").read_bytes())
    at = data.index(files["cat/02.png"])
    data[at + 40] ^= 1
    (tmp_path / "bad.tnd").write_bytes(data)
    rest = {name: content for name, content in files.items() if name != "cat/02.png"}
    for form, target in [("tar", "a.tar"), ("hdf5", "a.h5"), ("npy", "n")]:
        words = ["convert", tmp_path / "bad.tnd", "-o", tmp_path / target, "--to", form]
        report = result_json(*words, exit_code=3)
        assert [one["code"] for one in report["refused"]] == ["TND-203"]
        assert report["refused"][0]["key"] == "cat/02.png"
        assert report["samples"] == 8
        assert program(*words, "--force", "--skip-bad").returncode == 0
    assert back(tmp_path / "a.tar")[2] == list(rest.values())
    assert back(tmp_path / "a.h5")[1:] == (labels_of(rest), list(rest.values()))
    assert np.load(tmp_path / "n/image.npy").shape == (8, 12, 16, 3)
    with pytest.raises(tundish.Error, match=r"TND-203(?s:.*)skip_bad=True accepts that"):
        tundish.convert(tmp_path / "bad.tnd", tmp_path / "b.tar", "tar")


def test_images_of_several_sizes_cannot_become_npy(tmp_path):
    for number, size in enumerate([(8, 8), (8, 8), (9, 8)]):
        write(tmp_path / f"in/c/{number}.jpg", pixels(number, size))
    words = ["convert", tmp_path / "in", "-o", tmp_path / "n", "--to", "npy"]
    error = error_of(*words, exit_code=2)
    assert error["key"] == "c/2.jpg"
    assert "uint8 (8, 9, 3), in the first sample it is uint8 (8, 8, 3)" in error["reason"]
    assert "--resize WxH" in error["reason"]
    assert not (tmp_path / "n").exists()


@pytest.mark.parametrize("form", FORMATS)
def test_existing_files_are_kept_without_force(photos, tmp_path, form):
    root, _ = photos
    inside = {"folder": "cat/00.jpg", "lmdb": "data.mdb", "npy": "label.npy"}.get(form)
    file = tmp_path / "out" / inside if inside else tmp_path / "out"
    write(file, b"mine")
    words = ["convert", root / "photos.tnd", "-o", tmp_path / "out", "--to", form]
    assert error_of(*words, exit_code=1)["code"] == "TND-506"
    assert file.read_bytes() == b"mine"
    assert result_json(*words, "--force")["samples"] == 9
    assert file.read_bytes() != b"mine"


def test_more_shards_than_samples_are_refused(photos, tmp_path):
    root, _ = photos
    words = ["-o", tmp_path / "t", "--to", "tfrecord", "--shards", "10"]
    error = error_of("convert", root / "photos.tnd", *words, exit_code=2)
    assert "10 shards for 9 samples" in error["reason"]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--to", "zip"], "--to is one of folder, tar, tfrecord, lmdb, hdf5, npy, not 'zip'"),
        (["--to", "tnd"], "tundish pack SRC -o OUT.tnd"),
        (["--to", "lmdb", "--shards", "2"], "an LMDB data file is one file: leave out --shards"),
    ],
)
def test_invalid_arguments_suggest_a_fix(photos, tmp_path, words, reason):
    result = program("convert", photos[0] / "photos.tnd", "-o", tmp_path / "x", *words)
    assert result.returncode == 2
    assert reason in result.stderr.decode()
    assert os.listdir(tmp_path) == []


def test_progress_is_passed_to_a_function(photos, tmp_path):
    seen = []
    tundish.convert(photos[0] / "photos.tnd", tmp_path / "a.tar", "tar", progress=seen.append)
    assert seen[-1]["samples"] == seen[-1]["samples_total"] == 9


def test_fields_do_not_overwrite_the_image_or_the_label(tmp_path):
    """Field names equal the image's ending, the label's ending, or each other after conversion."""
    sample = {
        "image": png(),
        "label": 1,
        "png": b"second",
        "cls": b"third",
        "a/b": b"4",
        "a_b": b"5",
    }
    tundish.pack([sample], tmp_path / "a.tnd")
    image = program("unpack", tmp_path / "a.tnd", "--record", "0").stdout
    for kind in ("tar", "folder"):
        target = tmp_path / kind / "out.tar"
        target.parent.mkdir()
        result_json("convert", tmp_path / "a.tnd", "-o", target, "--to", kind, "--force")
        files = tree(target.parent)
        if kind == "tar":
            with tarfile.open(target) as archive:
                files = {one.name.encode(): archive.extractfile(one).read() for one in archive}
            assert back(target)[1:] == ([1], [image])
        assert {image, b"second", b"third", b"4", b"5"} <= set(files.values())
