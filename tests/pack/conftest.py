import pytest

from tests.helpers.sources import NAMES, image, write_all


@pytest.fixture(scope="session")
def files():
    """Images by name; the names have spaces, quotes, line ends, and bytes that are not UTF-8."""
    return {name: image(number) for number, name in enumerate(NAMES)}


@pytest.fixture
def folder(tmp_path, files):
    write_all(tmp_path / "folder", files)
    return tmp_path / "folder"
