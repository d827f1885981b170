"""Options shared by several verbs."""

from __future__ import annotations

import os

from .._c.errors import ArgumentError
from .arguments import Arguments
from .option_values import name_list, percentage, whole_number

LARGEST_SEED = 2**63 - 1


def add_select_ignore(arguments: Arguments, noun: str, where: str = "") -> None:
    """Adds --select and --ignore. `noun` says what is selected, and `where` says where the names are listed."""
    more = f"; {where}" if where else ""
    arguments.option("--select", "A,B", f"only these {noun}s{more}", name_list(noun))
    arguments.option("--ignore", "A,B", f"all {noun}s except these", name_list(noun), [])


def add_force(arguments: Arguments) -> None:
    arguments.flag("-f,--force", "replace files that exist")


def check_replaceable(option: str, file: str, force: bool) -> None:
    """Raises ArgumentError if the file exists and --force is not given. Call it before the work starts."""
    if not force and os.path.isfile(file):  # pipes and devices may be written to
        fix = "use another name, or replace it: --force"
        raise ArgumentError(f"{option} {file}: exists already\n  fix: {fix}")


def add_slower_than(arguments: Arguments, limit: float) -> None:
    about = f"exit with 1 if slower by more than this ({limit:g})"
    arguments.option("--slower-than", "PERCENT", about, percentage(), limit)


def add_seed(arguments: Arguments, about: str) -> None:
    arguments.option("--seed", "N", f"{about} (0)", whole_number(0, LARGEST_SEED), 0)
