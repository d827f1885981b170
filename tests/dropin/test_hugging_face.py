"""tundish.accelerate with image datasets of `datasets` gives the DataLoader's batches."""

import datasets
import pytest
import timm.data
import torch
import tundish
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision.transforms import v2

from tests.helpers.hugging_face import COUNT, encoded, on_disk
from tests.helpers.torch_sets import FIXED, RANDOM, accelerated

datasets.disable_progress_bars()
fixed, random = v2.Compose(FIXED), v2.Compose(RANDOM)


def in_place(batch):
    """Transforms the images in place, as in the library's guides."""
    batch["pixel_values"] = [fixed(image.convert("RGB")) for image in batch["image"]]
    del batch["image"]
    return batch


def renamed(batch):
    return {
        "labels": batch["label"],
        "pixel_values": [fixed(image.convert("RGB")) for image in batch["image"]],
    }


def held(batch):
    images = [fixed(image.convert("RGB")) for image in batch["image"]]
    return {"x": images, "y": batch["label"]}


def held_and_changed(batch):
    images = [fixed(image.convert("RGB")) for image in batch["image"]]
    images = [fixed(image) for image in batch["image"]]
    return {"x": images, "y": batch["label"]}


def as_stored(batch):
    batch["image"] = [fixed(image) for image in batch["image"]]
    return batch


def drawn(batch):
    return {"x": [random(one.convert("RGB")) for one in batch["image"]], "y": batch["label"]}


def darker(batch):
    batch["image"] = [fixed(image.convert("RGB")) * 0.5 for image in batch["image"]]
    return batch


def with_closure(transform):
    def augment(examples):
        examples["image"] = [transform(one.convert("RGB")) for one in examples["image"]]
        return examples

    return augment


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return on_disk(tmp_path_factory.mktemp("hugging_face") / "set")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("image_folder")
    for number in range(COUNT):
        path = root / "photos" / "train" / f"c{number % 3}" / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(number))
    return root


def same_dicts(ours, theirs):
    for mine, torchs in zip(ours, theirs, strict=True):
        assert list(mine) == list(torchs)
        for name in mine:
            assert mine[name].dtype == torchs[name].dtype
            assert mine[name].shape == torchs[name].shape
            assert torch.allclose(mine[name], torchs[name], rtol=0, atol=1e-5), name
    return True


@pytest.mark.parametrize("form", [in_place, renamed, held, as_stored, with_closure(fixed), fixed])
def test_images_in_arrow_files_give_torchs_batches(saved, form):
    theirs = DataLoader(saved.with_transform(form), 4)
    ours = accelerated(theirs, prove_batches=2)
    assert same_dicts(ours, theirs)
    assert same_dicts(ours, theirs), "the second epoch"
    assert "equal values" in ours.report.proof
    assert f"{COUNT} images in Arrow files" in str(ours.report)


def test_the_format_torch_gives_levels(tmp_path):
    square = [encoded(10, "PNG") for _ in range(5)]
    for name, images in {
        "colors": square,
        "grays": [encoded(n % 1, "PNG", "L") for n in range(4)],
    }.items():
        theirs = DataLoader(on_disk(tmp_path / name, images).with_format("torch"), 2)
        assert same_dicts(accelerated(theirs), theirs)


def test_selected_shuffled_and_concatenated_rows_are_read(saved):
    whole = saved.with_transform(renamed)
    chosen = whole.select([21, 3, 3, 0, 12]).shuffle(seed=1)
    split = whole.train_test_split(0.4, seed=2)["test"]
    for dataset in (
        *(chosen, split, Subset(whole, [4, 20, 4])),
        *(ConcatDataset([split, chosen]), datasets.concatenate_datasets([whole, whole])),
    ):
        if isinstance(dataset, datasets.Dataset):
            dataset = dataset.with_transform(renamed)
        theirs = DataLoader(dataset, 3)
        assert same_dicts(accelerated(theirs), theirs)


def test_an_imagefolder_is_read_from_its_files(folder, tmp_path):
    loaded = datasets.load_dataset(
        "imagefolder", data_dir=folder / "photos", split="train", cache_dir=tmp_path / "cache"
    )
    theirs = DataLoader(loaded.with_transform(renamed), 4)
    ours = accelerated(theirs, pack=tmp_path / "train.tnd", prove_batches=3)
    assert f"{COUNT} files" in str(ours.report)
    assert same_dicts(ours, theirs)
    ours.close()


def test_a_random_transform_draws_for_each_image(saved):
    loader = accelerated(DataLoader(saved.with_transform(drawn), 8, shuffle=True), prove_batches=1)
    epochs = [sorted(n for batch in loader for n in batch["y"].tolist()) for _ in range(2)]
    assert epochs[0] == epochs[1] == sorted(n % 3 for n in range(COUNT))
    assert list(next(iter(loader))) == ["x", "y"]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_reader_of_timm_keeps_images_as_they_are_stored(saved):
    from timm.data.readers.reader_hfds import ReaderHfds

    reader = ReaderHfds.__new__(ReaderHfds)  # the constructor needs the network
    reader.dataset = saved.cast_column("image", datasets.Image(decode=False))
    reader.image_key, reader.label_key, reader.remap_class = "image", "label", False
    reader.additional_features = None
    theirs = DataLoader(timm.data.ImageDataset(".", reader=reader, transform=fixed), 4)
    for mine, torchs in zip(accelerated(theirs), theirs, strict=True):
        assert torch.allclose(mine[0], torchs[0], rtol=0, atol=1e-5)
        assert torch.equal(mine[1], torchs[1])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: one, "cannot collate PIL images"),
        (lambda one: one.with_transform(darker), "none of the known forms"),
        (lambda one: one.with_transform(held_and_changed), "none of the known forms"),
        (lambda one: one.with_transform(lambda batch: batch), "none of the known forms"),
        (lambda one: one.with_transform(random), "draws once for all images of a batch"),
        (lambda one: one.with_format("numpy"), "in the format numpy"),
        (lambda one: one.add_column("id", list(range(COUNT))).with_transform(in_place), "'id'"),
        (lambda one: one.cast_column("label", datasets.Value("string")).with_transform(in_place), "columns"),
        (lambda one: one.cast_column("image", datasets.Image(decode=False)).with_transform(renamed), "no decoded"),
    ],
)  # fmt: skip
def test_datasets_left_to_torch_have_a_reason(saved, change, reason):
    loader = tundish.accelerate(DataLoader(change(saved), 4))
    assert not loader.report.native
    assert reason in str(loader.report)


