"""Bad samples are counted, named, and replaced or left out; they never end a run by default."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import tundish
from tundish import transforms as T

SQUARE = [T.Resize((12, 12))]
COUNT = 30
POLICIES = ["substitute", "skip", "fail"]


@pytest.fixture(scope="module")
def damaged(make, tmp_path_factory):
    """30 samples as folder and as pack; samples 3, 10 and 17 are bad in three different ways."""
    root = tmp_path_factory.mktemp("damaged")
    files = []
    for number in range(COUNT):
        data = make.jpeg(number, 40 + number, 36, quality=85)
        if number == 10:
            data = data[: len(data) // 2]
        files.append(make.write(root / f"folder/class{number // 10}/{number:02}.jpg", data))
    pack = make.pack(root / "folder", root / "damaged.tnd", "--codec", "keep")
    # Samples 3 and 17 have a flipped bit in the pack; in the folder they are error pages named
    # .jpg.
    content = bytearray(pack.read_bytes())
    for number in (3, 17):
        place = content.find(files[number].read_bytes())
        assert place > 0
        content[place + 200] ^= 0x10
        files[number].write_bytes(b"<!DOCTYPE html><title>404 Not Found</title>" + bytes(500))
    pack.write_bytes(content)
    return SimpleNamespace(folder=root / "folder", pack=pack, bad={3, 10, 17})


def opened(path, **options):
    options = {"transforms": SQUARE, "threads": 3, "return_index": True} | options
    return tundish.Loader(path, options.pop("batch_size", 4), **options)


def quietly(loader):
    """Returns the batches of an epoch, without the warning that another test checks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(loader)


def numbers(batches):
    return [int(i) for batch in batches for i in batch[2]]


@pytest.fixture(params=["pack", "folder"])
def path(request, damaged):
    return getattr(damaged, request.param)


def test_skipping_leaves_out_the_bad_ones_and_nothing_else(path, damaged):
    loader = opened(path, on_error="skip")
    batches = quietly(loader)
    assert numbers(batches) == [i for i in range(COUNT) if i not in damaged.bad]
    assert len(batches) == len(loader)
    assert [len(labels) for _, labels, _ in batches] == [3, 4, 3, 4, 3, 4, 4, 2]
    stats = loader.stats()
    assert (stats["data/samples"], stats["data/skipped"], stats["data/replaced"]) == (27, 3, 0)


def test_substituting_keeps_every_batch_full_and_moves_no_other_sample(path, damaged):
    loader = opened(path, on_error="substitute")
    got = numbers(quietly(loader))
    assert len(got) == COUNT
    assert {i for i in range(COUNT) if got[i] != i} == damaged.bad
    assert not set(got) & damaged.bad
    stats = loader.stats()
    assert (stats["data/samples"], stats["data/skipped"], stats["data/replaced"]) == (30, 0, 3)


def test_a_substitute_brings_its_own_label_and_pixels(damaged):
    good = {
        int(i): (x, int(y))
        for *a, n in quietly(opened(damaged.pack))
        for x, y, i in zip(*a, n, strict=True)
    }
    batches = quietly(opened(damaged.pack, on_error="substitute"))
    assert len(numbers(batches)) == COUNT
    for images, labels, index in batches:
        for image, label, number in zip(images, labels, index, strict=True):
            expected, expected_label = good[int(number)]
            assert int(label) == expected_label
            assert image.equal(expected)


def test_delivered_and_skipped_samples_add_up_to_the_length(path):
    for policy in ("skip", "substitute"):
        for batch_size in (1, 4, 7, 30):
            loader = opened(path, on_error=policy, batch_size=batch_size, shuffle=True)
            for epoch in (1, 2):
                quietly(loader)
                stats = loader.stats()
                assert stats["data/samples"] + stats["data/skipped"] == COUNT * epoch
                assert stats["data/skipped"] + stats["data/replaced"] == 3 * epoch


def test_bad_samples_names_file_record_key_and_reason(damaged):
    codes = {}
    for path in (damaged.pack, damaged.folder):
        loader = opened(path, on_error="skip")
        quietly(loader)
        bad = loader.bad_samples()
        assert [one["sample"] for one in bad] == [one["position"] for one in bad] == [3, 10, 17]
        for one, key in zip(bad, ["class0/03.jpg", "class1/10.jpg", "class1/17.jpg"], strict=True):
            first, *rest = one["text"].splitlines()
            assert first.startswith(f"{one['code']} {path}")
            assert f"record {one['sample']} ({key})" in first or f"{path}/{key}" in first
            assert re.search(r"at byte [\d,]+$", first)
            assert rest[-1].startswith("  fix: ")
        codes[path] = [one["code"] for one in bad]
    assert codes[damaged.pack] == ["TND-203", "TND-406", "TND-203"]
    assert codes[damaged.folder] == ["TND-401", "TND-406", "TND-401"]


