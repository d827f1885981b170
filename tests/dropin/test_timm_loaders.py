"""timm's loaders under tundish.accelerate: the batches of timm's own code, or a reason why it is kept."""

import functools
import pickle
from pathlib import Path

import pytest
import timm
import torch
import tundish
from timm.data import create_transform
from timm.data import loader as timm_loader
from timm.data.distributed_sampler import OrderedDistributedSampler, RepeatAugSampler
from timm.data.loader import MultiEpochsDataLoader, PrefetchLoader, fast_collate
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import v2
from tundish.dropin.timm_loaders import plain_loader

from tests.helpers import torch_sets
from tests.helpers.timm_loaders import CPU, SIZE, kept, made, same
from tests.helpers.torch_sets import FIXED, accelerated

pytestmark = [  # timm relies on Python's collector to close files
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
HERE = Path(__file__)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return torch_sets.write_folder(tmp_path_factory.mktemp("timm") / "photos", 14)


# --- create_loader without the prefetcher --------------------------------------------------------

EVAL = [{}, {"crop_mode": "squash"}, {"crop_mode": "border"}, {"crop_pct": 1.0}]
EVAL += [{"interpolation": "bicubic", "mean": (0.5,) * 3, "std": (0.5,) * 3}]
EVAL += [{"num_workers": 1, "worker_seeding": "part"}, {"num_workers": 1, "persistent_workers": 0}]


@pytest.mark.parametrize("options", EVAL, ids=str)
@pytest.mark.parametrize("prefetcher", [False, True])
def test_evaluation_gives_timms_batches(folder, options, prefetcher):
    theirs = made(folder, use_prefetcher=prefetcher, **options)
    ours = accelerated(theirs, prove_batches=2)
    assert same(ours, theirs)
    assert same(ours, theirs), "the second epoch"
    assert "equal values" in ours.report.proof


TRAIN = [{}, {"auto_augment": "rand-m9-mstd0.5-inc1", "re_prob": 0.3, "re_mode": "pixel"}]
TRAIN += [{"train_crop_mode": "rkrc", "color_jitter": None, "vflip": 0.5, "grayscale_prob": 0.1}]


@pytest.mark.parametrize("options", TRAIN, ids=str)
@pytest.mark.parametrize("multiple", [False, True])
@pytest.mark.parametrize("prefetcher", [False, True])
def test_training_has_the_same_transforms_as_the_list_of_timm(
    folder, options, multiple, prefetcher
):
    options = {"is_training": True, **options}
    loader = made(folder, use_prefetcher=prefetcher, use_multi_epochs_loader=multiple, **options)
    ours = accelerated(loader, seed=3, prove_batches=1)
    dataset = timm.data.create_dataset("", folder)
    dataset.transform = create_transform(SIZE, **options)
    plain = DataLoader(dataset, 4, shuffle=True, drop_last=True)
    expected = accelerated(plain, seed=3)
    for _ in range(2):
        assert same([list(batch) for batch in ours], expected), "the same random numbers"
    assert [type(batch) for batch in ours] == [tuple if prefetcher else list] * 3
    assert len(ours) == len(loader) == 3


def test_without_augmentation_training_gives_timms_batches(folder):
    options = {"is_training": True, "no_aug": True, "use_prefetcher": True}
    theirs = made(folder, re_prob=0.5, **options)
    plain = accelerated(theirs)
    torch.manual_seed(4)
    expected = list(theirs)
    torch.manual_seed(4)
    assert same(accelerated(theirs, order_from="sampler"), expected)
    assert "RandomErasing" not in str(plain.report)


def test_the_transform_of_timm_may_be_in_a_dataset_of_torchvision(folder):
    theirs = DataLoader(datasets.ImageFolder(folder, create_transform(SIZE)), 4)
    assert same(accelerated(theirs, prove_batches=2), theirs)


def test_the_collate_function_of_timm_gives_its_batches(folder):
    levels = create_transform(SIZE, normalize=False)
    theirs = DataLoader(datasets.ImageFolder(folder, levels), 4, collate_fn=fast_collate)
    assert next(iter(theirs))[0].dtype is torch.uint8
    ours = accelerated(theirs, prove_batches=2)
    assert same(ours, theirs)
    floats = DataLoader(datasets.ImageFolder(folder, create_transform(SIZE)), 4)
    floats.collate_fn = fast_collate
    assert same(kept(floats, "fast_collate converts images from float to uint8"), floats)


def test_samplers_of_timm_give_their_indices(folder):
    dataset = made(folder).dataset
    for sampler in (
        OrderedDistributedSampler(dataset, 3, 1),
        RepeatAugSampler(dataset, 2, 1, selected_round=0),
        RepeatAugSampler(dataset, 2, 0, num_repeats=1.5, selected_round=4),
    ):
        theirs = DataLoader(dataset, 4, sampler=sampler)
        ours = accelerated(theirs)
        for epoch in range(2):
            if hasattr(sampler, "set_epoch"):
                ours.sampler.set_epoch(epoch)
            assert same(ours, theirs)


# --- what is kept --------------------------------------------------------------------------------


def test_collate_functions_that_mix_are_refused_with_a_remedy(folder):
    mix = timm.data.FastCollateMixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=3)
    for prefetcher in (False, True):
        loader = made(folder, is_training=True, use_prefetcher=prefetcher, collate_fn=mix)
        report = kept(loader, "timm's FastCollateMixup mixes the images of a batch").report
        assert "call timm.data.Mixup on the batch in the loop" in report.reasons[0].instead