FLOATS = v2.ToDtype(torch.float32, scale=True)


@pytest.mark.parametrize(
    "steps",
    [[v2.PILToTensor(), FLOATS], [v2.ToImage(), v2.ToPureTensor(), FLOATS]],
)  # fmt: skip
def test_a_transform_that_changes_one_tensor_of_a_batch_stays_with_torch(tmp_path, steps):
    """v2 transforms the first plain tensor in a batch and leaves the other tensors unchanged."""
    same_size = on_disk(tmp_path / "set", [encoded(3) for _ in range(4)])
    theirs = DataLoader(same_size.with_transform(v2.Compose(steps)), 4)
    (batch,) = theirs
    assert not torch.equal(batch["image"][0], batch["image"][1]), "the images are equal"
    loader = tundish.accelerate(theirs)
    assert "the first plain tensor of a batch" in str(loader.report)
    assert same_dicts(loader, theirs)


def test_trailing_plain_tensors_change_nothing(saved):
    transform = v2.Compose([*FIXED, v2.ToPureTensor()])
    theirs = DataLoader(saved.with_transform(transform), 4)
    assert same_dicts(accelerated(theirs), theirs)


@pytest.mark.parametrize("transform", [fixed, random])
def test_grays_that_are_converted_to_colors_stay_with_torch(saved, transform):
    """Compares channels with each other, because the pixels of a random transform are unknown."""
    grays = saved.cast_column("image", datasets.Image(mode="L"))
    loader = tundish.accelerate(DataLoader(grays.with_transform(with_closure(transform)), 4))
    assert "gray images are converted to RGB" in str(loader.report)
    for batch in loader:
        normalized = batch["image"] * torch.tensor([0.2, 0.3, 0.4])[:, None, None]
        levels = normalized + torch.tensor([0.4, 0.5, 0.6])[:, None, None]
        assert torch.allclose(levels[:, 0], levels[:, 2], atol=1e-5)


def test_a_function_that_stays_is_named_with_its_line(saved):
    loader = tundish.accelerate(DataLoader(saved.with_transform(darker), 4))
    assert f"{__file__}:{darker.__code__.co_firstlineno}" in str(loader.report)


def test_modes_that_differ_and_data_in_memory_stay_with_torch(tmp_path):
    images = [encoded(1), encoded(2, "PNG", "L")]
    mixed = on_disk(tmp_path / "mixed", images)
    loader = tundish.accelerate(DataLoader(mixed.with_transform(as_stored), 1))
    assert "the modes RGB (sample 0), L (sample 1)" in str(loader.report)
    assert accelerated(DataLoader(mixed.with_transform(renamed), 1)).report.native
    memory = datasets.load_from_disk(tmp_path / "mixed", keep_in_memory=True)
    loader = tundish.accelerate(DataLoader(memory.with_transform(renamed), 1))
    assert "is in memory" in str(loader.report)


def test_a_file_that_the_engine_cannot_decode_stays_with_torch(tmp_path):
    tiff = on_disk(tmp_path / "set", [encoded(1), encoded(2, "TIFF")])
    loader = tundish.accelerate(DataLoader(tiff.with_transform(renamed), 1))
    assert "does not decode image 1" in str(loader.report)


def test_edited_source_text_is_not_trusted(tmp_path, saved):
    text = "def augment(batch):\n    batch['image'] = [fixed(i{}) for i in batch['image']]\n    return batch\n"
    path = tmp_path / "edited.py"
    names = {"fixed": fixed}
    exec(compile(text.format(".rotate(90)"), path, "exec"), names)
    path.write_text(text.format(".convert('RGB')"))
    loader = tundish.accelerate(DataLoader(saved.with_transform(names["augment"]), 4))
    assert "none of the known forms" in str(loader.report)


@pytest.mark.parametrize("change", ["edited", "removed"])
def test_a_script_may_be_changed_during_a_run(tmp_path, saved, change):
    text = "def augment(batch):\n    batch['image'] = [fixed(i) for i in batch['image']]\n    return batch\n"
    path = tmp_path / "train.py"
    path.write_text(text)
    names = {"fixed": fixed}
    exec(compile(text, path, "exec"), names)
    loader = accelerated(DataLoader(saved.with_transform(names["augment"]), 4))
    before = [batch["image"] for batch in loader]
    if change == "removed":
        path.unlink()
    else:
        path.write_text("\n# a new comment\n" + text.replace("fixed(i)", "fixed(i.rotate(90))"))
    assert all(map(torch.equal, before, [batch["image"] for batch in loader]))
    names["fixed"] = random
    with pytest.raises(RuntimeError, match="changed after"):
        iter(loader)


def test_another_transform_given_later_is_an_error(saved):
    dataset = saved.with_transform(in_place)
    loader = accelerated(DataLoader(dataset, 4))
    next(iter(loader))
    dataset.set_transform(renamed)
    with pytest.raises(RuntimeError, match="changed after"):
        next(iter(loader))
