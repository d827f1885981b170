"""Options of the doctor that record steps of their own: --timeline, --table, --memory."""

from __future__ import annotations

import argparse
from typing import Any

from ..._c.errors import ArgumentError
from ..watch.settings import Settings

TIMELINE_STEPS, FUNCTION_STEPS, MEMORY_STEPS = 5, 5, 4
TABLES = ("simple", "advanced")


def add_extra_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeline", metavar="FILE", default="")
    parser.add_argument("--table", metavar="KIND", default="")
    parser.add_argument("--memory", action="store_true")


def check_extras(timeline: str, table: str, option: str = "--{} ") -> None:
    """ArgumentError says what is wrong. `option`: how an argument is written."""
    if timeline and not timeline.endswith((".json", ".json.gz")):
        raise ArgumentError(
            f"{option.format('timeline')}{timeline}: the timeline is JSON\n  fix: .json or .json.gz at the end"
        )
    if table and table not in TABLES:
        raise ArgumentError(f"{option.format('table')}{table}: it is one of {', '.join(TABLES)}")


def asked_phases(*, timeline: Any, table: str, memory: bool) -> list[str]:
    """The phases that record it."""
    asked = {"timeline": timeline, "functions": table == "advanced", "memory": memory}
    return [name for name, wanted in asked.items() if wanted]


def set_extras(settings: Settings, *, timeline: Any, table: str, memory: bool) -> None:
    settings.timeline = TIMELINE_STEPS if timeline else 0
    settings.functions = FUNCTION_STEPS if table == "advanced" else 0
    settings.memory = MEMORY_STEPS if memory else 0
