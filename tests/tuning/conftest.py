import pytest

from tests.helpers.warm_python import use_warm_trials


@pytest.fixture
def warm_trials(monkeypatch):
    """Makes trials forks of a process with torch imported, which saves seconds of CPU time."""
    use_warm_trials(monkeypatch)