def test_on_error_fail_names_the_sample_and_the_loader_continues(path):
    loader = opened(path, on_error="fail")
    iterator = iter(loader)
    events = []
    while True:
        try:
            events.append(next(iterator)[2].tolist())
        except StopIteration:
            break
        except tundish.SampleError as error:
            events.append(error)
    errors = [event for event in events if isinstance(event, tundish.SampleError)]
    assert [events.index(error) for error in errors] == [0, 2, 4]
    assert {error.code for error in errors} <= {"TND-203", "TND-401", "TND-406"}
    assert all("fix: " in str(error) for error in errors)
    assert [i for batch in events if batch not in errors for i in batch] == [
        *range(4, 8),
        *range(12, 16),
        *range(20, 30),
    ]
    assert loader.epoch == 1


def test_a_failed_loop_can_be_restarted(path):
    loader = opened(path, on_error="fail")
    for _ in range(2):
        with pytest.raises(tundish.SampleError):
            list(loader)


def test_the_default_is_to_skip_alone_and_to_substitute_among_several_ranks(damaged):
    alone = opened(damaged.pack)
    quietly(alone)
    assert alone.stats()["data/skipped"] == 3
    replaced = 0
    for rank in range(2):
        loader = opened(damaged.pack, rank=rank, world_size=2)
        quietly(loader)
        assert loader.stats()["data/skipped"] == 0
        replaced += loader.stats()["data/replaced"]
    assert replaced == 3


def test_one_warning_names_the_first_bad_sample(path):
    loader = opened(path, on_error="skip")
    with pytest.warns(UserWarning, match="a bad sample was left out") as caught:
        epochs = [list(loader), list(loader)]
    assert len(caught) == 1
    assert len(epochs) == 2
    text = str(caught[0].message)
    assert "loader.bad_samples() lists all" in text
    assert re.search(r"TND-\d03|TND-401", text)
    assert "03.jpg" in text
    assert caught[0].filename == __file__

    with pytest.warns(UserWarning, match="a bad sample was replaced"):
        list(opened(path, on_error="substitute"))


@pytest.mark.parametrize("policy", ["skip", "substitute"])
def test_bad_data_give_the_same_batches_for_any_number_of_threads(path, policy, digest):
    digests = {
        digest(quietly(opened(path, on_error=policy, threads=threads, shuffle=True)))
        for threads in (1, 2, 8)
    }
    assert len(digests) == 1


