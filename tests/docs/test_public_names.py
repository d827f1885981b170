"""The public API: declared names exist, are documented, and are imported only when used."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys

import pytest
import tundish
from tundish._lazy import lazy_names

from tests.helpers.declared import PUBLIC_MODULES
from tests.helpers.program import ROOT

REFERENCE = (ROOT / "docs" / "reference.md").read_text()
LAZY_PACKAGES = [tundish, tundish.tuning, tundish.diagnosis]
NAMES = [
    (module, name) for module in PUBLIC_MODULES for name in importlib.import_module(module).__all__
]


def section_of(module):
    """Returns the section of the reference that describes the names of a module."""
    own = REFERENCE.split(f"\n## {module}\n")
    return own[1].split("\n## ")[0] if len(own) > 1 else REFERENCE


def is_described(module, name):
    text = section_of(module)
    title = "Transforms" if name == "transforms" else name
    heading = re.search(rf"^##+ (T\.|tundish\.)?{title}$", text, re.MULTILINE)
    return bool(heading) or f"\n| `{name}(" in text  # listed in the table of tricks


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_declared_name_can_be_imported_and_has_a_docstring(module, name):
    member = getattr(importlib.import_module(module), name)
    text = member.__doc__ or ""
    assert text.strip()
    assert not text.startswith(f"{name}(")  # the docstring that @dataclass generates by default


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_declared_name_is_in_the_reference(module, name):
    assert is_described(module, name)


def test_a_name_that_the_reference_lacks_would_be_found():
    assert is_described("tundish.tuning", "Bf16")
    assert not is_described("tundish.tuning", "Bf17")
    assert not is_described("tundish.tuning", "Loader")  # described as a name of tundish


def test_every_declared_module_says_in_its_docstring_what_it_has():
    for module in PUBLIC_MODULES:
        assert importlib.import_module(module).__doc__.count("\n") > 3
    for name in set(tundish.__all__) - {"Order"}:  # Order is the base class of the orders
        assert re.search(rf"\b{name}\b", tundish.__doc__), name


# --- lazy imports ---------------------------------------------------------------------------------


def imports_for_types(package):
    """Returns {name: module} for the imports below TYPE_CHECKING in the package's source."""
    tree = ast.parse(inspect.getsource(package))
    block = next(
        node for node in tree.body if isinstance(node, ast.If) and node.test.id == "TYPE_CHECKING"
    )
    return {name.name: f".{node.module or ''}" for node in block.body for name in node.names}


@pytest.mark.parametrize("package", LAZY_PACKAGES, ids=lambda package: package.__name__)
def test_lazy_imports_match_the_imports_for_type_checkers(package):
    seen = imports_for_types(package)
    subpackages = {name for name, module in seen.items() if module == "."}
    assert {n: m for n, m in seen.items() if n not in subpackages} == package._MODULES
    assert seen.keys() <= set(package.__all__)
    for name in subpackages:
        assert getattr(package, name).__name__ == f"{package.__name__}.{name}"


@pytest.mark.parametrize("package", LAZY_PACKAGES, ids=lambda package: package.__name__)
def test_no_submodule_hides_a_declared_name(package):
    """Importing `tuning/tune.py` sets `tundish.tuning.tune`, even if the name had another value."""
    submodules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert not submodules & package._MODULES.keys()


@pytest.mark.parametrize("package", LAZY_PACKAGES, ids=lambda package: package.__name__)
def test_dir_lists_every_declared_name(package):
    assert set(package.__all__) <= set(dir(package))


def test_a_name_that_no_package_has_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'tundish\.tuning' has no attribute 'Bf17'"):
        tundish.tuning.Bf17  # noqa: B018
    with pytest.raises(AttributeError, match="from tundish import transforms as T"):
        tundish.Resize  # noqa: B018


def test_a_lazy_name_is_looked_up_once():
    get, _ = lazy_names("tundish.tuning", {"scale_learning_rate": ".learning_rate"})
    vars(tundish.tuning).pop("scale_learning_rate", None)
    assert get("scale_learning_rate") is vars(tundish.tuning)["scale_learning_rate"]


def run(code):
    line = [sys.executable, "-c", code]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=True).stdout


def test_importing_the_public_modules_does_not_import_torch():
    code = "import sys, tundish.tuning, tundish.diagnosis, tundish.transforms; print(*sys.modules)"
    loaded = run(code).split()
    assert "tundish.tuning" in loaded
    assert not {"torch", "lightning", "pytorch_lightning", "tundish.tuning.step"} & set(loaded)


def test_importing_tundish_does_not_import_optional_modules():
    loaded = run("import sys, tundish; print(*sys.modules)").split()
    assert "tundish._c.library" in loaded
    lazy = {"tundish.data.loader", "tundish.transforms", "tundish.packing", "tundish.converting"}
    assert not lazy & set(loaded)


def test_help_works_without_torch_and_omits_torch_names():
    code = """
import sys
sys.modules.update(dict.fromkeys(["torch", "lightning", "pytorch_lightning"]))  # not installed
import pydoc, tundish
for module in (tundish, tundish.tuning, tundish.diagnosis):
    print(pydoc.plain(pydoc.render_doc(module)))
    print(sorted(set(module.__all__) - set(dir(module))))
"""
    text = run(code)
    assert "Tundish makes PyTorch training faster and shows what slows it down." in text
    assert "class Loader" in text
    assert "'Bf16'" in text
