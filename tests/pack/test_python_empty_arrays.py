"""`tundish.pack(dataset)`: arrays without elements."""

import numpy as np
import pytest
import tundish

from tests.helpers.program import needs_program
from tests.helpers.python_sets import pixels

pytestmark = needs_program


@pytest.mark.parametrize("same_shape", [None, True, False])
def test_arrays_without_elements_are_restored_with_their_shape(tmp_path, same_shape):
    samples = [{"image": pixels(i), "boxes": np.zeros((0, 4), np.float32)} for i in range(3)]
    tundish.pack(samples, tmp_path / "a.tnd", same_shape=same_shape)
    (batch,) = tundish.Loader(tmp_path / "a.tnd", 3, as_dict=True)
    assert [boxes.shape for boxes in batch["boxes"]] == [(0, 4)] * 3
    assert {boxes.dtype for boxes in batch["boxes"]} == {np.dtype(np.float32)}
