"""Options that record additional steps: --timeline, --table, --memory-lines."""

from __future__ import annotations

from typing import Any

from .._c.errors import ArgumentError
from .probe.settings import Settings

TIMELINE_STEPS, FUNCTION_STEPS, MEMORY_STEPS = 5, 5, 4
TABLES = ("simple", "advanced")


def check_recordings(timeline: str, table: str, option: str = "--{} ") -> None:
    """Raises ArgumentError for invalid values. `option` is the format of option names in messages."""
    if timeline and not timeline.endswith((".json", ".json.gz")):
        name = option.format("timeline")
        raise ArgumentError(
            f"{name}{timeline}: the timeline is JSON\n  fix: end the name with .json or .json.gz"
        )
    if table and table not in TABLES:
        raise ArgumentError(f"{option.format('table')}{table}: not one of {', '.join(TABLES)}")


def recorded_phases(*, timeline: Any, table: str, memory: bool) -> list[str]:
    """Returns the names of the recording phases that these options turn on."""
    asked = {"timeline": timeline, "functions": table == "advanced", "memory": memory}
    return [name for name, wanted in asked.items() if wanted]


def set_recordings(settings: Settings, *, timeline: Any, table: str, memory: bool) -> None:
    settings.timeline = TIMELINE_STEPS if timeline else 0
    settings.functions = FUNCTION_STEPS if table == "advanced" else 0
    settings.memory = MEMORY_STEPS if memory else 0
