import pytest

from tests.helpers.warm_python import use_warm_trials


@pytest.fixture
def warm_trials(monkeypatch):
    """The processes of trials are forks of one that has torch imported; an import takes seconds of CPU time."""
    use_warm_trials(monkeypatch)