def own_seed(info):
    info.dataset.transform = None
    return 1


def test_a_function_that_seeds_workers_is_refused(folder):
    what = "worker_init_fn may change the dataset"
    kept(made(folder, num_workers=1, worker_seeding=own_seed), what)


def test_a_function_that_looks_like_timms_is_refused(folder, monkeypatch):
    @functools.wraps(timm_loader._worker_init)
    def init(worker):
        torch.utils.data.get_worker_info().dataset.transform = None

    loader = made(folder, num_workers=1)
    loader.worker_init_fn = init
    kept(loader, "worker_init_fn may change the dataset")
    monkeypatch.setattr(timm_loader, "_worker_init", init)
    kept(made(folder, num_workers=1), "worker_init_fn may change the dataset")


def of_prefetcher(**options):
    return lambda folder: made(folder, use_prefetcher=True, **options)


def floats_in_prefetcher(folder):
    dataset = datasets.ImageFolder(folder, v2.Compose(FIXED))
    return PrefetchLoader(DataLoader(dataset, 4), device=CPU)


def own_dataset(folder):
    samples = [(torch.full((3, 4, 4), n, dtype=torch.uint8), n) for n in range(6)]
    return PrefetchLoader(DataLoader(samples, 4, collate_fn=fast_collate), device=CPU)


PREFETCHERS = {
    "half": (of_prefetcher(img_dtype=torch.float16), "rounds to torch.float16 before it normal"),
    "split": (
        of_prefetcher(is_training=True, re_prob=0.2, re_split=True),
        "erases only a part of a batch",
    ),
    "floats": (floats_in_prefetcher, "normalizes images that are floats already"),
    "own dataset": (own_dataset, "list is a custom dataset"),
}


@pytest.mark.parametrize("name", PREFETCHERS)
def test_a_prefetch_loader_that_is_kept_gives_its_own_batches(folder, name):
    make, what = PREFETCHERS[name]
    loader = make(folder)
    ours = kept(loader, what)
    if name != "split":  # which is random
        assert same(ours, make(folder))
        assert ours.stats()["data/batches"] > 0
    assert ours.mixup_enabled is False
    assert ours.sampler is loader.sampler


class Counted:
    """A device that counts the batches sent to it."""

    def __init__(self, _):
        self.sent = 0

    def send(self, batch):
        self.sent += 1
        return batch

    def receive(self, batch):
        return batch


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_a_kept_prefetch_loader_stays_in_the_thread_of_the_loop(folder, monkeypatch, where):
    monkeypatch.setattr("tundish.dropin.torch_loader.GpuCopier", Counted)
    monkeypatch.setattr("tundish.dropin.accelerate.device_of", lambda device, _: device)
    loader = made(folder, use_prefetcher=True, img_dtype=torch.float16, num_workers=1)
    loader.device = torch.device(where)
    ours = tundish.accelerate(loader, device="cuda")
    if where == "cuda":
        assert "PrefetchLoader copies the batches to cuda" in str(ours.report)
        assert ours._copies is None
    else:
        assert "PrefetchLoader runs in the thread of the loop" in str(ours.report)
        assert same(ours, loader)
        assert ours._copies.sent == 4


