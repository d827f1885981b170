"""Documents and examples use only names that tundish and its public modules list in `__all__`."""

import pytest

from tests.helpers.declared import PUBLIC_MODULES, undeclared
from tests.helpers.program import ROOT

DOCUMENTS = [
    ROOT / "README.md",
    *(page for page in sorted(ROOT.glob("docs/**/*.md")) if "internals" not in page.parts),
    *sorted(ROOT.glob("docs/*.py")),
    *sorted(ROOT.glob("examples/**/*.py")),
    *sorted(ROOT.glob("tests/examples/programs/*.py")),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_document_names_declared_parts_of_the_package_only(document):
    assert undeclared(document.read_text()) == []


def test_documents_use_every_public_module():
    """Guards the search: without matches, the test above would check nothing."""
    text = "\n".join(document.read_text() for document in DOCUMENTS)
    for module in PUBLIC_MODULES[2:]:
        assert f"from {module} import" in text or f"`{module}." in text
    assert "from tundish import transforms as T" in text


PLANTED = """
Call `tundish.tuning.memory.prediction.predict_memory(job)`, or `tundish.Loader.statistics()`.

```python
from tundish.tuning.step import Step
from tundish.tuning import (
    Bf16,
    signature as same,
)
    from tundish.data import order
import tundish.report.chart as chart
from tundish import transforms as T, not_there

T.Resize(9), T.Rezise(9), tundish.Job, tundish.optim.SDG
```
"""
FOUND = [
    "tundish.tuning.step.Step",
    "tundish.tuning.signature",
    "tundish.data.order",
    "tundish.not_there",
    "tundish.tuning.memory.prediction.predict_memory",
    "tundish.Loader.statistics",
    "tundish.tuning.step",
    "tundish.data",
    "tundish.report.chart",
    "tundish.Job",
    "tundish.optim.SDG",
    "tundish.transforms.Rezise",
]


def test_planted_undeclared_names_are_found():
    assert undeclared(PLANTED) == FOUND


def test_declared_names_are_not_found():
    text = """
    from tundish.tuning import Bf16, Step
    from tundish.diagnosis import DoctorCallback
    tundish.Loader.stats, tundish.__version__, tundish.tuning.Step.reset, build/tundish.css
    from tundish import transforms as T  # T.Resize
    """
    assert undeclared(text) == []
