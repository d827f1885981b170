"""Samples by number: `tundish.Dataset(path)[i]`."""

import pickle
import shutil

import numpy as np
import pytest
import tundish
from PIL import Image


def test_images_equal_pillow_and_labels_equal_the_folders(photos):
    data = tundish.Dataset(photos.pack)
    assert len(data) == photos.count
    for number, name in enumerate(photos.names):
        image, label = data[number]
        with Image.open(photos.folder / name) as file:
            expected = np.asarray(file.convert("RGB"))
        np.testing.assert_array_equal(image, expected, err_msg=name)
        assert image.dtype == np.uint8
        assert type(label) is int
        assert label == photos.labels[number]


def test_mode_l_gives_pillows_gray_levels(photos):
    data = pickle.loads(pickle.dumps(tundish.Dataset(photos.pack, mode="L")))
    for number, name in enumerate(photos.names):
        with Image.open(photos.folder / name) as file:
            expected = np.asarray(file.convert("RGB").convert("L"))
        np.testing.assert_array_equal(data[number][0], expected, err_msg=name)
    of_loader = tundish.Loader(photos.pack, 1, mode="L").dataset
    assert np.array_equal(of_loader[0][0], data[0][0])
    with pytest.raises(ValueError, match="mode must be one of RGB, L, I;16, RGBA, not 'P'"):
        tundish.Dataset(photos.pack, mode="P")


def test_mode_rgba_gives_pillows_colors_and_alpha(photos, tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (5, 7, 4), dtype=np.uint8)
    (tmp_path / "c").mkdir()
    images = [Image.fromarray(pixels), Image.fromarray(pixels[:, :, :3].copy())]
    images.append(images[0].quantize(16))
    for number, image in enumerate(images):
        image.save(tmp_path / f"c/{number}.png")
    data = tundish.Loader(tmp_path, 1, mode="RGBA").dataset
    for number, image in enumerate(images):
        found = data[number][0]
        assert found.dtype == np.uint8
        np.testing.assert_array_equal(found, np.asarray(image.convert("RGBA")))
    with Image.open(photos.folder / photos.names[0]) as file:
        expected = np.asarray(file.convert("RGB").convert("RGBA"))
    found, _ = tundish.Dataset(photos.pack, mode="RGBA")[0]
    np.testing.assert_array_equal(found, expected)


def test_mode_i16_gives_16_bit_grays_and_refuses_other_images(photos, tmp_path):
    levels = np.random.default_rng(1).integers(0, 65536, (5, 7)).astype(np.uint16)
    (tmp_path / "c").mkdir()
    Image.fromarray(levels).save(tmp_path / "c/a.png")
    image, _ = tundish.Dataset(tmp_path, mode="I;16")[0]
    assert image.dtype == np.uint16
    np.testing.assert_array_equal(image, levels)
    with pytest.raises(tundish.SampleError):
        tundish.Dataset(photos.pack, mode="I;16")[0]


def test_all_kinds_of_sources_hold_the_same_samples(photos):
    expected = tundish.Dataset(photos.pack)
    for path in (photos.folder, photos.tar, photos.csv, str(photos.pack)):
        data = tundish.Dataset(path)
        assert data.classes == expected.classes == ["bird", "cat", "dog"]
        assert data.targets == expected.targets == photos.labels
        for number in range(len(expected)):
            np.testing.assert_array_equal(data[number][0], expected[number][0])


def test_the_order_and_labels_are_those_of_an_image_folder_of_torchvision(photos):
    classes = sorted(f.name for f in photos.folder.iterdir())
    files = [
        (f, c) for c, name in enumerate(classes) for f in sorted((photos.folder / name).iterdir())
    ]
    assert [str(f.relative_to(photos.folder)) for f, _ in files] == photos.names
    assert [c for _, c in files] == tundish.Dataset(photos.folder).targets


def test_images_can_be_written_to_and_outlive_the_data_set(photos):
    data = tundish.Dataset(photos.pack)
    one, two = data[0][0], data[0][0]
    one[:] = 0
    assert two.any()
    del data
    assert two.any()


def test_indices_may_be_negative_or_numpy_integers(photos):
    data = tundish.Dataset(photos.pack)
    for number in (-1, np.int64(22), np.uint8(22)):
        np.testing.assert_array_equal(data[number][0], data[22][0])


@pytest.mark.parametrize("number", [23, -24, 10**18])
def test_a_number_that_does_not_exist_is_an_index_error(photos, number):
    with pytest.raises(IndexError, match=f"23 samples; there is no sample {number:,}"):
        tundish.Dataset(photos.pack)[number]


@pytest.mark.parametrize("number", [1.5, "1", None, slice(0, 2)])
def test_an_index_that_is_not_an_integer_is_a_type_error(photos, number):
    with pytest.raises(TypeError):
        tundish.Dataset(photos.pack)[number]


def test_a_data_set_can_be_iterated(photos):
    assert [label for _, label in tundish.Dataset(photos.pack)] == photos.labels