def test_a_resumed_run_substitutes_the_same(damaged, digest):
    def loader():
        return opened(damaged.pack, on_error="substitute", shuffle=True)

    whole = quietly(loader())
    first = loader()
    iterator = iter(first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            next(iterator)
    second = loader()
    second.load_state_dict(first.state_dict())
    assert digest(quietly(second)) == digest(whole[2:])


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("policy", ["skip", "substitute"])
def test_a_bad_image_of_another_size_does_not_set_the_size_of_its_batch(
    make, tmp_path, policy, threads
):
    """The bad image is planned before it is decoded, and the first plan sets the batch's size."""
    cut = make.jpeg(99, 64, 48)
    for number in range(16):
        data = cut[: len(cut) // 2] if number in (0, 5) else make.png(number, 16, 16)
        make.write(tmp_path / f"x/{number:02}.png", data)
    data = tundish.Dataset(tmp_path)
    for _ in range(10):  # chance decides which image is planned first
        loader = opened(tmp_path, transforms=[], batch_size=8, threads=threads, on_error=policy)
        batches = quietly(loader)
        assert len(batches) == 2
        for (images, _, index), count in zip(batches, (6, 8), strict=True):
            assert images.shape == (count if policy == "skip" else 8, 3, 16, 16)
            for image, number in zip(images, index.tolist(), strict=True):
                np.testing.assert_array_equal(image.permute(1, 2, 0).numpy(), data[number][0])
        assert [one["sample"] for one in loader.bad_samples()] == [0, 5]


def test_a_batch_of_bad_images_only_has_no_size(make, tmp_path):
    cut = make.jpeg(99, 64, 48)
    for number in range(12):
        image = cut[: len(cut) // 2] if number < 4 else cut
        make.write(tmp_path / f"x/{number:02}.jpg", image)
    ranks = {"rank": 0, "world_size": 2, "on_error": "skip"}  # the other rank has a batch
    (images, labels, _), _ = quietly(opened(tmp_path, transforms=[], **ranks))
    assert images.shape == (0, 3, 0, 0)
    assert len(labels) == 0


def test_files_that_vanish_shrink_or_empty_after_opening_are_bad_samples(make, tmp_path):
    for number in range(8):
        make.write(tmp_path / f"x/{number}.png", make.png(number, 16, 16))
    loader = opened(tmp_path, on_error="skip", batch_size=8)
    (tmp_path / "x/1.png").unlink()
    (tmp_path / "x/3.png").write_bytes(b"")
    (tmp_path / "x/5.png").write_bytes((tmp_path / "x/5.png").read_bytes()[:50])
    (tmp_path / "x/6.png").unlink()
    (tmp_path / "x/6.png").mkdir()
    assert numbers(quietly(loader)) == [0, 2, 4, 7]
    codes = [one["code"] for one in loader.bad_samples()]
    assert codes == ["TND-301", "TND-311", "TND-311", "TND-303"]


def test_a_pack_cut_off_after_it_was_opened_gives_bad_samples(make, tmp_path):
    for number in range(12):
        make.write(tmp_path / f"f/x/{number:02}.png", make.png(number, 32, 32))
    pack = make.pack(tmp_path / "f", tmp_path / "cut.tnd")
    loader = opened(pack, on_error="skip", threads=1)
    with open(pack, "r+b") as file:
        file.truncate(pack.stat().st_size // 2)
    got = numbers(quietly(loader))
    assert 0 < len(got) < 12
    assert got == list(range(len(got)))
    assert {one["code"] for one in loader.bad_samples()} == {"TND-202"}


def test_damaged_names_do_not_end_a_run(damaged, tmp_path):
    content = bytearray(damaged.pack.read_bytes())
    content[content.find(b"class0/00.jpg")] ^= 1
    pack = tmp_path / "nameless.tnd"
    pack.write_bytes(content)
    loader = opened(pack, on_error="skip")
    assert numbers(quietly(loader)) == [i for i in range(COUNT) if i not in damaged.bad]
    assert [one["sample"] for one in loader.bad_samples()] == [3, 10, 17]
    with pytest.raises(tundish.SampleError, match=r"TND-406 .*record 10 "):
        tundish.Dataset(pack)[10]
    with pytest.raises(tundish.Error, match=r"record 0 .*\n.*RandomCrop"):
        list(opened(pack, transforms=[T.RandomCrop(500)]))


@pytest.fixture(scope="module")
def all_bad(make, tmp_path_factory):
    folder = tmp_path_factory.mktemp("all_bad")
    for number in range(10):
        make.write(folder / f"x/{number}.jpg", b"this is no image at all" * 9)
    return folder


@pytest.mark.parametrize("count", [10, 250])
def test_data_without_one_good_sample_are_an_error(make, tmp_path, count):
    for number in range(count):
        make.write(tmp_path / f"x/{number:03}.tiff", make.encode(make.photo(number, 8, 8), "TIFF"))
    pack = make.pack(tmp_path, tmp_path / "tiff.tnd")
    loader = opened(pack, on_error="skip", shuffle=True)
    with pytest.raises(tundish.Error, match=r"TND-605 .*\n.*first: TND-402") as caught:
        quietly(loader)
    assert caught.value.code == "TND-605"
    assert loader.stats()["data/skipped"] == min(count, 100)


def test_a_hundred_bad_samples_after_a_good_one_do_not_end_the_epoch(make, tmp_path):
    for number in range(150):
        data = make.png(1, 8, 8) if number in (3, 140) else b"no image at all"
        make.write(tmp_path / f"x/{number:03}.png", data)
    assert numbers(quietly(opened(tmp_path, on_error="skip"))) == [3, 140]


def test_data_without_one_good_sample_are_an_error_when_substituting(all_bad):
    loader = opened(all_bad, on_error="substitute")
    with pytest.raises(tundish.Error, match=r"TND-605 .*too many bad samples") as caught:
        list(loader)
    assert caught.value.code == "TND-605"
    assert not isinstance(caught.value, ValueError)
    assert "tundish verify" in str(caught.value)


def test_an_image_too_small_for_a_crop_names_itself(make, tmp_path):
    make.write(tmp_path / "x/small.png", make.png(1, 10, 20))
    loader = opened(tmp_path, transforms=[T.RandomCrop(16)])
    with pytest.raises(tundish.Error, match=r"RandomCrop.*10") as caught:
        list(loader)
    assert "small.png" in str(caught.value)


def test_a_deleted_file_is_one_bad_sample(make, tmp_path):
    for number in range(4):
        make.write(tmp_path / f"x/{number}.png", make.png(number, 16, 16))
    loader = opened(tmp_path, on_error="fail", batch_size=1)
    (tmp_path / "x/1.png").unlink()
    iterator = iter(loader)
    assert next(iterator)[2].tolist() == [0]
    with pytest.raises(tundish.SampleError, match="TND-301") as gone:
        next(iterator)
    assert isinstance(gone.value, FileNotFoundError)
    assert numbers(iterator) == [2, 3]
    with pytest.raises(tundish.MissingError) as caught:
        opened(tmp_path / "nowhere")
    assert not isinstance(caught.value, tundish.SampleError)


@pytest.mark.parametrize("policy", ["skip", "substitute"])
def test_the_figures_count_what_bad_samples_took(make, tmp_path, policy):
    bytes_of = {}
    for number in range(20):
        data = make.png(number, 64, 64)
        data = data[:5000] if number % 2 else data
        bytes_of[number] = len(data)
        make.write(tmp_path / f"x/{number:02}.png", data)
    loader = opened(tmp_path, on_error=policy, batch_size=20, threads=1, prefetch=1, uneven="drop")
    iterator = iter(loader)
    with pytest.warns(UserWarning, match="bad sample"):
        next(iterator)
    read = sum(bytes_of[one["sample"]] for one in loader.bad_samples() if one["epoch"] == 0)
    read += sum(bytes_of[number] for number in range(0, 20, 2))
    assert loader.stats()["data/bytes"] >= read
