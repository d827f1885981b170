"""Generates docs/reference.md: .venv/bin/python tools/make_reference.py > docs/reference.md

reference_modules.py writes the sections on tundish.optim, tundish.tuning and tundish.diagnosis.
reference_text.py formats Markdown. sources() is the only function that accesses the package, so that
only this function changes if a module moves. tests/docs/test_reference.py compares the page with the
output of this tool.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import make_pictures
import reference_modules
from reference_text import documentation, methods, shown, signature, table
from wrapped import wrapped_page

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / ".venv" / "bin" / "tundish"  # some commands need the Python beside it

VERBS = (
    "doctor",
    "doctor compare",
    "check",
    "env",
    "top",
    "boost",
    "tune",
    "tune remeasure",
    "tune batch-size",
    "run",
    "pack",
    "convert",
    "unpack",
    "info",
    "verify",
    "view",
    "split",
    "merge",
    "diff",
    "bench",
    "bench load",
    "demo",
    "explain",
)
ORDERS = ("Subset", "Weighted", "Balanced", "Mixture", "Repeated", "Order")
ERRORS = ("Error", "SampleError", "ArgumentError", "MissingError")

HEAD = """# Reference

Every public class, argument, statistic and command. This page is made from the code by `tools/make_reference.py`; the other
pages of `docs/` show how to use it, task by task.