def test_transform_and_target_transform_are_applied(photos):
    data = tundish.Dataset(
        photos.pack, transform=lambda image: image.shape, target_transform=lambda x: x + 100
    )
    with Image.open(photos.folder / photos.names[0]) as image:
        assert data[0] == ((image.height, image.width, 3), 100)


def test_a_data_set_pickles_without_its_data(photos):
    data = tundish.Dataset(photos.pack, target_transform=str, exif_orientation=True)
    text = pickle.dumps(data)
    assert len(text) < 1000
    copy = pickle.loads(text)
    assert copy[3][1] == str(photos.labels[3])
    assert copy.exif_orientation
    np.testing.assert_array_equal(copy[3][0], data[3][0])
    assert repr(copy) == f"tundish.Dataset({str(photos.pack)!r}): 23 samples, 3 classes"


def test_a_pickled_data_set_refuses_other_data(make, photos, tmp_path):
    pack = tmp_path / "a.tnd"
    shutil.copy(photos.pack, pack)
    text = pickle.dumps(tundish.Dataset(pack))
    assert len(pickle.loads(text)) == photos.count
    make.write(tmp_path / "in/x/0.png", make.png(0, 9, 9))
    tundish.pack(tmp_path / "in", pack, force=True, progress=False)
    with pytest.raises(
        tundish.Error, match=r"TND-603.*is not the dataset that was pickled"
    ) as caught:
        pickle.loads(text)
    assert "create the tundish.Dataset again" in str(caught.value)


def test_a_bad_sample_raises_and_the_others_do_not(make, tmp_path):
    make.write(tmp_path / "x/0.png", make.png(0, 9, 9))
    make.write(tmp_path / "x/1.jpg", b"<html>not found</html>")
    data = tundish.Dataset(tmp_path)
    assert data[0][0].shape == (9, 9, 3)
    with pytest.raises(tundish.SampleError, match=r"TND-401 .*x/1\.jpg") as caught:
        data[1]
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.code, str(again)) == (
        tundish.SampleError,
        "TND-401",
        str(caught.value),
    )
    assert data[0][1] == 0


def test_exif_orientation_is_followed_when_asked_for(make, tmp_path):
    exif = Image.Exif()
    for orientation in range(1, 9):
        exif[0x0112] = orientation
        data = make.encode(make.photo(1, 20, 12), "JPEG", exif=exif, quality=90)
        make.write(tmp_path / f"x/{orientation}.jpg", data)
    stored = tundish.Dataset(tmp_path)
    turned = tundish.Dataset(tmp_path, exif_orientation=True)
    image = stored[0][0]
    expected = [
        image,
        image[:, ::-1],
        image[::-1, ::-1],
        image[::-1],
        image.transpose(1, 0, 2),
        image.transpose(1, 0, 2)[:, ::-1],
        image.transpose(1, 0, 2)[::-1, ::-1],
        image.transpose(1, 0, 2)[::-1],
    ]
    for number in range(8):
        np.testing.assert_array_equal(stored[number][0], image)
        np.testing.assert_array_equal(turned[number][0], expected[number])


def test_lost_labels_give_a_warning_as_in_the_loader(tmp_path):
    images = np.zeros((4, 8, 8, 3), np.uint8)
    np.savez(tmp_path / "floats.npz", images=images, labels=np.zeros(4, np.float32))
    for open_data in (tundish.Dataset, lambda path: tundish.Loader(path, 2)):
        with pytest.warns(UserWarning, match="'labels' is called as one"):
            open_data(tmp_path / "floats.npz")
    np.savez(tmp_path / "plain.npz", images=images)
    assert tundish.Dataset(tmp_path / "plain.npz").targets == [-1] * 4
    with pytest.warns(UserWarning, match="'labels'") as seen:
        dataset = tundish.Dataset(tmp_path / "floats.npz")
    assert len(pickle.loads(pickle.dumps(dataset))) == 4  # workers do not repeat it
    assert len(seen) == 1


def test_a_missing_path_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="TND-301"):
        tundish.Dataset(tmp_path / "no.tnd")


def test_the_dataset_of_a_loader_refuses_other_data(photos, tmp_path, monkeypatch):
    """The loader continues with the pack that it opened. Its sample numbers belong to that pack."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(photos.pack, "train.tnd")
    replaced, moved = tundish.Loader("train.tnd"), tundish.Loader("train.tnd")
    Image.new("RGB", (4, 4)).save("other.png")
    with open("other.csv", "w") as file:
        file.write("path,label\nother.png,0\n")
    tundish.pack("other.csv", "other.tnd")
    shutil.move("other.tnd", "train.tnd")
    with pytest.raises(tundish.Error, match=r"TND-603.*is not the dataset that the loader reads"):
        _ = replaced.dataset
    shutil.copy(photos.pack, "train.tnd")
    assert len(replaced.dataset) == photos.count
    monkeypatch.chdir(photos.folder)
    with pytest.raises(tundish.Error, match=r"train\.tnd"):
        _ = moved.dataset
