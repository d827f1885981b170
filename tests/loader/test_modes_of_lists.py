"""images_as="list" in single-channel modes."""

import numpy as np
import tundish
from PIL import Image
from tundish import transforms as T


def test_gray_images_of_different_sizes_come_as_a_list(tmp_path):
    rng = np.random.default_rng(1)
    pictures = [rng.integers(0, 256, (9 + n, 14 - n, 3), dtype=np.uint8) for n in range(4)]
    (tmp_path / "a").mkdir()
    for number, picture in enumerate(pictures):
        Image.fromarray(picture).save(tmp_path / "a" / f"{number}.png")
    for memory_format in ("channels_last", "contiguous"):
        loader = tundish.Loader(
            tmp_path, 4, mode="L", images_as="list", memory_format=memory_format, backend="numpy"
        )
        images, _ = next(iter(loader))
        for image, picture in zip(images, pictures, strict=True):
            gray = np.asarray(Image.fromarray(picture).convert("L"))
            assert image.shape == (1, *gray.shape)
            assert np.array_equal(image[0], gray)


def test_padded_gray_images_keep_their_sizes(tmp_path):
    (tmp_path / "a").mkdir()
    Image.new("RGB", (7, 5), (9, 9, 9)).save(tmp_path / "a" / "1.png")
    loader = tundish.Loader(
        tmp_path,
        1,
        mode="L",
        transforms=[T.RandomHorizontalFlip()],
        pad_to=8,
        return_sizes=True,
        backend="numpy",
    )
    images, _, sizes = next(iter(loader))
    assert images.shape == (1, 1, 8, 8)
    assert sizes.tolist() == [[5, 7]]
    assert images.sum() == 9 * 35