- [Loader](#loader): [arguments](#arguments), [methods](#methods), [statistics](#statistics)
- [accelerate](#accelerate)
- [Dataset](#dataset), [DataSource](#datasource)
- [Orders](#orders)
- [Transforms](#transforms), and [functions](#functions-of-transforms) on lists of transforms
- [boost](#boost)
- [Tuning](#tuning)
- [Launching](#launching)
- [Checking](#checking)
- [Diagnosing](#diagnosing)
- The modules [tundish.optim](#tundishoptim), [tundish.tuning](#tundishtuning), [tundish.diagnosis](#tundishdiagnosis)
- [Errors](#errors)
- [The program tundish](#the-program-tundish)
"""


def sources() -> dict[str, Any]:
    """Returns everything that the page needs from the package."""
    import tundish
    from tundish import transforms
    from tundish._c.library import lib
    from tundish.data.settings.loader_options import LoaderOptions

    return {
        "package": tundish,
        "transforms": transforms,
        "options": LoaderOptions,
        "reference": json.loads(lib.tundish_reference()),
    }


# --- the parts ------------------------------------------------------------------------------------


def loader_arguments(found: dict[str, Any]) -> str:
    rows = [("`path`", "", "a pack (`.tnd`, `.tnds`) or any data that [trains without a pack](sources.md#what-src-can-be); or a list of several with the same classes")]  # fmt: skip
    rows += [
        (f"`{one.name}`", f"`{shown(one.default)}`", one.metadata["about"])
        for one in fields(found["options"])
    ]
    head = ("argument", "default", "meaning")
    return f"## Loader\n\n`tundish.Loader(path, batch_size=1, ...)`\n\n### Arguments\n\n{table(head, rows)}\n"


def statistics(found: dict[str, Any]) -> str:
    rows = [
        (f"`data/{one['name']}`", one["about"]) for one in found["reference"]["stats"]["fields"]
    ]
    more = (
        "`data/gpu_wait_s`, `data/gpu_wait_share` and `data/gpu_decoded` are 0 without `device=`. "
        "`data/batch_transform_s` has the seconds that `batch_transform=` took, on the host."
    )
    page = "[loader-performance.md](loader-performance.md#statistics) shows how to read them."
    return f"### Statistics\n\n`loader.stats()`. {page}\n\n{table(('key', 'meaning'), rows)}\n\n{more}\n"


def classes(owner: Any, names: tuple[str, ...], title: str) -> str:
    parts = [f"## {title}\n"]
    for name in names:
        one = getattr(owner, name)
        line = f"tundish.{signature(name, one)}" if title == "Orders" else f"tundish.{name}"
        parts.append(f"### {name}\n\n`{line}`\n\n{documentation(one)}\n")
    return "\n".join(parts)


def transform(one: dict[str, Any], owner: Any) -> str:
    given = {field.name: field for field in fields(getattr(owner, one["name"]))}
    rows = []
    for field in one["fields"]:
        default = given[field["name"]].default
        text = "required" if default is MISSING else f"`{shown(default)}`"
        rows.append((f"`{field['name']}`", text, field["wanted"], field["about"]))
    if "antialias" in given:
        rows.append(("`antialias`", "`True`", "true", "every resize is antialiased"))
    line = signature(f"T.{one['name']}", getattr(owner, one["name"]))
    head = ("argument", "default", "allowed", "meaning")
    parts = [f"### {one['name']}", f"`{line}`", one["about"]]
    if rows:
        parts.append(table(head, rows))
    if one["name"] not in make_pictures.WITHOUT_PICTURE:
        shown_as = make_pictures.example(one["name"])
        parts.append(f"![{one['name']}](pictures/{one['name']}.jpg)\n\n`{shown_as}`")
    return "\n\n".join(parts) + "\n"


def functions(owner: Any) -> str:
    """Returns the section on the public functions of tundish.transforms."""
    parts = []
    for name in owner.__all__:
        member = getattr(owner, name)
        if inspect.isfunction(member):
            line = signature(f"T.{name}", member)
            parts.append(f"#### T.{name}\n\n`{line}`\n\n{documentation(member)}\n")
    return "### Functions of transforms\n\n" + "\n".join(parts)


def transforms(found: dict[str, Any]) -> str:
    about = (
        "`from tundish import transforms as T`. Names, arguments and defaults are torchvision v2's. A picture shows the original, then "
        "the images of a loader with `seed=0` in epochs 0, 1 and 2; only one image if all three are the same."
    )
    all_of_them = [transform(one, found["transforms"]) for one in found["reference"]["transforms"]]
    owner = found["transforms"]
    line = signature("T.Schedule", owner.Schedule)
    schedule = f"### Schedule\n\n`{line}`\n\n{documentation(owner.Schedule)}\n"
    base = f"### Transform\n\n`T.Transform`\n\n{documentation(owner.Transform)}\n"
    parts = [f"## Transforms\n\n{about}\n", *all_of_them, schedule, base, functions(owner)]
    parts.append(plan_operations())
    return "\n".join(parts)


def accelerate(package: Any) -> str:
    """Returns the section on tundish.accelerate. docs/migrate-from-dataloader.md shows its use."""
    function = package.accelerate
    line = signature("tundish.accelerate", function)
    about = "[migrate-from-dataloader.md](migrate-from-dataloader.md#change-one-line) shows how to use it."
    return f"## accelerate\n\n{about}\n\n`{line}`\n\n{documentation(function)}\n"


def tuning(package: Any) -> str:
    """Returns the section on tundish.tune and plans. docs/tune.md shows their use."""
    parts = [
        "## Tuning\n\n[tune.md](tune.md) and [resume.md](resume.md#seed-everything) show how to use it.\n"
    ]
    for name in ("tune", "load_plan", "seed_everything"):
        function = getattr(package, name)
        line = signature(f"tundish.{name}", function)
        parts.append(f"### {name}\n\n`{line}`\n\n{documentation(function)}\n")
    parts.append(f"### Plan\n\n{documentation(package.Plan)}\n\n{methods(package.Plan)}")
    return "\n".join(parts)


def boosting(package: Any) -> str:
    """Returns the section on tundish.boost. docs/boost.md shows its use."""
    line = signature("tundish.boost", package.boost)
    about = "[boost.md](boost.md) shows how to use it, and `tundish boost`."
    return f"## boost\n\n{about}\n\n`{line}`\n\n{documentation(package.boost)}\n"


def launching(package: Any) -> str:
    """Returns the section on starting one process per GPU. docs/launch.md shows its use."""
    function = package.replace_data_parallel
    line = signature("tundish.replace_data_parallel", function)
    about = "[launch.md](launch.md) shows how to use it, and `tundish run`."
    name = function.__name__
    return f"## Launching\n\n{about}\n\n### {name}\n\n`{line}`\n\n{documentation(function)}\n"


def checking(package: Any) -> str:
    """Returns the section on tundish.check. docs/check.md shows its use."""
    line = signature("tundish.check", package.check)
    about = "[check.md](check.md) shows how to use it, and `tundish check`."
    return f"## Checking\n\n{about}\n\n### check\n\n`{line}`\n\n{documentation(package.check)}\n"


def diagnosing(package: Any) -> str:
    """Returns the section on tundish.doctor. docs/doctor.md shows its use."""
    line = signature("tundish.doctor", package.doctor)
    about = "[doctor.md](doctor.md) shows how to use it, and `tundish doctor`."
    text = (
        f"## Diagnosing\n\n{about}\n\n### doctor\n\n`{line}`\n\n{documentation(package.doctor)}\n"
    )
    line = signature("tundish.layers", package.layers)
    about = "[doctor.md](doctor.md#which-layers-take-the-time) explains the table."
    return f"{text}\n### layers\n\n`{line}`\n\n{documentation(package.layers)}\n\n{about}\n"


def plan_operations() -> str:
    """Returns the comment on each operation in the C++ header, by the name that plans use."""
    header = (ROOT / "src/augment/pixels/pixel_step.h").read_text()
    listed = re.search(r"enum class PixelOp[^{]*\{(.*?)\n\};", header, re.S)
    named = re.search(r"words\(PixelOp\) \{\s*return \{(.*?)\};", header, re.S)
    assert listed
    assert named
    meanings: list[str] = []
    for line in listed[1].strip().splitlines():
        code, _, comment = line.partition("//")
        if code.strip():
            meanings.append("")
        meanings[-1] = f"{meanings[-1]} {comment.strip()}".strip()
    words = re.findall(r'"([^"]+)"', named[1])
    assert len(words) == len(meanings)
    rows = [(f"`{word}`", meaning or "none") for word, meaning in zip(words, meanings)]
    about = "A step of a [plan](resume.md#what-a-plan-holds) that changes pixels has one of these as `op`."
    return f"### Operations of a plan\n\n{about}\n\n{table(('op', 'its numbers'), rows)}\n"


def help_of(*words: str) -> str:
    line = [PROGRAM, *words, "--help"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def program() -> str:
    parts = [f"## The program tundish\n\n```text\n{help_of()}\n```\n"]
    parts += [f"### tundish {verb}\n\n```text\n{help_of(*verb.split())}\n```\n" for verb in VERBS]
    return "\n".join(parts)


def page() -> str:
    found = sources()
    package = found["package"]
    pack = getattr(package, "pack", None)
    parts = [
        HEAD,
        loader_arguments(found),
        f"### Methods\n\n{methods(package.Loader)}",
        f"### Replayed\n\nWhat `loader.replay(state)` gives.\n\n{documentation(package.Replayed)}",
        statistics(found),
        accelerate(package),
        f"## Dataset\n\n`tundish.{signature('Dataset', package.Dataset)}`\n\n"
        f"{documentation(package.Dataset)}\n\n{methods(package.Dataset)}",
        f"## DataSource\n\n`tundish.{signature('DataSource', package.DataSource)}`\n\n"
        f"{documentation(package.DataSource)}",
        classes(package, ORDERS, "Orders"),
        transforms(found),
        boosting(package),
        tuning(package),
        launching(package),
        checking(package),
        diagnosing(package),
        *reference_modules.sections(),
        classes(package, ERRORS, "Errors"),
        program(),
    ]
    if callable(pack):
        text = f"## pack\n\n`tundish.{signature('pack', pack)}`\n\n{documentation(pack)}\n\n"
        write = package.write_manifest
        text += f"## write_manifest\n\n`tundish.{signature('write_manifest', write)}`\n\n"
        text += f"{documentation(write)}\n\n"
        convert = package.convert
        text += (
            f"## convert\n\n`tundish.{signature('convert', convert)}`\n\n{documentation(convert)}\n"
        )
        parts.insert(-1, text)
    return wrapped_page("\n".join(part.rstrip("\n") + "\n" for part in parts))


if __name__ == "__main__":
    print(page(), end="")