def test_batches_go_to_the_device_of_the_prefetch_loader(folder, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "tundish.dropin.accelerate.device_of", lambda device, _: asked.append(device)
    )
    accelerated(made(folder, use_prefetcher=True))
    assert asked == [None, CPU]
    accelerated(made(folder))
    assert asked[2:] == [None, None]


def test_a_prefetch_loader_without_a_data_loader_is_refused():
    with pytest.raises(TypeError, match="takes a torch DataLoader, not list"):
        tundish.accelerate(PrefetchLoader([1], device=CPU))


class OwnLoader(DataLoader):
    def __iter__(self):
        return (batch for batch in reversed(list(super().__iter__())))


def test_a_prefetch_loader_around_a_class_of_the_user_is_kept(folder):
    dataset = made(folder, use_prefetcher=True).dataset
    loader = PrefetchLoader(OwnLoader(dataset, 4, collate_fn=fast_collate), device=CPU)
    assert same(kept(loader, "no DataLoader inside, but OwnLoader"), loader)


def test_replaced_methods_of_timms_loaders_are_noticed(folder, monkeypatch):
    loader, later = made(folder, use_prefetcher=True), made(folder, use_prefetcher=True)
    several = made(folder, use_multi_epochs_loader=True)
    ours = accelerated(later)
    monkeypatch.setattr(PrefetchLoader, "__iter__", lambda self: iter(self.loader))
    assert same(kept(loader, "PrefetchLoader.__iter__ was replaced"), loader)
    with pytest.raises(RuntimeError, match=r"PrefetchLoader\.__iter__ was replaced"):
        iter(ours)
    monkeypatch.setattr(timm_loader._RepeatSampler, "__iter__", lambda self: iter([[1]] * 99))
    kept(several, "_RepeatSampler.__iter__ was replaced")


# --- PrefetchLoader and MultiEpochsDataLoader ----------------------------------------------------


def test_a_prefetch_loader_keeps_its_interface(folder):
    loader = made(folder, use_prefetcher=True)
    ours = accelerated(loader)
    assert ours.dataset is loader.dataset
    assert ours.sampler is loader.sampler
    assert ours.batch_sampler is loader.batch_sampler
    assert ours.mixup_enabled is False
    ours.mixup_enabled = False
    assert len(ours) == len(loader) == 4
    again = pickle.loads(pickle.dumps(ours))
    assert again.report.native
    assert same(again, loader)


def test_several_epochs_of_a_multi_epochs_loader_have_every_sample(folder):
    options = {"is_training": False, "use_multi_epochs_loader": True, "num_workers": 1}
    for prefetcher in (False, True):
        theirs = made(folder, use_prefetcher=prefetcher, **options)
        ours = accelerated(theirs, prove_batches=1)
        for _ in range(3):
            assert same(ours, theirs)
        next(iter(ours))
        assert same(ours, theirs), "after an epoch that ended early"
        assert "continues after a loop that ended early" in str(ours.report)
        assert (ours.batch_size, ours.num_workers) == (4, 1)
        assert same(pickle.loads(pickle.dumps(ours)), theirs)


def test_a_multi_epochs_loader_is_not_kept_alive(folder):
    import gc
    import weakref

    theirs = made(folder, use_multi_epochs_loader=True, num_workers=1)
    gone = weakref.ref(theirs)
    ours = accelerated(theirs)
    expected = list(made(folder))
    del theirs
    gc.collect()
    assert gone() is None, "its worker processes would wait for ever"
    assert same(ours, expected)


def test_a_subclass_of_the_multi_epochs_loader_is_kept(folder):
    class Own(MultiEpochsDataLoader):
        pass

    loader = Own(made(folder).dataset, 4)
    assert same(kept(loader, "Own overrides __iter__"), made(folder))


def test_any_other_loader_is_its_own_plain_loader(folder):
    loader = made(folder)
    assert plain_loader(loader) is loader
